"""Writes a model of Llama's kind as Hugging Face's safetensors file, by NumPy alone: numbers, or weights in 4 bits by GPTQ
or AWQ."""

import json
import struct

import numpy

NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
         "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
         "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # of the outputs in a word, from its lowest bits on
TYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint16": "BF16"}


def own_name(name):
    *layer, part, _ = name.split(".")
    return ".".join([f"model.layers.{layer[1]}" if layer else "", NAMES[part]]).lstrip(".")


def in_halves(matrix, heads):
    """Rows of heads whose rotated pairs were neighbours, with the first of all pairs before the second."""
    return matrix.reshape(heads, -1, 2, matrix.shape[1]).swapaxes(1, 2).reshape(matrix.shape)


def words(codes, order=range(8)):
    """Eight codes of 4 bits a word, along the last axis."""
    codes = codes.reshape(*codes.shape[:-1], -1, 8)[..., list(order)].astype(numpy.uint32)
    return (codes << 4 * numpy.arange(8, dtype=numpy.uint32)).sum(-1, dtype=numpy.uint32).view(numpy.int32)


def quantised(matrix, kind, group):
    """The tensors of a matrix (out, in), and its numbers. Of desc_act, which is GPTQ, dims of a group are anywhere."""
    count = matrix.shape[1]
    dims = numpy.random.Generator(numpy.random.PCG64(count)).permutation(count) if kind == "desc_act" else numpy.arange(count)
    places = numpy.argsort(dims)
    groups = matrix.T[dims].reshape(-1, group or count, matrix.shape[0])
    least, most = groups.min(1).clip(None, 0), groups.max(1).clip(0)
    scales = ((most - least) / 15).astype(numpy.float16)
    zeros = numpy.rint(-least / scales).clip(1, 15)
    codes = (numpy.rint(groups / scales[:, None]) + zeros[:, None]).clip(0, 15)
    numbers = ((codes - zeros[:, None]) * scales[:, None].astype(float)).reshape(-1, matrix.shape[0])[places].T
    codes = codes.reshape(-1, matrix.shape[0])[places]
    if kind == "awq":
        parts = {"qweight": words(codes, AWQ_ORDER), "qzeros": words(zeros, AWQ_ORDER), "scales": scales}
    else:
        order = (places // (group or count)).astype(numpy.int32)
        parts = {"qweight": words(codes.T).T, "qzeros": words(zeros - 1), "scales": scales, "g_idx": order,
                 "bias": numpy.zeros(matrix.shape[0], numpy.float16)}
    return parts, numbers


def write(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        part = numpy.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": TYPES[tensor.dtype.name], "shape": tensor.shape,
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def convert(values, tensors, kind, group=32):
    """The tensors of a file, of what make_gguf.make() gives in f32; and the numbers of each, by GGUF's names. kind: f16,
    bf16, gptq, desc_act or awq; beside codes, what is no matrix of a layer is in f16."""
    heads = {"attn_q": values["llama.attention.head_count"], "attn_k": values["llama.attention.head_count_kv"]}
    made, numbers = {}, {}
    for name, (tensor, _) in tensors.items():
        part, own = name.split(".")[-2], own_name(name)
        has_codes = kind in ("gptq", "desc_act", "awq") and tensor.ndim == 2 and name.startswith("blk")
        kept = in_halves(tensor, heads[part]) if part in heads else tensor
        if has_codes:
            parts, kept = quantised(kept, kind, group)
            made |= {f"{own}.{part_name}": found for part_name, found in parts.items()}
        elif kind == "bf16":
            made[f"{own}.weight"] = (kept.view(numpy.uint32) >> 16).astype(numpy.uint16)
            kept = (made[f"{own}.weight"].astype(numpy.uint32) << 16).view(numpy.float32)
        else:
            made[f"{own}.weight"] = kept = kept.astype(numpy.float16)
        if part in heads:
            kept = kept.reshape(heads[part], 2, -1, kept.shape[1]).swapaxes(1, 2).reshape(kept.shape)
        numbers[name] = kept.astype(numpy.float32), "f32"
    return made, numbers
