"""Golden files of OpenVINO's caches: bytes that its operation PagedAttention wrote on a CPU (README.md).

A cache of one value row a sequence is read back by the same operation: over one key the softmax is 1, so its output is
the value row as OpenVINO dequantises it. Keys are not read back."""
import numpy as np
import openvino as ov
import openvino.op as op
from golden import DIM, File, rows

PAGE = 32


def parameter(shape, kind, name):
    node = op.Parameter(kind, ov.PartialShape(shape))
    node.output(0).get_tensor().set_names({name})
    node.set_friendly_name(name)
    return node


def constant(kind, values, shape=None):
    x = np.array(values, kind)
    return op.Constant(x.reshape(shape) if shape is not None else x)


def attention(dim, key_kind, value_kind, mode, value_group=0, sage=False):
    """A compiled operation over one head of `dim` numbers."""
    data = [parameter([-1, dim], ov.Type.f32, name) for name in ("q", "k", "v")]
    caches = [parameter([-1, -1, -1, -1], ov.Type.dynamic, name) for name in ("key_cache.0", "value_cache.0")]
    places = [parameter([-1], ov.Type.i32, name)
              for name in ("past_lens", "subsequence_begins", "block_indices", "block_indices_begins")]
    rest = [constant(np.float32, 0.125), constant(np.int32, 0), constant(np.float32, [], (0,)),
            constant(np.int32, 128), constant(np.int32, 0), constant(np.int32, [], (0,)),
            constant(np.int32, [], (0,)), constant(np.float32, [], (0,)), constant(np.float32, [], (0,)),
            constant(np.int32, 64), constant(np.int32, 8), constant(np.float32, [], (0,)), constant(np.int32, 0),
            constant(np.int32, [], (0,)), constant(np.int32, [], (0,)), constant(np.int32, [], (0,)),
            constant(np.int32, [], (0,)), constant(np.uint8, [], (0,)), constant(np.int32, [], (0,))]
    node = op._PagedAttentionExtension([x.output(0) for x in data + caches + places + rest])
    for name, value in (("num_k_heads", 1), ("k_head_size", dim), ("num_v_heads", 1), ("v_head_size", dim)):
        node.get_rt_info()[name] = value
    model = ov.Model([node.output(0)], data + caches + places, "attention")
    options = {"INFERENCE_PRECISION_HINT": "f32", "KEY_CACHE_PRECISION": key_kind, "VALUE_CACHE_PRECISION": value_kind}
    options["KEY_CACHE_QUANT_MODE"] = mode
    if value_group:
        options["VALUE_CACHE_GROUP_SIZE"] = value_group
    if sage: # takes keys of 8 bits with a sign; CPUs with AMX only
        options["ENABLE_SAGE_ATTN"] = True
    return ov.Core().compile_model(model, "CPU", options)


def run(compiled, keys, values):
    """One sequence from an empty cache of one page. Returns the output and the bytes of both pages."""
    pages = []
    for i in (3, 4):
        shape = compiled.inputs[i].get_partial_shape()
        page = ov.Tensor(compiled.inputs[i].get_element_type(), ov.Shape([1] + [shape[j].get_length() for j in (1, 2, 3)]))
        page.data[:] = 0
        pages.append(page)
    request = compiled.create_infer_request()
    tensors = [ov.Tensor(np.zeros_like(keys)), ov.Tensor(keys), ov.Tensor(values)] + pages
    tensors += [ov.Tensor(np.array(x, np.int32)) for x in ([0], [0, len(keys)], [0], [0, 1])]
    for i, tensor in enumerate(tensors):
        request.set_tensor(compiled.inputs[i], tensor)
    request.infer()
    keys_page, values_page = (np.array(page.data).view(np.uint8).ravel() for page in pages)
    return request.get_output_tensor(0).data.copy(), keys_page, values_page


def by_token(preset, kind, group):
    compiled = attention(DIM, "u8", kind, "BY_TOKEN", group)
    file = File(preset, f"openvino {ov.__version__}, PagedAttention, VALUE_CACHE_PRECISION {kind}, "
                        f"VALUE_CACHE_GROUP_SIZE {group}", DIM, group=group)
    for case, x in rows():
        if group and case not in ("normal", "zeros", "constant"):
            continue
        output, _, page = run(compiled, x[None], x[None])
        file.case(case, input=x, bytes=page[:len(page) // PAGE], output=output)
    file.write()


def signed_keys(preset):
    compiled = attention(DIM, "u8", "u8", "BY_TOKEN", sage=True)
    assert compiled.inputs[3].get_element_type() == ov.Type.i8
    file = File(preset, f"openvino {ov.__version__}, PagedAttention, KEY_CACHE_PRECISION u8, "
                        "KEY_CACHE_QUANT_MODE BY_TOKEN, ENABLE_SAGE_ATTN", DIM)
    for case, x in rows():
        _, page, _ = run(compiled, x[None], x[None])
        file.case(case, input=x, bytes=page[:len(page) // PAGE])
    file.write()


def by_channel(preset, kind, dim):
    compiled = attention(dim, kind, "u8", "BY_CHANNEL")
    file = File(preset, f"openvino {ov.__version__}, PagedAttention, KEY_CACHE_PRECISION {kind}, "
                        "KEY_CACHE_QUANT_MODE BY_CHANNEL", dim, keys=PAGE)
    generator = np.random.default_rng(2)
    cases = [("normal", generator.standard_normal((PAGE, dim)).astype(np.float32))]
    x = generator.standard_normal((PAGE, dim)).astype(np.float32)
    x[:, 0], x[:, 1], x[:, 2], x[:, 3] = 0, -0.0, 1.5, -7
    x[:, 4] *= np.float32(2.0**-110)
    x[:, 5] += 100
    x[3, 6] = 3e38
    x[:, 7] = generator.integers(0, 255, PAGE) + 0.5
    x[:2, 7] = [0, 255]
    x[:, 8] = generator.integers(0, 15, PAGE) + 0.5
    x[:2, 8] = [0, 15]
    x[:, 9] = np.float32(2.0**-149) * generator.integers(-5000, 5000, PAGE).astype(np.float32)
    cases.append(("special", x))
    cases.append(("short", generator.standard_normal((20, dim)).astype(np.float32)))
    for case, x in cases:
        _, page, _ = run(compiled, x, np.zeros_like(x))
        file.case(case, input=x, bytes=page)
    file.write()


if __name__ == "__main__":
    by_token("openvino_u8", "u8", 0)
    by_token("openvino_u8_32", "u8", 32)
    by_token("openvino_u4", "u4", 0)
    signed_keys("openvino_i8")
    by_channel("openvino_u8_channel", "u8", 16)
    by_channel("openvino_u4_channel", "u4", 16)
