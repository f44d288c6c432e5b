"""Layers around attention, with one answer: a row alone has the bits that it has in a batch."""

# "as": type checkers see what is exported.
from ._fovea import (
    LSH as LSH,
    Additive as Additive,
    Attention as Attention,
    Block as Block,
    Differential as Differential,
    Embedding as Embedding,
    Encoder as Encoder,
    EncoderDecoder as EncoderDecoder,
    GraphAttention as GraphAttention,
    GRUCell as GRUCell,
    LatentAttention as LatentAttention,
    LayerNorm as LayerNorm,
    Linear as Linear,
    LinearAttention as LinearAttention,
    Linformer as Linformer,
    Longformer as Longformer,
    LSTMCell as LSTMCell,
    Norm as Norm,
    Performer as Performer,
    RMSNorm as RMSNorm,
    Stream as Stream,
    activate as activate,
    add_sinusoids as add_sinusoids,
    bigbird as bigbird,
    differential_lambda as differential_lambda,
    dropout as dropout,
    push_streams as push_streams,
    random_features as random_features,
    select_keys as select_keys,
    sinusoids as sinusoids,
    softmax as softmax,
    t5_buckets as t5_buckets,
)

__all__ = [name for name in dir() if not name.startswith("_")]
