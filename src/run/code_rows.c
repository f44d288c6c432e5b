#include "code_rows.h"

#include "vectors.h"

#include <string.h>

#if FOVEA_BUILDS_INT8

/* Whether rows are stored less what is wanted. */
static int has_centre(const fovea_row_source *source, const float *stored) {
  const float *wanted = source->centre;
  return !stored || !wanted ? stored == wanted : memcmp(stored, wanted, (size_t)source->dim * sizeof *wanted) == 0;
}

/* Whether the rows of a run are read as they are. Values need a scale each: one that several share would let a sink
 * with a small value take the weights of all others (docs/numerics.md, section 16). */
static int run_has_codes(const fovea_row_source *source, const fovea_row_run *run) {
  return run->codes && run->codes->int8_rows > source->values && has_centre(source, run->coded.centre);
}

static int block_has_codes(const fovea_code_side *side, fovea_interval keys) {
  const int64_t base = side->base;
  int any = 0;
  for (int64_t position = base + keys.begin; position < base + keys.end && !any;) {
    const fovea_row_run run = fovea_rows_at(side->source, position);
    any = run_has_codes(side->source, &run);
    position = run.end;
  }
  return any;
}

/* NaN in place of a scale with which a code might stand for a number that f32 does not have. A negative scale of
 * values stays as it is: its row gets another. */
float fovea_stored_scale(const fovea_kernels *kernels, const void *at, fovea_type type, int values) {
  float wide[16]; /* a whole vector is written */
  uint16_t half;
  if (type == FOVEA_F32) {
    memcpy(wide, at, sizeof wide[0]);
  } else { /* scales beside codes lie anywhere */
    memcpy(&half, at, sizeof half);
    const fovea_widen_args args = {&half, type, 0, 1, 1, wide, 16};
    kernels->widen(&args);
  }
  if (values && wide[0] < 0.0f) return wide[0];
  return __builtin_fabsf(wide[0]) < 0x1p120f ? wide[0] : __builtin_nanf("");
}

/* The scales of a run's rows, from the block's key `begin` on. */
static void read_scales(const fovea_row_source *source, const fovea_row_run *run, int64_t begin, int64_t end,
                        float *scales) {
  const char *scale = run->coded.scales;
  for (int64_t key = begin; key < end; key++, scale += run->coded.scale_step)
    scales[key] = fovea_stored_scale(source->kernels, scale, run->codes->scale_type, source->values);
}

static inline void copy_items(const fovea_codes *codes, int64_t bytes, const char *from, int64_t dim, int8_t *to) {
  for (int64_t d = 0, item = 0; d < dim; d += bytes, item++)
    memcpy(to + d, from + item % 16 * codes->item_step + item / 16 * codes->chunk_step, (size_t)bytes);
}

/* The codes of a row, whose items may lie apart. Of words a copy is one instruction, not a call. */
static void copy_codes(const fovea_codes *codes, const char *from, int64_t dim, int8_t *to) {
  if (codes->item == 0)
    memcpy(to, from, (size_t)dim);
  else if (codes->item == 4)
    copy_items(codes, 4, from, dim, to);
  else
    copy_items(codes, codes->item, from, dim, to);
}

/* Where the codes of a block are gathered. */
typedef struct code_copy {
  int8_t *codes;
  int64_t stride;
  float *scales;
} code_copy;

/* Rows that are not stored as codes, or whose scale is negative, which has no logarithm. */
static void make_codes(const fovea_code_side *side, int64_t begin, int64_t end, const code_copy *to) {
  const int64_t dim = side->source->dim;
  fovea_widen_centred_rows(side->source, side->base, (fovea_interval){begin, end}, side->room);
  const fovea_operand_args args = {
      .rows = side->room,
      .stride = fovea_copied_stride(dim),
      .dim = dim,
      .first = (int)begin,
      .end = (int)end,
      .code_stride = to->stride,
  };
  side->arithmetic->make_codes(&args, to->codes, to->scales);
}

/* Whether all rows of a run can be read where they lie: their scales have been read. */
static int lies_well(int values, const fovea_row_run *run, const float *scales, fovea_interval keys) {
  if (run->codes->item != 0) return 0;
  for (int64_t key = keys.begin; values && key < keys.end; key++)
    if (scales[key] < 0.0f) return 0;
  return 1;
}

static void copy_run(const fovea_code_side *side, const fovea_row_run *run, int64_t begin, int64_t end,
                     const code_copy *to) {
  const char *from = run->coded.codes;
  for (int64_t key = begin; key < end; key++, from += run->coded.code_step) {
    if (side->source->values && to->scales[key] < 0.0f)
      make_codes(side, key, key + 1, to);
    else
      copy_codes(run->codes, from, side->source->dim, to->codes + key * to->stride);
  }
}

void fovea_gather_codes(const fovea_code_side *side, fovea_interval keys, int8_t *codes, float *scales) {
  const int64_t base = side->base;
  const code_copy copy = {codes, fovea_code_stride(side->source->dim), scales};
  for (int64_t key = keys.begin; key < keys.end;) {
    const fovea_row_run run = fovea_rows_at(side->source, base + key);
    const int64_t end = run.end - base < keys.end ? run.end - base : keys.end;
    if (run_has_codes(side->source, &run)) {
      read_scales(side->source, &run, key, end, scales);
      copy_run(side, &run, key, end, &copy);
    } else {
      make_codes(side, key, end, &copy);
    }
    key = end;
  }
}

int fovea_read_codes(const fovea_code_side *side, fovea_interval keys, int8_t *room, fovea_operand_args *args) {
  const fovea_row_source *source = side->source;
  const int64_t base = side->base, stride = fovea_code_stride(source->dim);
  float *scales = (float *)(void *)(room + FOVEA_BLOCK_KEYS * stride);
  if (!side->arithmetic->make_codes || !source->sequence || !block_has_codes(side, keys)) return 0;
  *args = (fovea_operand_args){.dim = source->dim,
                               .first = (int)keys.begin,
                               .end = (int)keys.end,
                               .codes = room,
                               .code_stride = stride,
                               .scales = scales};
  const fovea_row_run run = fovea_rows_at(source, base + keys.begin);
  if (run.end >= base + keys.end && run_has_codes(source, &run)) {
    read_scales(source, &run, keys.begin, keys.end, scales);
    if (lies_well(source->values, &run, scales, keys)) {
      args->codes = (const int8_t *)run.coded.codes - keys.begin * run.coded.code_step;
      args->code_stride = run.coded.code_step;
      return 1;
    }
  }
  fovea_gather_codes(side, keys, room, scales);
  return 1;
}
#endif
