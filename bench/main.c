#include "cases.h"
#include "harness.h"
#include "openblas.h"

int main(int argc, char **argv) {
  openblas_settle(argv);
  bench_register_all();
  return bench_run(argc, argv);
}
