/* Streams: encoders whose rows come in chunks. */
#ifndef FOVEA_PYTHON_STREAM_H
#define FOVEA_PYTHON_STREAM_H

#include "block.h"

#include <fovea/stream.h>

namespace fovea_python {

/* One stream, with its memory. It keeps its blocks. */
class stream {
public:
  stream(nb::handle blocks, int64_t chunk, nb::handle sink, nb::kwargs keywords);

  nb::object push(nb::handle x, int threads);
  nb::object finish(int threads);
  void reset();
  int64_t pending() const { return fovea_nn_stream_pending(stream_); }
  size_t bytes() const { return bytes_; }

  fovea_nn_stream *described() const { return stream_; }
  int64_t dim() const { return dim_; }
  const char *isa() const { return isa_; }
  std::atomic_flag &busy() { return busy_; }

private:
  std::vector<nb::object> kept_;
  aligned_memory memory_, sink_;
  fovea_nn_stream *stream_;
  int64_t dim_;
  const char *isa_;
  size_t bytes_ = 0;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

void bind_stream(nb::module_ &module);

} // namespace fovea_python

#endif
