"""OpenVINO: a model of one operation, compiled for the CPU without a lower precision than the inputs'."""

import numpy
import openvino
from openvino import opset13, opset6

import problems

VERSION = openvino.__version__.split("-")[0]
WAYS = ("ScaledDotProductAttention",)
TYPES = {"f32": openvino.Type.f32, "f16": openvino.Type.f16, "bf16": openvino.Type.bf16}
CORE = openvino.Core()


def tensor_of(array, element):
    """OpenVINO's own memory with the numbers of the array."""
    tensor = openvino.Tensor(element, list(array.shape))
    tensor.data.view(array.dtype)[:] = array
    return tensor


def compiled(answer, parameters, sinks, number_type, threads):
    settings = {"INFERENCE_PRECISION_HINT": number_type, "KV_CACHE_PRECISION": number_type,
                "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    model = openvino.Model([answer.output(0)], sinks, parameters, "attention")
    return CORE.compile_model(model, "CPU", settings)


def numbers_of(tensor):
    """As float32."""
    return problems.widened(tensor.data.view(numpy.uint16) if tensor.element_type == openvino.Type.bf16
                            else tensor.data)


class Solver:
    """One operation, run for each (q, k, v); the number of rows is free if there are several."""

    def __init__(self, parts, causal, number_type, threads, shape):
        element, self.shape = TYPES[number_type], shape
        parameters = [opset13.parameter(self.extents(tensor, len(parts) > 1), element) for tensor in parts[0]]
        answer = opset13.scaled_dot_product_attention(*parameters, causal=causal)
        model = compiled(answer, parameters, [], number_type, threads)
        self.requests = []
        for part in parts:
            request = model.create_infer_request()
            for place, array in enumerate(part):
                request.set_input_tensor(place, tensor_of(array, element))
            self.requests.append(request)

    @staticmethod
    def extents(tensor, rows_free):
        batch, heads, rows, dim = tensor.shape
        return [batch, heads, -1 if rows_free else rows, dim]

    def run(self):
        for request in self.requests:
            request.infer(share_outputs=True)

    def output(self):
        arrays = [numbers_of(request.get_output_tensor(0)) for request in self.requests]
        return numpy.concatenate(arrays, axis=2).reshape(self.shape)


class Decoder:
    """One row, with the earlier keys as the model's state, as in OpenVINO's own language models: the CPU plugin knows
    this graph, and neither copies the state nor repeats its heads. Each run adds the last key once more."""

    def __init__(self, problem, q, k, v, threads):
        element, self.problem, self.caches = TYPES[problem.type], problem, {"k": k[:, :, :-1], "v": v[:, :, :-1]}
        parameters = [opset13.parameter([-1, heads, -1, problem.dim], element)
                      for heads in (problem.heads, problem.kv_heads, problem.kv_heads)]
        beams = opset13.parameter([-1], openvino.Type.i32)
        grown = [self.state(name, parameter, beams, element) for name, parameter in zip("kv", parameters[1:])]
        repeated = [self.repeated(concat) for concat, _ in grown]
        answer = opset13.scaled_dot_product_attention(parameters[0], *repeated)
        model = compiled(answer, [*parameters, beams], [assign for _, assign in grown], problem.type, threads)
        self.request = model.create_infer_request()
        self.request.set_input_tensor(0, tensor_of(q, element))
        self.request.set_input_tensor(1, tensor_of(k[:, :, -1:], element))
        self.request.set_input_tensor(2, tensor_of(v[:, :, -1:], element))
        self.request.set_input_tensor(3, tensor_of(numpy.arange(problem.batch, dtype=numpy.int32), openvino.Type.i32))
        self.fill()

    def state(self, name, fresh, beams, element):
        """(all keys, the nodes that write them back)"""
        empty = numpy.zeros((self.problem.batch, self.problem.kv_heads, 0, self.problem.dim), dtype=numpy.float32)
        initial = opset13.convert(opset13.constant(empty), element)
        read = opset6.read_value(initial, name, element,
                                 openvino.PartialShape([-1, self.problem.kv_heads, -1, self.problem.dim]))
        chosen = opset13.gather(read, beams, opset13.constant(numpy.int32(0)))
        grown = opset13.concat([chosen, fresh], 2)
        return grown, opset6.assign(grown, name)

    def repeated(self, keys):
        """Each head for its group of query heads, in the form that the plugin looks for."""
        group = self.problem.heads // self.problem.kv_heads
        shape, axis = opset13.shape_of(keys), opset13.constant(numpy.int32(0))
        before, after = (opset13.gather(shape, opset13.constant(numpy.array(places)), axis)
                         for places in ([0, 1], [2, 3]))
        extents = opset13.concat([before, opset13.constant(numpy.array([group])), after], 0)
        spread = opset13.broadcast(opset13.unsqueeze(keys, opset13.constant(numpy.int32(2))), extents,
                                   broadcast_spec="BIDIRECTIONAL")
        together = opset13.constant(numpy.array([0, self.problem.heads, -1, self.problem.dim]))
        return opset13.reshape(spread, together, True)

    def fill(self):
        for state in self.request.query_state():
            state.state = tensor_of(self.caches[state.name], TYPES[self.problem.type])
        self.runs = 0

    def rewind(self):
        """Resets the state if it has grown by more than a hundredth, and runs once: that moves it to where it can
        grow."""
        if self.runs > self.problem.keys // 100:
            self.fill()
            self.run()

    def run(self):
        self.request.infer(share_outputs=True)
        self.runs += 1

    def output(self):
        return numbers_of(self.request.get_output_tensor(0)).reshape(self.problem.q_shape)


def plain(problem, q, k, v, threads):
    return Solver([(q, k, v)], problem.rule == problems.CAUSAL, problem.type, threads, problem.q_shape)


def repeated(problem, q, k, v, threads):
    """Grouped heads with K and V repeated beforehand, which is not timed."""
    k, v = (numpy.repeat(tensor, problem.heads // problem.kv_heads, axis=1) for tensor in (k, v))
    return plain(problem, q, k, v, threads)


def group_as_rows(problem, q, k, v, threads):
    """One row: the query heads of a kv head are rows of one head."""
    q = q.reshape(problem.batch, problem.kv_heads, problem.heads // problem.kv_heads, problem.dim)
    return Solver([(q, k, v)], False, problem.type, threads, problem.q_shape)


def entries(problem, q, k, v, threads):
    """Packed: one call for each sequence."""
    parts = [tuple(t[:, :, first:end] for t in (q, k, v)) for first, end in problem.spans]
    return Solver(parts, False, problem.type, threads, problem.q_shape)


def options(way, problem):
    if problem.rule in (problems.WINDOW, problems.CHUNKS):
        return {}
    if problem.lengths:
        return {"one call a sequence": entries}
    if problem.heads == problem.kv_heads:
        return {"plain": plain}
    if problem.rows == 1:
        return {"keys as state": Decoder, "group as rows": group_as_rows}
    return {"heads repeated before": repeated}
