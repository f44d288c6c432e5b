"""Receipts of what a model of transformers computed, which any machine checks to the bit: `embed()` gives vectors of
texts, `generate()` continues a text, and both give a receipt. `check()` computes it again, whatever the instruction set,
the threads and the batch, and names the first difference. docs/verify.md begins with the installation."""

from ._check import Difference as Difference, check as check
from ._receipt import load as load, save as save
from ._write import embed as embed, generate as generate

__all__ = ["Difference", "check", "embed", "generate", "load", "save"]
