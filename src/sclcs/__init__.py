"""Choose the right functional-connectivity operator for an fMRI cohort.

The names below are loaded when they are first used, so that ``import sclcs`` is quick.
"""

import lazy_loader

__version__ = "0.1.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
