from .compiling import Array, fused_kernel, kernel, raising_kernel, reducing_kernel

__all__ = ["Array", "fused_kernel", "kernel", "raising_kernel", "reducing_kernel"]
