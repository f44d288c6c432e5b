"""Layers around attention, with one answer: a row alone has the bits that it has in a batch."""

# "as": type checkers see what is exported.
from ._fovea import (
    Attention as Attention,
    Block as Block,
    Embedding as Embedding,
    Encoder as Encoder,
    EncoderDecoder as EncoderDecoder,
    LayerNorm as LayerNorm,
    Linear as Linear,
    Norm as Norm,
    RMSNorm as RMSNorm,
    Stream as Stream,
    activate as activate,
    add_sinusoids as add_sinusoids,
    dropout as dropout,
    push_streams as push_streams,
    sinusoids as sinusoids,
    softmax as softmax,
    t5_buckets as t5_buckets,
)

__all__ = [name for name in dir() if not name.startswith("_")]
