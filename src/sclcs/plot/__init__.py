"""Single pictures for notebooks and papers; every function draws into matplotlib axes.

Give ``ax=`` to draw into axes of your own; without it a new figure is made, which a notebook shows.
"""

from sclcs.plot.brain_plot import glass_brain
from sclcs.plot.chord_plot import chord
from sclcs.plot.geometry_plot import geometry
from sclcs.plot.matrix_plot import matrix
from sclcs.plot.ranking_plot import ranking

__all__ = ["chord", "geometry", "glass_brain", "matrix", "ranking"]
