"""Attention for CPUs, with one answer: the same inputs give the same bits on every CPU, for any number of threads, any
batch and any cache. docs/python.md begins with the first call; `help(fovea.attention)` has every keyword."""

from ._fovea import (
    ArgumentError,
    Cache,
    Error,
    Explanation,
    Group,
    Info,
    InstructionSet,
    Layout,
    OutOfMemoryError,
    Pattern,
    Plan,
    Result,
    Rotary,
    Rule,
    SpaceError,
    State,
    Term,
    UnsupportedError,
    UnusedError,
    __version__,
    alibi,
    allow_amx,
    attention,
    explain,
    grid,
    info,
    random_blocks,
    relative,
    t5,
    uses_amx,
)

__all__ = [name for name in dir() if not name.startswith("_")]
