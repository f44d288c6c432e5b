"""Attention for CPUs, with one answer: the same inputs give the same bits on every CPU, for any number of threads, any
batch and any cache. docs/python.md begins with the first call; `help(fovea.attention)` has every keyword."""

# "as": type checkers see what is exported.
from ._fovea import (
    ArgumentError as ArgumentError,
    Cache as Cache,
    Error as Error,
    Explanation as Explanation,
    Group as Group,
    Info as Info,
    InstructionSet as InstructionSet,
    Layout as Layout,
    OutOfMemoryError as OutOfMemoryError,
    Pattern as Pattern,
    Plan as Plan,
    Result as Result,
    Rotary as Rotary,
    Rule as Rule,
    SpaceError as SpaceError,
    State as State,
    Term as Term,
    UnsupportedError as UnsupportedError,
    UnusedError as UnusedError,
    __version__ as __version__,
    alibi as alibi,
    allow_amx as allow_amx,
    attention as attention,
    explain as explain,
    grid as grid,
    hadamard as hadamard,
    info as info,
    random_blocks as random_blocks,
    relative as relative,
    t5 as t5,
    uses_amx as uses_amx,
)

__all__ = [name for name in dir() if not name.startswith("_")]
