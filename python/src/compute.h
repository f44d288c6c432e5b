/* How the library is called. */
#ifndef FOVEA_PYTHON_COMPUTE_H
#define FOVEA_PYTHON_COMPUTE_H

#include "errors.h"

#include <atomic>

namespace fovea_python {

/* Calls the library without the GIL, and throws what it refuses. `call` takes the error. */
template <class function> void compute(function call) {
  fovea_error error;
  fovea_status status;
  {
    nb::gil_scoped_release others_run;
    status = call(&error);
  }
  check(status, error);
}

/* How a call runs that can only be told its number of threads. */
struct row_execution : fovea_execution {
  explicit row_execution(int threads) {
    fovea_execution_init(this);
    this->threads = threads;
  }
};

/* Only one thread may use an object at a time that calls change. */
class turn {
public:
  turn(std::atomic_flag &busy, const char *name) : busy_(busy) {
    if (busy.test_and_set())
      refuse(name, "%s is used by another thread, and only one at a time may change it", name);
  }
  turn(const turn &) = delete;
  turn &operator=(const turn &) = delete;
  ~turn() { busy_.clear(); }

private:
  std::atomic_flag &busy_;
};

} // namespace fovea_python

#endif
