/* Quantised weights of every format, drawn at random, with all that belongs to them: the bytes, what they become when they
 * are packed, and their numbers by contract_codes.c. */
#ifndef FOVEA_TESTS_NN_DRAWN_CODES_H
#define FOVEA_TESTS_NN_DRAWN_CODES_H

#include "support/generator.h"
#include "support/guarded.h"

#include <fovea/weights.h>

enum { FORMATS = FOVEA_NN_FORMAT_E4M3 + 1 };

/* Sizes of a layer, and of what shares a scale, if the format leaves that to the caller. */
struct coded_size {
  int64_t in, out, group, group_outs;
};

/* Memory lies between guard pages; `packed` is read-only. */
struct drawn_codes {
  fovea_nn_codes codes;
  struct guarded data, scales, zeros, g_idx, packed;
  float *numbers; /* [out][in] */
};

/* `special`: numbers may be zero, subnormal, infinite or NaN. */
struct drawn_codes drawn_codes_create(fovea_nn_format format, struct coded_size size, int special,
                                      struct generator *generator);
void drawn_codes_destroy(struct drawn_codes *coded);

/* Packs the codes into new memory; the caller keeps what `packed` was, and destroys it. */
void drawn_codes_pack(struct drawn_codes *coded, int threads);

/* Sizes that no piece, panel or group of panels divides, if the format allows it. Returns how many there are. */
int coded_sizes_of(fovea_nn_format format, struct coded_size sizes[6]);

#endif
