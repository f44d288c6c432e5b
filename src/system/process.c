#include "process.h"

#include "cgroup.h"
#include "platform.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static fovea_process find_out(void) {
  fovea_process found;
  memset(&found, 0, sizeof found);
  found.features = fovea_cpu_features();
  found.id = fovea_platform_process();
  found.cpu_quota = fovea_cgroup_cpus(fovea_platform_read_text);
  fovea_cpu_name(found.cpu_name);
  const char *cap = getenv("FOVEA_ISA");
  if (cap) strncpy(found.isa_cap, cap, sizeof found.isa_cap - 1);
  return found;
}

const fovea_process *fovea_process_record(void) {
  enum { EMPTY, BEING_WRITTEN, READY };
  static fovea_process record;
  static atomic_int state = EMPTY;
  if (atomic_load_explicit(&state, memory_order_acquire) == READY) return &record;
  /* Every early thread finds out for itself, and one of them publishes. So no thread waits longer than the copy
   * takes. */
  fovea_process found = find_out();
  int expected = EMPTY;
  if (atomic_compare_exchange_strong(&state, &expected, BEING_WRITTEN)) {
    record = found;
    atomic_store_explicit(&state, READY, memory_order_release);
  }
  while (atomic_load_explicit(&state, memory_order_acquire) != READY) {
  }
  return &record;
}
