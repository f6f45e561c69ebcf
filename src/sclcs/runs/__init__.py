"""Runs: from a cohort to the best operators and a report, in stages that are done once.

The room is called ``runs``, not ``run``: ``sclcs.run`` is the function that users call, and a
package of that name would take its place as soon as anything inside it is imported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
