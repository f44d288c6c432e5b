/* A call of fovea_nn that is made from bytes: its structs, sound or with nonsense in any field, and its tensors,
 * each in memory of exactly the size that the structs then state. */
#ifndef FOVEA_TESTS_FUZZ_NN_SCENE_H
#define FOVEA_TESTS_FUZZ_NN_SCENE_H

#include "bytes.h"
#include "region.h"
#include "wild.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>
#include <fovea/recurrent.h>
#include <fovea/terms.h>

enum { NN_TENSORS = 64, NN_LAYERS = 12, NN_NORMS = 3, NN_LISTS = 8 };

/* An attention with all that it takes. */
struct nn_attention {
  fovea_nn_attention attention;
  fovea_problem problem;
  fovea_nn_attention_tensors tensors;
  fovea_rotary rotary;
  fovea_position_term term;
  const float *terms[1]; /* its numbers */
};

struct nn_scene {
  struct bytes *bytes;
  int wild;      /* fields may hold nonsense */
  double work;   /* about so many multiplications */
  int cannot_be; /* it may be refused: a tensor would be too large, so its pointer is NULL */

  struct region regions[NN_TENSORS];
  int region_count;

  fovea_nn_linear layers[NN_LAYERS];
  int layer_count;
  fovea_nn_norm norms[NN_NORMS];
  fovea_nn_linear_rows linear_rows;
  fovea_nn_map map;
  fovea_nn_activation activation;
  fovea_nn_norm_rows norm_rows;
  fovea_nn_sinusoid_rows sinusoids;
  fovea_nn_embedding embedding;
  fovea_nn_embedding_rows embedding_rows;
  fovea_nn_dropout_rows dropout;
  struct nn_attention attentions[2];
  fovea_nn_block block;
  float *x, *y; /* of a block */
  fovea_nn_additive additive;
  fovea_nn_additive_tensors additive_tensors;
  fovea_nn_cell cell;
  fovea_nn_cell_rows cell_rows;
  int64_t bucket_numbers[5]; /* first, count, bidirectional, buckets, max_distance */
  int64_t *buckets;
  void *panels;
};

/* A kind of call. */
struct nn_kind {
  void (*make)(struct nn_scene *scene);
  fovea_status (*run)(struct nn_scene *scene, const fovea_execution *execution, fovea_error *error);
  /* Whether the structs, without pointers and strides, say something that has a meaning. */
  int (*has_meaning)(const struct nn_scene *scene);
  int names_isa; /* and an unknown one is refused */

  /* The bytes of scratch that the call of the last run() needs. NULL: it takes none, or other targets try it. */
  size_t (*scratch_size)(struct nn_scene *scene, int workers);
  int size_of_refused; /* it need not be 0 if the call is refused */
};
extern const struct nn_kind nn_kinds[];
extern const int nn_kind_count;

/* Of other files. */
extern const struct nn_kind nn_kind_attention, nn_kind_block, nn_kind_additive, nn_kind_gru, nn_kind_lstm,
    nn_kind_codes;

void nn_scene_destroy(struct nn_scene *scene);

/* A number from 0 to limit - 1, and 1 to limit. */
int64_t nn_below(struct nn_scene *scene, int64_t limit);
int64_t nn_size(struct nn_scene *scene, int64_t limit);
fovea_type nn_type(struct nn_scene *scene);

/* Changes fields, if the scene is wild. */
void nn_edit(struct nn_scene *scene, void *object, const struct field *fields, size_t count);

/* A stride, or what its default stands for. */
static inline int64_t nn_stride(int64_t given, int64_t contiguous) {
  return given == FOVEA_CONTIGUOUS ? contiguous : given;
}

/* Rows of elements; NULL, or now and then in a wild scene something worse, if they cannot be. */
void *nn_tensor(struct nn_scene *scene, int64_t rows, int64_t dim, int64_t stride, fovea_type type);
/* The same for (batch, heads, rows, dim). */
void *nn_tensor_of(struct nn_scene *scene, const int64_t extent[3], fovea_strides strides, int64_t dim, int bits);
/* Room for a list of int64 that a call writes. */
static inline int64_t *nn_longs(struct nn_scene *scene, int64_t count) {
  const int64_t extent[] = {1, 1, 1};
  const fovea_strides none = {0, 0, 0};
  return nn_tensor_of(scene, extent, none, count, 64);
}
/* (batch, heads, rows, dim) of elements of a type. */
void *nn_rows_of(struct nn_scene *scene, int64_t batch, int64_t heads, int64_t rows, int64_t dim,
                 fovea_strides strides, fovea_type type);
/* Strides of (heads, rows, dim) or (rows, heads, dim), with gaps, now and then with rows in descending order. */
fovea_strides nn_strides(struct nn_scene *scene, int64_t heads, int64_t rows, int64_t dim);
int nn_same_strides(fovea_strides a, fovea_strides b);
/* A list of `count` numbers of 64 bits below a limit. */
int64_t *nn_list(struct nn_scene *scene, int64_t count, int64_t limit);

/* A layer with its weights. */
fovea_nn_linear *nn_layer(struct nn_scene *scene, int64_t in, int64_t out);
fovea_nn_norm *nn_norm(struct nn_scene *scene, int index, int64_t dim);
int nn_layer_has_meaning(const fovea_nn_linear *layer);
int nn_norm_has_meaning(const fovea_nn_norm *norm);
int nn_is_type(fovea_type type);
/* Rules, masks and nonsense for a problem. */
void nn_choose_rules(struct nn_scene *scene, fovea_problem *problem);
void nn_edit_problem(struct nn_scene *scene, fovea_problem *problem);
/* Whether rows would lie before all keys by an offset that nobody set, and a rule depends on it: it is refused. */
int nn_loses_rows(const fovea_problem *problem);
/* A mask where the problem says that it lies, if that is memory that can be. */
/* The bits of a number of it. */
int nn_mask_bits(fovea_mask_type type);
const void *nn_mask(struct nn_scene *scene, const fovea_problem *problem);

/* A size_t, which has the bytes of one or the other. */
#define FIELD_SIZE (sizeof(size_t) == sizeof(int64_t) ? FIELD_LONG : FIELD_INTEGER)

#define NN_FIELD(type, name, kind)                                                                                 \
  { FIELD_##kind, offsetof(type, name) }
#define NN_EDIT(scene, object, fields) nn_edit(scene, object, fields, sizeof(fields) / sizeof *(fields))

#endif
