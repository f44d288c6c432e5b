/* The mode int8 on AMX: operands, scores and values in headers of their own, weights by the code of all sets. */
#include "../targets.h"
#if defined(FOVEA_ARCH_X86_64_AMX) && FOVEA_BUILDS_INT8
#include "amx.h"

#include "int8_layer.h"

#include "int8_operands.h"

#include "../shared/int8_softmax.h"
#include "int8_scores.h"
#include "int8_stored.h"
#include "int8_values.h"

const fovea_arithmetic fovea_int8_amx = {
    .name = "AMX",
    .scales_rows = 1,
    .begin = amx_begin,
    .end = amx_end,
    .sizes = amx_sizes,
    .load_queries = amx_load_queries,
    .load_keys = amx_load_keys,
    .load_values = amx_load_values,
    .make_codes = FOVEA_SHARED(int8_make_codes),
    .logs = int8_logs,
    .score = amx_score,
    .softmax = int8_softmax,
    .value = amx_value,
};
#endif
