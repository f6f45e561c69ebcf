"""Cohorts: from files to signals with one row of metadata per sample.

The names below are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
