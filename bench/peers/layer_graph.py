"""ONNX models of layers, for ONNX Runtime and OpenVINO."""

import math

import numpy
from onnx import TensorProto, helper, numpy_helper

import layer_problems
from layer_problems import golden

MICROSOFT = "com.microsoft"


class Graph:
    """Nodes and constants, to which operations are added."""

    def __init__(self, weights=None):
        self.nodes, self.constants = [], []
        self.weights = weights or {}
        self.added = {}  # names of weights that are constants already

    def constant(self, value, kind=numpy.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.ascontiguousarray(value, dtype=kind), name))
        return golden.Name(self, name)

    def node(self, kind, *inputs, domain="", **attributes):
        name = golden.Name(self, f"t{len(self.nodes)}")
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def weight(self, name, turned=False):
        if name not in self.added:
            self.added[name] = self.constant(self.weights[name].T if turned else self.weights[name])
        return self.added[name]

    def model(self, result, inputs, shape):
        """`inputs` are (name, type, shape). `result` may be a list: outputs of one shape."""
        results = result if isinstance(result, list) else [result]
        graph = helper.make_graph(self.nodes, "layers", [helper.make_tensor_value_info(*i) for i in inputs],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in results],
                                  self.constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


class Minilm(Graph):
    """What golden.forward() needs, for texts of one length. `fused`: attention is one operator of ONNX Runtime."""

    def __init__(self, shape, fused):
        super().__init__(layer_problems.model_weights())
        self.shape, self.fused = shape, fused

    def embed(self, ids):
        x = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        x = self.node("Add", x, self.constant(self.weights["embeddings.token_type_embeddings.weight"][0]))
        return self.node("Add", x, self.constant(self.weights["embeddings.position_embeddings.weight"][: self.shape[1]]))

    def norm(self, x, name):
        return self.node("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"),
                         epsilon=golden.EPS)

    def linear(self, x, name):
        return self.node("Add", self.node("MatMul", x, self.weight(name + ".weight", turned=True)),
                         self.weight(name + ".bias"))

    def attend(self, q, k, v):
        if self.fused:
            return self.node("MultiHeadAttention", q, k, v, domain=MICROSOFT, num_heads=golden.HEADS)
        dim = golden.DIM // golden.HEADS
        heads = self.constant([*self.shape, golden.HEADS, dim], numpy.int64)
        q, k, v = (self.node("Reshape", x, heads) for x in (q, k, v))
        q, v = (self.node("Transpose", x, perm=[0, 2, 1, 3]) for x in (q, v))
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 2, 3, 1]))
        weights = self.node("Softmax", self.node("Div", scores, self.constant(math.sqrt(dim))), axis=-1)
        outputs = self.node("Transpose", self.node("MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.node("Reshape", outputs, self.constant([*self.shape, golden.DIM], numpy.int64))

    def gelu(self, x):
        tail = self.node("Add", self.node("Erf", self.node("Div", x, self.constant(math.sqrt(2)))), self.constant(1))
        return self.node("Mul", self.node("Mul", x, tail), self.constant(0.5))

    def pool(self, x):
        mean = self.node("ReduceMean", x, self.constant([1], numpy.int64), keepdims=0)
        return self.node("LpNormalization", mean, axis=-1, p=2)


def minilm(shape, fused):
    """Takes `ids` (texts, tokens), 64-bit."""
    graph = Minilm(shape, fused)
    result = golden.forward(graph, golden.Name(graph, "ids"))
    return graph.model(result, [("ids", TensorProto.INT64, shape)], (shape[0], golden.DIM))


def linear(problem, weights, kind):
    """Takes `x`. Weights are constants, which libraries pack when they load them."""
    graph = Graph()
    rows, ins, outs = problem.sizes
    if kind == "Gemm":
        result = graph.node("Gemm", "x", graph.constant(weights), transB=1)
    else:
        result = graph.node("MatMul", "x", graph.constant(weights.T))
    return graph.model(result, [("x", TensorProto.FLOAT, (rows, ins))], (rows, outs))


def dynamic(problem, weights, fused):
    """Takes `x`, which is quantised with one scale and one zero point for all rows; weights have a scale for each
    output. `fused`: one operator of ONNX Runtime."""
    graph = Graph()
    rows, ins, outs = problem.linear
    codes, scales = layer_problems.quantised(weights)
    codes, scales = graph.constant(codes.T, numpy.int8), graph.constant(scales[:, 0])
    if fused:
        result = graph.node("DynamicQuantizeMatMul", "x", codes, scales, domain=MICROSOFT)
    else:
        names = [golden.Name(graph, f"x_{part}") for part in ("codes", "scale", "zero")]
        graph.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], names))
        sums = graph.node("Cast", graph.node("MatMulInteger", names[0], codes, names[2]), to=TensorProto.FLOAT)
        result = graph.node("Mul", sums, graph.node("Mul", names[1], scales))
    return graph.model(result, [("x", TensorProto.FLOAT, (rows, ins))], (rows, outs))


def blocks(problem, codes, scales, accuracy, layers=1):
    """Takes `x`. ONNX Runtime's weights of 4 or 8 bits: `codes` (out, blocks, bytes) without signs, `scales` (out,
    blocks). Accuracy 4 quantises x to 8 bits. Several layers take the same x, each with weights of its own; their
    outputs are y0, y1, ..."""
    graph = Graph()
    rows, ins, outs = problem.linear
    block = ins // scales.shape[1]
    bits = codes.shape[-1] * 8 // block
    results = []
    for layer in range(layers):
        turned = [numpy.roll(tensor, layer, axis=0) for tensor in (codes, scales)]
        inputs = graph.constant(turned[0], numpy.uint8), graph.constant(turned[1].reshape(-1))
        graph.nodes.append(helper.make_node("MatMulNBits", ["x", *inputs], [f"y{layer}"], domain=MICROSOFT, K=ins, N=outs,
                                            bits=bits, block_size=block, accuracy_level=accuracy))
        results.append(f"y{layer}")
    return graph.model(results, [("x", TensorProto.FLOAT, (rows, ins))], (rows, outs))


def of_rows(problem, nodes, *factors):
    """Takes `x`; `nodes` adds what there is to a graph, with the names of factors, and returns its name."""
    graph = Graph()
    return graph.model(nodes(graph, *(graph.constant(factor) for factor in factors)), [("x", TensorProto.FLOAT, problem.sizes)], problem.sizes)
