/* The mode bf16 on AMX: operands, scores, weights and values in headers of their own. */
#include "../targets.h"
#if defined(FOVEA_ARCH_X86_64_AMX) && FOVEA_BUILDS_BF16
#define FOVEA_ISA  amx
#define FOVEA_BASE avx512
#define FOVEA_TARGET                                                                                               \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx512bf16,avx2,fma,f16c,amx-tile,amx-bf16,amx-"       \
                        "int8")))
#include "../avx512/tiles.h"
#include "../avx512/vector.h"
#include "amx.h"

#include "operands.h"
#include "weights.h"

#include "scores.h"
#include "values.h"

FOVEA_KERNEL static void amx_begin(void) {
  tiles_begin();
}

FOVEA_KERNEL static void amx_end(void) {
  _tile_release();
}

const fovea_arithmetic fovea_bf16_amx = {
    .name = "AMX",
    .has_factor = 1,
    .begin = amx_begin,
    .end = amx_end,
    .sizes = amx_sizes,
    .load_queries = amx_load_queries,
    .load_keys = amx_load_keys,
    .load_values = amx_load_values,
    .score = amx_score,
    .softmax = amx_softmax,
    .weight = amx_weight,
    .value = amx_value,
};
#endif
