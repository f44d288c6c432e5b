#include "stream.h"

#include <list>

namespace fovea_python {

namespace {

/* Zero for all heads, or float32 (layers, heads). */
const float *set_sink(fovea_problem &problem, aligned_memory &to, nb::handle given, int64_t layers) {
  if (given.is_none()) return nullptr;
  if (is_single(given)) {
    double sink = number_of(given, "sink");
    if (sink != 0) refuse("sink", "sink is %g; a single number can only be 0, else give (layers, heads)", sink);
    problem.sink = FOVEA_SINK_ZERO;
    return nullptr;
  }
  problem.sink = FOVEA_SINK_PER_HEAD;
  const int64_t shape[] = {layers, problem.heads};
  return copy_floats(to, given, "sink", shape, 2);
}

} // namespace

stream::stream(nb::handle blocks, int64_t chunk, nb::handle sink, nb::kwargs keywords) {
  if (!PyTuple_Check(blocks.ptr()) && !PyList_Check(blocks.ptr()))
    refuse_type("blocks", blocks, "a list of blocks");
  std::vector<const fovea_nn_block *> layers;
  const block *first = nullptr;
  for (nb::handle each : nb::borrow<nb::sequence>(blocks)) {
    const block *found = part_of_layer<block>(each, "blocks", "a list of fovea.nn.Block", kept_, true);
    if (!first) first = found;
    layers.push_back(&found->layer());
  }
  if (!first) refuse("blocks", "blocks is empty; it must have at least one");
  kept_.push_back(keywords); /* the name of the instruction set */
  attention_call call;
  given_options given(keywords, in_stream);
  given.set(call, true);
  call.problem.q_len = call.problem.kv_len = 0;
  first->attention().heads().set(call.problem);
  given.set(call, false);
  fovea_nn_streaming streaming;
  fovea_nn_streaming_init(&streaming, static_cast<int64_t>(layers.size()), layers.data(), &call.problem, chunk);
  streaming.sink = set_sink(call.problem, sink_, sink, streaming.layers);
  dim_ = first->dim();
  isa_ = call.execution.isa;
  fovea_error error;
  check(fovea_nn_stream_size(&streaming, &bytes_, &error), error);
  void *memory = memory_.reserve(bytes_);
  check(fovea_nn_stream_create_in(&streaming, memory, bytes_, &stream_, &error), error);
}

namespace {

static_assert(FOVEA_SCRATCH_ALIGNMENT <= 64, "aligned_memory is for streams, too");

/* Frames of one stream, and where its rows go. */
struct frames {
  tensor x, y;
  nb::object rows;
  int64_t count = 0;

  void read(const stream &to, nb::handle given, const char *name, bool ends) {
    read_floats(x, given, name, to.dim());
    if (x.axes != 2)
      refuse(name, "%s has the shape %s; it must be (frames, %jd)", name, shape_text(x).text, (intmax_t)to.dim());
    count = x.shape[0];
    make(to, given,
         ends ? count + fovea_nn_stream_pending(to.described()) : fovea_nn_stream_rows(to.described(), count));
  }

  void make(const stream &to, nb::handle like, int64_t length) {
    const int64_t shape[] = {length, to.dim()};
    rows = make_tensor(like, element::f32, shape, 2);
    y.write(rows, "out");
  }
};

struct stream_execution : row_execution {
  stream_execution(const stream &of, int threads) : row_execution(threads) { isa = of.isa(); }
};

} // namespace

nb::object stream::push(nb::handle x, int threads) {
  turn turn(busy_, "self");
  frames given;
  given.read(*this, x, "x", false);
  stream_execution execution(*this, threads);
  int64_t written;
  compute([&](fovea_error *error) {
    return fovea_nn_stream_push(stream_, given.count, static_cast<const float *>(given.x.data),
                                static_cast<float *>(given.y.data), &written, &execution, error);
  });
  return given.rows;
}

nb::object stream::finish(int threads) {
  turn turn(busy_, "self");
  frames given;
  given.make(*this, nb::none(), pending());
  stream_execution execution(*this, threads);
  int64_t written;
  compute([&](fovea_error *error) {
    return fovea_nn_stream_finish(stream_, static_cast<float *>(given.y.data), &written, &execution, error);
  });
  return given.rows;
}

void stream::reset() {
  turn turn(busy_, "self");
  fovea_nn_stream_reset(stream_);
}

namespace {

/* A part of a list that has one for each stream. */
nb::object part_for(nb::handle list, const char *name, int streams, int index) {
  if (!PyTuple_Check(list.ptr()) && !PyList_Check(list.ptr()))
    refuse_type(name, list, "a list, one for each stream");
  return part_of(list, name, streams, index);
}

nb::list push_streams(nb::handle given, nb::handle x, nb::handle ends, int threads) {
  if (!PyTuple_Check(given.ptr()) && !PyList_Check(given.ptr())) refuse_type("streams", given, "a list of streams");
  const int count = static_cast<int>(PySequence_Size(given.ptr()));
  std::vector<nb::object> kept;
  std::list<turn> turns;
  std::list<frames> all;
  std::vector<fovea_nn_stream *> streams;
  std::vector<int64_t> rows, written(static_cast<size_t>(count));
  std::vector<const float *> inputs;
  std::vector<float *> outputs;
  std::vector<int> last;
  const char *isa = nullptr;
  for (int i = 0; i < count; i++) {
    nb::object each = part_for(given, "streams", count, i);
    if (!nb::isinstance<stream>(each)) refuse_type("streams", each, "a fovea.nn.Stream");
    stream &of = nb::cast<stream &>(each);
    kept.push_back(each);
    turns.emplace_back(of.busy(), "streams"); /* also refuses a stream that is given twice */
    last.push_back(!ends.is_none() && flag_of(part_for(ends, "ends", count, i), "ends"));
    kept.push_back(part_for(x, "x", count, i));
    all.emplace_back();
    all.back().read(of, kept.back(), "x", last.back());
    streams.push_back(of.described());
    rows.push_back(all.back().count);
    inputs.push_back(static_cast<const float *>(all.back().x.data));
    outputs.push_back(static_cast<float *>(all.back().y.data));
    isa = of.isa() ? of.isa() : isa;
  }
  row_execution execution(threads);
  execution.isa = isa;
  compute([&](fovea_error *error) {
    return fovea_nn_streams_push(streams.data(), count, rows.data(), inputs.data(), outputs.data(), last.data(),
                                 written.data(), &execution, error);
  });
  nb::list results;
  for (const frames &each : all) results.append(each.rows);
  return results;
}

} // namespace

void bind_stream(nb::module_ &module) {
  std::string signature =
      signature_of("__init__(self, blocks: Sequence[Block], chunk: int = 16, sink: Tensor | float | "
                   "None = None",
                   "None", in_stream);
  std::string text =
      "Encoder blocks over frames that come a few at a time, as in speech: rows see frames before and "
      "after them, by\n"
      "a window, chunks (WeNet, Zipformer, Emformer) or both, which must end what a row sees on each "
      "side. Rows\n"
      "have the bits that the same blocks give over the whole utterance, however frames are cut, and "
      "come out\n"
      "with the last frame that they see. Only one thread may use a stream at a time.\n"
      "\n"
      "    chunk: the most frames that are computed at once, which changes no bit\n"
      "    sink: float32 (blocks, heads), or 0.0 for all heads\n" +
      text_of_options(in_stream);
  nb::class_<stream>(module, "Stream", text.c_str())
      .def(nb::init<nb::handle, int64_t, nb::handle, nb::kwargs>(), nb::arg("blocks"), nb::arg("chunk") = 16,
           nb::arg("sink") = nb::none(), nb::arg("keywords"), nb::sig(signature.c_str()))
      .def("push", &stream::push, nb::arg("x"), nb::kw_only(), nb::arg("threads") = 0,
           nb::sig("def push(self, x: Tensor, *, threads: int = 0) -> Tensor"),
           "Takes the next frames, float32 (frames, dim), and returns the rows whose frames are all there, (rows, "
           "dim).")
      .def("finish", &stream::finish, nb::kw_only(), nb::arg("threads") = 0,
           nb::sig("def finish(self, *, threads: int = 0) -> Tensor"),
           "Ends the utterance and returns the rows that are left. The next frame begins a new one.")
      .def("reset", &stream::reset, "Drops the utterance: the next frame begins a new one.")
      .def_prop_ro("pending", &stream::pending, "frames that were taken, whose rows have not come out")
      .def_prop_ro("nbytes", &stream::bytes, "bytes of its memory, which no utterance makes grow");
  module.def(
      "push_streams", push_streams, nb::arg("streams"), nb::arg("x"), nb::kw_only(), nb::arg("ends") = nb::none(),
      nb::arg("threads") = 0,
      nb::sig("def push_streams(streams: Sequence[Stream], x: Sequence[Tensor], *, ends: Sequence[bool] | None "
              "= None, threads: int = 0) -> list[Tensor]"),
      "Pushes the next frames x[i], (frames, dim), of streams[i], all at once: each stream is computed by one\n"
      "thread, and has the bits of calls of its own. ends[i]: its utterance ends with these frames.");
}

} // namespace fovea_python
