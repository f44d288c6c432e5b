/* Positions of the rows of batch elements. */
#ifndef FOVEA_NN_POSITIONS_H
#define FOVEA_NN_POSITIONS_H

#include <fovea/nn.h>

typedef struct fovea_nn_positions {
  int64_t batch, length;     /* rows of a batch element, if there is no list of lengths */
  const int32_t *cu_seqlens; /* of packed sequences; NULL: none */
  const int64_t *lengths;    /* of padded sequences; NULL: none */
  int64_t first;             /* of each batch element's row 0, if there is no list of them */
  const int64_t *firsts;     /* NULL: none */
  const int64_t *rotary;     /* what each row is rotated to, if not to its position; NULL: none */
  const char *rotary_name;   /* of this list in error texts; NULL: rotary_positions */
} fovea_nn_positions;

int64_t fovea_nn_length_of(const fovea_nn_positions *positions, int64_t entry);
int64_t fovea_nn_first_of(const fovea_nn_positions *positions, int64_t entry);

/* Checks that the positions of all rows are from `least` to `most`. `of` is whose limits these are. */
fovea_status fovea_nn_check_positions(const fovea_nn_positions *positions, int64_t least, int64_t most,
                                      const char *of, fovea_error *error);

/* Refuses positions that would not be used. `rotary` needs a rotary embedding. `first` is not used beside `firsts`;
 * a cache uses them, or a rotary embedding without a list. */
fovea_status fovea_nn_refuse_unused_positions(int64_t first, const int64_t *firsts, const int64_t *rotary,
                                              int has_rotary, int appends, fovea_error *error);

/* Checks a rotary embedding of heads of `dim`, and that it has the positions. Of a list, all rows of all batch
 * elements. */
fovea_status fovea_nn_check_rotary(const fovea_rotary *given, int64_t dim, const fovea_nn_positions *positions,
                                   fovea_error *error);

#endif
