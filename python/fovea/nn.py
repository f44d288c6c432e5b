"""Layers around attention, with one answer: a row alone has the bits that it has in a batch."""

from ._fovea import Attention, Block, Embedding, Encoder, LayerNorm, Linear, Norm, RMSNorm, activate, softmax

__all__ = ["Attention", "Block", "Embedding", "Encoder", "LayerNorm", "Linear", "Norm", "RMSNorm", "activate", "softmax"]
