"""The decision: is there an effect, what to use, and what that is worth on new people.

The scores of operators that were not computed on the full cohort are estimated here as well.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
