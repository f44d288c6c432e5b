"""Fovea within transformers, on the CPU: after `import fovea.transformers` every model of transformers takes
attn_implementation="fovea". docs/python.md has an example."""

import transformers

OLDEST, NEWER = (5, 24), (6, 0)  # what is known: from the first on, before the second

if not OLDEST <= tuple(int(number) for number in transformers.__version__.split(".")[:2]) < NEWER:
    raise ImportError(f"transformers is {transformers.__version__}; fovea.transformers needs "
                      f"{OLDEST[0]}.{OLDEST[1]} or newer, and older than {NEWER[0]}.{NEWER[1]}")

# pylint: disable=wrong-import-position
from ._attention import attention
from ._mask import Visibility, mask

__all__ = ["Visibility", "attention", "mask"]

transformers.AttentionInterface.register("fovea", attention)
transformers.AttentionMaskInterface.register("fovea", mask)
