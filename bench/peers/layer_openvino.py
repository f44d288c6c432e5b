"""OpenVINO: linear layers, and the sentence model, from the ONNX graph and by its own operations.

In int8, weights have a scale for each output. x is quantised as each run says, which OpenVINO does beside weights that are
dequantised (`dynamic`), or, with numbers known beforehand, by a FakeQuantize (`static`)."""

import numpy
import openvino
from openvino import opset7, opset13

import cache_problems
import layer_graph
import layer_problems
import problems
from layer_problems import LINEAR, MINILM, ROW, golden
from peer_openvino import CORE, TYPES, VERSION, numbers_of, tensor_of  # noqa: F401 (VERSION is asked for)

WAYS = ("layers",)


class Ops:
    """What golden.forward() needs."""

    def __init__(self, shape):
        self.weights, self.shape = layer_problems.model_weights(), shape

    def weight(self, name):
        return opset13.constant(self.weights[name])

    def embed(self, ids):
        w = self.weights
        rows = opset13.gather(self.weight("embeddings.word_embeddings.weight"), ids, opset13.constant(0))
        places = w["embeddings.position_embeddings.weight"][: self.shape[1]]
        return rows + opset13.constant(w["embeddings.token_type_embeddings.weight"][0]) + opset13.constant(places)

    def norm(self, x, name):
        scaled = opset13.mvn(x, opset13.constant(numpy.array([-1])), True, golden.EPS, "inside_sqrt")
        return scaled * self.weight(name + ".weight") + self.weight(name + ".bias")

    def linear(self, x, name):
        return opset13.matmul(x, self.weight(name + ".weight"), False, True) + self.weight(name + ".bias")

    def attend(self, q, k, v):
        heads = opset13.constant(numpy.array([*self.shape, golden.HEADS, golden.DIM // golden.HEADS]))
        order = opset13.constant(numpy.array([0, 2, 1, 3]))
        q, k, v = (opset13.transpose(opset13.reshape(x, heads, False), order) for x in (q, k, v))
        outputs = opset13.transpose(opset13.scaled_dot_product_attention(q, k, v), order)
        return opset13.reshape(outputs, opset13.constant(numpy.array([*self.shape, golden.DIM])), False)

    def gelu(self, x):
        return opset7.gelu(x, "erf")

    def pool(self, x):
        mean = opset13.reduce_mean(x, opset13.constant(numpy.array([1])), False)
        return opset13.normalize_l2(mean, opset13.constant(numpy.array([-1])), 1e-12, "max")


class Solver:
    """A model with one input; of its outputs the first counts."""

    def __init__(self, model, x, threads, settings=None):
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                    "PERFORMANCE_HINT": "LATENCY"} | (settings or {})
        self.request = CORE.compile_model(model, "CPU", settings).create_infer_request()
        self.layers = len(model.outputs)
        self.request.set_input_tensor(0, x if isinstance(x, openvino.Tensor) else
                                      openvino.Tensor(numpy.ascontiguousarray(x)))

    def run(self):
        self.request.infer(share_outputs=True)

    def output(self):
        return numbers_of(self.request.get_output_tensor(0))


# ---- Linear layers ----


def linear(problem, x, weights, threads):
    """bf16: all in bf16."""
    rows, ins, _ = problem.linear
    element = TYPES[problem.type]
    place = opset13.parameter([rows, ins], element)
    w = opset13.constant(problems.widened(weights), dtype=element)
    model = openvino.Model([opset13.matmul(place, w, False, True).output(0)], [place], "linear")
    return Solver(model, tensor_of(x, element), threads, {"INFERENCE_PRECISION_HINT": problem.type})


def dequantised(codes, scales, zero=None):
    """Codes as a constant, less their zero, times scales: OpenVINO keeps the codes."""
    numbers = opset13.convert(codes, "f32")
    if zero is not None:
        numbers = opset13.subtract(numbers, opset13.convert(opset13.constant(zero), "f32"))
    return opset13.multiply(numbers, opset13.constant(scales.astype(numpy.float32)))


def quantised(static):
    def build(problem, x, weights, threads):
        rows, ins, _ = problem.linear
        codes, scales = layer_problems.quantised(weights)
        place = opset13.parameter([rows, ins], openvino.Type.f32)
        taken = place
        if static:
            most = numpy.abs(x).max()
            low, high = (opset13.constant(numpy.float32(end)) for end in (-most * 128 / 127, most))
            taken = opset13.fake_quantize(place, low, high, low, high, 256)
        answer = opset13.matmul(taken, dequantised(opset13.constant(codes), scales), False, True)
        return Solver(openvino.Model([answer.output(0)], [place], "int8"), x, threads,
                      {} if static else {"DYNAMIC_QUANTIZATION_GROUP_SIZE": ins})

    return build


def row(group):
    """Each layer has weights of its own, since OpenVINO keeps equal ones once. `group`: dims of x that share a scale in
    8 bits, 0: x stays f32."""
    def build(problem, x, weights, threads):
        _, ins, outs = problem.linear
        scales, codes = cache_problems.unblocked(weights, cache_problems.FORMATS[problem.type].block_bytes)
        place = opset13.parameter([1, ins], openvino.Type.f32)
        answers, kept = [], []
        for layer in range(layer_problems.copies(codes.nbytes + 2 * scales.size)):
            own, factors = (numpy.roll(tensor, layer, axis=0) for tensor in (codes, scales))
            if problem.type == "q8_0":
                numbers = dequantised(opset13.constant(own.view(numpy.int8)), factors)
            else:  # neighbours share a byte
                halves = numpy.concatenate((own & 15, own >> 4), axis=-1)
                packed = numpy.ascontiguousarray(halves[..., ::2] | halves[..., 1::2] << 4)
                kept.append(openvino.Tensor(packed, openvino.Shape(halves.shape), openvino.Type.u4))  # without a copy
                numbers = dequantised(openvino.op.Constant(kept[-1]), factors, numpy.array([[[8]]], dtype=numpy.uint8))
            w = opset13.reshape(numbers, opset13.constant(numpy.array([outs, ins])), False)
            answers.append(opset13.matmul(place, w, False, True).output(0))
        return Solver(openvino.Model(answers, [place], "row"), x, threads, {"DYNAMIC_QUANTIZATION_GROUP_SIZE": group})

    return build


# ---- The sentence model ----


def from_onnx(problem, tokens, threads):
    return Solver(CORE.read_model(layer_graph.minilm(tokens.shape, False), b""), tokens, threads)


def by_operations(problem, tokens, threads):
    ids = opset13.parameter(tokens.shape, openvino.Type.i64)
    answer = golden.forward(Ops(tokens.shape), ids)
    return Solver(openvino.Model([answer.output(0)], [ids], "minilm"), tokens, threads)


def options(way, problem):
    if problem.kind == ROW:
        return {"x in f32": row(0), "x in int8": row(32)}
    if problem.type == "int8":
        return {"dynamic": quantised(False), "static": quantised(True)}
    if problem.kind == LINEAR:
        return {"MatMul": linear}
    return {"ONNX graph": from_onnx, "ScaledDotProductAttention": by_operations} if problem.kind == MINILM else {}
