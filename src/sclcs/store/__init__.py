"""The FC store: matrices of operators on the samples of a cohort, and the filling of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
