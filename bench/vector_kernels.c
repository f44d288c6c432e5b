/* vector_set.c has the loops. */
#include "vector_kernels.h"

#include "arch/registry.h"

#include <fovea/fovea.h>
#include <string.h>

#define DECLARE(name, architecture, needs, prefers, type, lacks)                                                   \
  FOVEA_GENERAL_##type(extern const vector_kernels vector_kernels_##name;)
#define KERNELS(name, architecture, needs, prefers, type, lacks)                                                   \
  FOVEA_GENERAL_##type(FOVEA_FOR_##architecture(&vector_kernels_##name, ))
FOVEA_INSTRUCTION_SETS(DECLARE)

static const vector_kernels *const all_kernels[] = {FOVEA_INSTRUCTION_SETS(KERNELS)};

enum { kernels_count = sizeof all_kernels / sizeof all_kernels[0] };

const vector_kernels *vector_kernels_named(const char *isa) {
  for (int i = 0; i < kernels_count; i++)
    if (strcmp(all_kernels[i]->isa, isa) == 0) return all_kernels[i];
  return NULL;
}

const vector_kernels *vector_kernels_best(void) {
  fovea_library_info info;
  fovea_library_info_init(&info);
  return fovea_info(&info) == FOVEA_OK ? vector_kernels_named(info.isa) : NULL;
}
