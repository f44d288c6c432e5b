_fovea.__prefix__:
    \from collections.abc import Iterator, Sequence
    \from typing import Any, TypeAlias
    Tensor: TypeAlias = Any  # a NumPy array, a tensor of PyTorch, or what else has __dlpack__
    Outputs: TypeAlias = Any  # a tensor; with more outputs a Result, or a tuple; or a State
    Integers: TypeAlias = Any  # a list or tuple of int, or a tensor of int64 or int32 with one axis
    Numbers: TypeAlias = Any  # the same for float, float64 and float32
