"""Golden files of ONNX Runtime's caches: bytes that GroupQueryAttention wrote on a CPU (README.md).

Each case is a sequence of one key, so the softmax is 1 and the output is the value row as it was dequantised."""
import numpy as np
import onnxruntime
from golden import DIM, File, rows
from onnx import TensorProto, helper


def attention(width, mode):
    kind, size = (TensorProto.INT8, DIM) if width == 8 else (TensorProto.UINT8, DIM // 2)
    node = helper.make_node(
        "GroupQueryAttention", ["q", "k", "v", "pk", "pv", "lens", "total", "", "", "", "", "", "ks", "vs"],
        ["out", "keys", "values"], domain="com.microsoft", num_heads=1, kv_num_heads=1, k_quant_type=mode,
        v_quant_type=mode, kv_cache_bit_width=width)
    info = helper.make_tensor_value_info
    inputs = [info(name, TensorProto.FLOAT, [1, 1, DIM]) for name in "qkv"]
    inputs += [info(name, kind, [1, 1, 0, size]) for name in ("pk", "pv")]
    inputs += [info(name, TensorProto.INT32, [1]) for name in ("lens", "total")]
    inputs += [info(name, TensorProto.FLOAT, None) for name in ("ks", "vs")]
    outputs = [info("out", TensorProto.FLOAT, [1, 1, DIM])]
    outputs += [info(name, kind, [1, 1, 1, size]) for name in ("keys", "values")]
    model = helper.make_model(helper.make_graph([node], "attention", inputs, outputs), ir_version=10, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def main():
    for width, name in ((8, "s8"), (4, "u4")):
        for mode in ("PER_TENSOR", "PER_CHANNEL"):
            session = attention(width, mode)
            past = np.zeros((1, 1, 0, DIM if width == 8 else DIM // 2), np.int8 if width == 8 else np.uint8)
            file = File(f"onnxruntime_{name}" + ("_channel" if mode == "PER_CHANNEL" else ""),
                        f"onnxruntime {onnxruntime.__version__}, GroupQueryAttention, k_quant_type {mode}, "
                        f"kv_cache_bit_width {width}", DIM)
            generator = np.random.default_rng(3)
            for case, x in rows():
                if case not in ("normal", "outliers", "constant", "ties_127_8", "subnormal"):
                    continue
                scale = np.float32(1 if case[:4] == "ties" else 2.0**-140 if case == "subnormal" else
                                   0.02 if width == 8 else 0.3)
                scales = scale.reshape(1)
                if mode == "PER_CHANNEL":
                    scales = (scale * (1 + generator.integers(0, 4, DIM))).astype(np.float32).reshape(1, 1, 1, DIM)
                    scales[..., 3] = 0
                x = x.reshape(1, 1, DIM)
                output, keys, values = session.run(None, {
                    "q": np.zeros_like(x), "k": x, "v": x, "pk": past, "pv": past, "lens": np.zeros(1, np.int32),
                    "total": np.ones(1, np.int32), "ks": scales, "vs": scales})
                assert keys.tobytes() == values.tobytes()
                file.case(case, input=x, scales=scales, bytes=values, output=output)
            file.write()


main()
