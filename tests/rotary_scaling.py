#!/usr/bin/env python3
"""Prints tests/rotary_scaling.inc: what transformers computes for scaled rotary embeddings.

The frequencies come from transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS, once as they are, in f32, and once with
`torch.float` and `torch.float32` set to float64, so that the same lines compute in double. NTK with a fixed factor has no
function there: its base is the formula of bloc97. Axes of M-RoPE are found by Qwen2-VL's and Qwen3-VL's own modules:
positions that are 1 on one axis and 0 on the others rotate only the pairs of that axis.

Needs transformers and torch (CPU); the versions are printed into the file.
"""
import re

import torch
import transformers
from transformers import LlamaConfig, Qwen2VLTextConfig, Qwen3VLTextConfig
from transformers import modeling_rope_utils as utils
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

SHORT = [1.0 + 0.05 * i for i in range(48)]
LONG = [1.0 + 1.3 * i for i in range(48)]

# name, rule, head_dim, fields of rope_parameters, max_position_embeddings, sequence length
CASES = [
    ("Llama 3.1 8B", "LLAMA3", 128, dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
     high_freq_factor=4.0, original_max_position_embeddings=8192), 131072, None),
    ("Llama 3.2 1B", "LLAMA3", 64, dict(rope_type="llama3", rope_theta=500000.0, factor=32.0, low_freq_factor=1.0,
     high_freq_factor=4.0, original_max_position_embeddings=8192), 131072, None),
    ("linear", "LINEAR", 128, dict(rope_type="linear", rope_theta=10000.0, factor=4.0), 2048, None),
    ("linear, Gemma 3", "LINEAR", 256, dict(rope_type="linear", rope_theta=1000000.0, factor=8.0), 131072, None),
    ("dynamic, short", "DYNAMIC_NTK", 128, dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0), 4096, 1000),
    ("dynamic, long", "DYNAMIC_NTK", 128, dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0), 4096, 16384),
    ("dynamic, odd length", "DYNAMIC_NTK", 96, dict(rope_type="dynamic", rope_theta=500000.0, factor=3.5), 2048, 5001),
    ("YaRN, Qwen", "YARN", 128, dict(rope_type="yarn", rope_theta=1000000.0, factor=4.0,
     original_max_position_embeddings=32768), 131072, None),
    ("YaRN, DeepSeek V3", "YARN", 64, dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, beta_fast=32.0, beta_slow=1.0,
     mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=4096), 163840, None),
    ("YaRN, DeepSeek V2", "YARN", 64, dict(rope_type="yarn", rope_theta=10000.0, factor=40.0, beta_fast=32.0, beta_slow=1.0,
     mscale=0.707, mscale_all_dim=0.5, original_max_position_embeddings=4096), 163840, None),
    ("YaRN, gpt-oss", "YARN", 64, dict(rope_type="yarn", rope_theta=150000.0, factor=32.0, beta_fast=32.0, beta_slow=1.0,
     truncate=False, original_max_position_embeddings=4096), 131072, None),
    ("YaRN, a factor", "YARN", 80, dict(rope_type="yarn", rope_theta=10000.0, factor=16.0, attention_factor=0.75,
     original_max_position_embeddings=100), 1600, None),
    ("LongRoPE, short", "LONGROPE", 96, dict(rope_type="longrope", rope_theta=10000.0, short_factor=SHORT, long_factor=LONG,
     original_max_position_embeddings=4096, factor=32.0), 131072, 4096),
    ("LongRoPE, long", "LONGROPE", 96, dict(rope_type="longrope", rope_theta=10000.0, short_factor=SHORT, long_factor=LONG,
     original_max_position_embeddings=4096, factor=32.0), 131072, 4097),
    ("proportional, Gemma 4", "PROPORTIONAL", 256, dict(rope_type="proportional", rope_theta=1000000.0,
     partial_rotary_factor=0.25), 131072, None),
    ("proportional, a factor", "PROPORTIONAL", 64, dict(rope_type="proportional", rope_theta=10000.0, factor=8.0,
     partial_rotary_factor=0.5), 131072, None),
    ("partial, Phi", "YARN", 96, dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, partial_rotary_factor=0.75,
     original_max_position_embeddings=4096), 16384, None),
]


def config_of(head_dim, parameters, length):
    return LlamaConfig(hidden_size=4 * head_dim, num_attention_heads=4, head_dim=head_dim,
                       max_position_embeddings=length, rope_parameters=dict(parameters))


def compute(head_dim, parameters, length, sequence):
    return utils.ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config_of(head_dim, parameters, length), None, sequence)


def in_double(*arguments):
    kept = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        return compute(*arguments)
    finally:
        torch.float, torch.float32, torch.Tensor.float = kept


def numbers(values):
    return ", ".join(re.sub(r"\.?0*p", "p", float(x).hex()) for x in values)


def print_case(name, rule, head_dim, parameters, length, sequence):
    partial = parameters.get("partial_rotary_factor", 1.0)
    dims = head_dim if rule == "PROPORTIONAL" else int(head_dim * partial)
    single, factor = compute(head_dim, parameters, length, sequence)
    double, _ = in_double(head_dim, parameters, length, sequence)
    assert double.dtype == torch.float64 and len(double) == len(single) == dims // 2
    trained = parameters.get("original_max_position_embeddings", 0)
    if rule == "DYNAMIC_NTK":
        trained = length
    fields = {
        "dims": dims, "base": parameters["rope_theta"], "factor": parameters.get("factor", 1.0),
        "trained_length": trained, "length": sequence or 0,
        "exact_pairs": int(not parameters.get("truncate", True)),
        "mscale": parameters.get("mscale", 0.0), "mscale_all_dim": parameters.get("mscale_all_dim", 0.0),
        "attention_factor": parameters.get("attention_factor", 0.0) if rule in ("YARN", "LONGROPE") else 0.0,
        "rotated_dims": 2 * int(partial * head_dim // 2) if rule == "PROPORTIONAL" else 0,
    }
    text = ", ".join(f".{key} = {value}" for key, value in fields.items())
    print(f'{{"{name}", FOVEA_SCALING_{rule}, {{{text}}}, {float(factor).hex()},')
    print(f" {{{numbers(double)}}},")
    print(f" {{{numbers(single)}}}}},")


def axes_of(module, config, pairs):
    """The axis of each pair, by which positions rotate it."""
    rotary = module(config)
    hidden = torch.zeros(1, 3, config.hidden_size)
    result = [None] * pairs
    for axis in range(3):
        positions = torch.zeros(3, 1, 3, dtype=torch.long)
        positions[axis] = torch.tensor([[0, 1, 2]])
        _, sine = rotary(hidden, positions)
        for pair in range(pairs):
            if sine[0, 1, pair] != 0:
                assert result[pair] is None
                result[pair] = axis
    return result


def main():
    print("/* Printed by tests/rotary_scaling.py, with transformers %s and torch %s. */"
          % (transformers.__version__, torch.__version__))
    print("#ifdef SCALED_FREQUENCIES")
    for case in CASES:
        print_case(*case)
    print("#endif")
    print("#ifdef SECTION_AXES")
    parameters = dict(rope_type="default", rope_theta=1000000.0)
    for name, module, config, layout, sections in [
        ("Qwen2-VL", Qwen2VLRotaryEmbedding, Qwen2VLTextConfig, "IN_ROW", [16, 24, 24]),
        ("Qwen3-VL", Qwen3VLTextRotaryEmbedding, Qwen3VLTextConfig, "INTERLEAVED", [24, 20, 20]),
    ]:
        made = config(hidden_size=512, num_attention_heads=4, num_key_value_heads=4, head_dim=128,
                      rope_parameters=dict(parameters, mrope_section=sections))
        axes = axes_of(module, made, 64)
        print(f'{{"{name}", FOVEA_SECTIONS_{layout}, {{{", ".join(map(str, sections))}}}, 64,')
        print(f' {{{", ".join(map(str, axes))}}}}},')
    print("#endif")


main()
