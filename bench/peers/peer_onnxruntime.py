"""ONNX Runtime: a model of one operator, with inputs and outputs bound to existing memory."""

import numpy
import onnxruntime
from onnx import TensorProto, helper

import problems

VERSION = onnxruntime.__version__
WAYS = ("MultiHeadAttention", "GroupQueryAttention", "Attention")
TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
MICROSOFT = "com.microsoft"


def values(array, element=None):
    """An OrtValue that holds a contiguous copy."""
    array = numpy.ascontiguousarray(array)
    if element == TensorProto.BFLOAT16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, element)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


class Operator:
    """One node as a session. Tensors are a list of (name, OrtValue), with "" for inputs left out. If calls have
    different rows, the shapes of the first call make the model, with `rows_axis` free."""

    def __init__(self, kind, domain, attributes, calls, threads, rows_axis=None):
        def described(tensors):
            return [helper.make_tensor_value_info(name, value.element_type(), self.shape(value, rows_axis))
                    for name, value in tensors if name]

        inputs, outputs = calls[0]
        node = helper.make_node(kind, [name for name, _ in inputs], [name for name, _ in outputs], domain=domain,
                                **attributes)
        graph = helper.make_graph([node], "attention", described(inputs), described(outputs))
        opsets = [helper.make_opsetid("", 23), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.inter_op_num_threads = threads, 1
        settings.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), settings, ["CPUExecutionProvider"])
        self.outputs = [outputs[0][1] for _, outputs in calls]
        self.bindings = [self.bound(*call) for call in calls]

    @staticmethod
    def shape(value, rows_axis):
        return ["rows" if axis == rows_axis else extent for axis, extent in enumerate(value.shape())]

    def bound(self, inputs, outputs):
        binding = self.session.io_binding()
        for name, value in inputs:
            if name:
                binding.bind_ortvalue_input(name, value)
        for name, value in outputs:
            binding.bind_ortvalue_output(name, value)
        return binding

    def run(self):
        for binding in self.bindings:
            self.session.run_with_iobinding(binding)


class Solver:
    """An operator, and how the outputs of its calls become one array."""

    def __init__(self, operator, gather):
        self.run, self.operator, self.gather = operator.run, operator, gather

    def output(self):
        return self.gather([problems.widened(output.numpy()) for output in self.operator.outputs])


def flat(tensor):
    """(batch, heads, rows, dim) as (batch, rows, heads * dim)."""
    batch, heads, rows, dim = tensor.shape
    return tensor.transpose(0, 2, 1, 3).reshape(batch, rows, heads * dim)


def unflat(array, shape):
    batch, heads, rows, dim = shape
    return array.reshape(batch, rows, heads, dim).transpose(0, 2, 1, 3)


def multi_head(parts, causal, element, threads):
    """One operator with a call for each (q, k, v)."""
    calls = []
    for part in parts:
        inputs = [(name, values(flat(tensor), element)) for name, tensor in zip(("q", "k", "v"), part)]
        calls.append((inputs, [("o", values(numpy.zeros_like(flat(part[0])), element))]))
    attributes = {"num_heads": parts[0][0].shape[1], "unidirectional": int(causal)}
    return Operator("MultiHeadAttention", MICROSOFT, attributes, calls, threads, 1 if len(parts) > 1 else None)


def multi_head_solver(problem, q, k, v, threads):
    operator = multi_head([(q, k, v)], problem.rule == problems.CAUSAL, TYPES[problem.type], threads)
    return Solver(operator, lambda arrays: unflat(arrays[0], problem.q_shape))


def multi_head_group_as_rows(problem, q, k, v, threads):
    """One row: the query heads of a kv head are rows of one head."""
    shape = (problem.batch, problem.kv_heads, problem.heads // problem.kv_heads, problem.dim)
    operator = multi_head([(q.reshape(shape), k, v)], False, TYPES[problem.type], threads)
    return Solver(operator, lambda arrays: unflat(arrays[0], shape).reshape(problem.q_shape))


def multi_head_entries(problem, q, k, v, threads):
    """Packed: one call for each sequence."""
    parts = [tuple(t[:, :, first:end] for t in (q, k, v)) for first, end in problem.spans]
    operator = multi_head(parts, False, TYPES[problem.type], threads)

    def gather(arrays):
        return numpy.concatenate([unflat(array, (1, problem.heads, length, problem.dim))
                                  for array, length in zip(arrays, problem.lengths)], axis=2)

    return Solver(operator, gather)


def group_query(problem, q, k, v, threads):
    """Always causal. With one row it decodes: the cache holds the earlier keys, and grows in place by the last key."""
    element, decodes = TYPES[problem.type], problem.rows == 1
    attributes = {"num_heads": problem.heads, "kv_num_heads": problem.kv_heads}
    if problem.rule == problems.WINDOW:
        attributes["local_window_size"] = problem.left + 1
    fresh_k, fresh_v = (t[:, :, -1:] if decodes else t for t in (k, v))
    inputs = [(name, values(flat(t), element)) for name, t in (("q", q), ("k", fresh_k), ("v", fresh_v))]
    caches = [values(t, element) for t in (k, v)]
    inputs += [("past_k", caches[0]), ("past_v", caches[1])] if decodes else [("", None), ("", None)]
    inputs += [("last_keys", values(numpy.full(problem.batch, problem.keys - 1, dtype=numpy.int32))),
               ("total", values(numpy.array([problem.keys], dtype=numpy.int32)))]
    output = numpy.zeros((problem.batch, problem.rows, problem.heads * problem.dim), dtype=q.dtype)
    outputs = [("o", values(output, element)), ("present_k", caches[0]), ("present_v", caches[1])]
    operator = Operator("GroupQueryAttention", MICROSOFT, attributes, [(inputs, outputs)], threads)
    return Solver(operator, lambda arrays: unflat(arrays[0], problem.q_shape))


def attention(problem, q, k, v, threads):
    element = TYPES[problem.type]
    inputs = [(name, values(tensor, element)) for name, tensor in zip(("q", "k", "v"), (q, k, v))]
    outputs = [("o", values(numpy.zeros(q.shape, dtype=q.dtype), element))]
    attributes = {"is_causal": int(problem.rule == problems.CAUSAL)}
    operator = Operator("Attention", "", attributes, [(inputs, outputs)], threads)
    return Solver(operator, lambda arrays: arrays[0].reshape(problem.q_shape))


def attention_group_as_rows(problem, q, k, v, threads):
    grouped = (problem.batch, problem.kv_heads, problem.heads // problem.kv_heads, problem.dim)
    return attention(problem, q.reshape(grouped), k, v, threads)


def options(way, problem):
    grouped, decodes = problem.heads != problem.kv_heads, problem.rows == 1
    if way == "GroupQueryAttention":
        offered = problem.rule in (problems.CAUSAL, problems.WINDOW) or decodes
        return {"cache in place" if decodes else "no cache": group_query} if offered else {}
    if problem.rule in (problems.WINDOW, problems.CHUNKS):
        return {}
    if way == "Attention":
        found = {} if problem.lengths else {"plain": attention}
        return found | ({"group as rows": attention_group_as_rows} if grouped and decodes else {})
    if problem.lengths:
        return {"one call a sequence": multi_head_entries}
    if not grouped:
        return {"plain": multi_head_solver}
    return {"group as rows": multi_head_group_as_rows} if decodes else {}  # it knows no groups
