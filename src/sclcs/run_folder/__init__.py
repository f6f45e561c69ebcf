"""What a run leaves on disk: its folder, its configuration, the records of its stages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
