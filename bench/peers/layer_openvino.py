"""OpenVINO: the sentence model, from the ONNX graph and by its own operations."""

import numpy
import openvino
from openvino import opset7, opset13

import layer_graph
import layer_problems
from layer_problems import MINILM, golden
from peer_openvino import CORE, VERSION  # noqa: F401 (VERSION is asked for)

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
    def __init__(self, model, tokens, threads):
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                    "PERFORMANCE_HINT": "LATENCY"}
        self.request = CORE.compile_model(model, "CPU", settings).create_infer_request()
        self.request.set_input_tensor(0, openvino.Tensor(numpy.ascontiguousarray(tokens)))

    def run(self):
        self.request.infer(share_outputs=True)

    def output(self):
        return self.request.get_output_tensor(0).data


def from_onnx(problem, tokens, threads):
    return Solver(CORE.read_model(layer_graph.minilm(tokens.shape, False), b""), tokens, threads)


def by_operations(problem, tokens, threads):
    ids = opset13.parameter(tokens.shape, openvino.Type.i64)
    answer = golden.forward(Ops(tokens.shape), ids)
    return Solver(openvino.Model([answer.output(0)], [ids], "minilm"), tokens, threads)


def options(way, problem):
    return {"ONNX graph": from_onnx, "ScaledDotProductAttention": by_operations} if problem.kind == MINILM else {}
