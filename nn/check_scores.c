/* Everything that scores and other outputs may be refused for. */
#include "../src/base/claim.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "scores.h"

#include <string.h>

static fovea_status check_wanted(const fovea_nn_attention_call *call, int wanted, fovea_error *error) {
  const int averaged = call->attention.average_scores;
  const fovea_bounded flag = {"average_scores", averaged, 0, 1};
  const fovea_status status = fovea_validate_bounds(NULL, &flag, 1, error);
  if (status || wanted || (!averaged && !call->tensors.scores)) return status;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "%s is set and would not be used: problem.scores.kind is FOVEA_SCORES_NONE",
                    averaged ? "average_scores" : "scores");
}

/* Averages are of all heads, rows and keys. */
static fovea_status check_part(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const char *part = NULL;
  if (!fovea_is_all(p->scores.heads)) part = "scores.heads";
  if (!fovea_is_all(p->scores.rows)) part = "scores.rows";
  if (!fovea_is_all(p->scores.keys)) part = "scores.keys";
  if (!part || !call->attention.average_scores) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "problem.%s is set and would not be used: average_scores is 1, and averages are of all "
                    "heads, rows and keys",
                    part);
}

/* An output that the problem wants, or that is there. The core refuses one that is there and not wanted. */
typedef struct candidate {
  int shape, wanted;
  const void *data;
} candidate;

static fovea_status check_output(const fovea_shape *shape, const candidate *candidate, fovea_nn_output *output,
                                 fovea_error *error) {
  *output = (fovea_nn_output){.data = NULL, .shape = *shape};
  if (!candidate->wanted) return FOVEA_OK;
  fovea_status status = fovea_validate_strides(&output->shape, 1, &output->reach, error);
  if (!status && (candidate->data || !fovea_is_optional(candidate->shape)))
    status = fovea_validate_pointer(&output->reach, candidate->data, error);
  if (!status && output->reach.begin < output->reach.end) output->data = candidate->data;
  return status;
}

fovea_status fovea_nn_check_outputs(fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const fovea_nn_attention_tensors *t = &call->tensors;
  const int averaged = call->attention.average_scores, wanted = p->scores.kind != FOVEA_SCORES_NONE;
  const candidate candidates[FOVEA_NN_OUTPUT_COUNT] = {
#define OUTPUT(NAME, PLACE, field, wanted, optional, layout) {FOVEA_SHAPE_##PLACE, wanted, t->field},
#include "../src/feature/list.inc"
  };
  fovea_shape shapes[FOVEA_SHAPES];
  fovea_status status = check_wanted(call, wanted, error);
  if (!status) status = check_part(call, error);
  if (status) return status;
  fovea_make_shapes(p, shapes);
  if (averaged) {
    const int64_t batch = p->cu_seqlens_q ? 1 : p->batch;
    shapes[FOVEA_SHAPE_SCORES] =
        fovea_make_shape("scores", batch, 1, p->q_len, call->score_keys, call->average_strides, 32);
    if (call->score_keys == 0) shapes[FOVEA_SHAPE_SCORES].extent[0] = 0;
  }
  for (int i = 0; i < FOVEA_NN_OUTPUT_COUNT && !status; i++)
    status = check_output(&shapes[candidates[i].shape], &candidates[i], &call->outputs[i], error);
  return status;
}

int fovea_nn_has_outputs(const fovea_nn_output *outputs) {
  for (int i = 0; i < FOVEA_NN_OUTPUT_COUNT; i++)
    if (outputs[i].data) return 1;
  return 0;
}

/* The scores of a batch element, or of all packed sequences. */
static fovea_claim claim_of_entry(const fovea_nn_output *scores, int64_t entry) {
  const fovea_shape *s = &scores->shape;
  return fovea_claim_rows(scores->data + entry * s->stride[0], s->bits, s->extent[1], s->stride[1], s->extent[2],
                          s->stride[2], s->dim);
}

static int in_range(const fovea_nn_output *scores, uintptr_t begin, uintptr_t end) {
  return begin < (uintptr_t)scores->data + (uintptr_t)scores->reach.end &&
         (uintptr_t)scores->data + (uintptr_t)scores->reach.begin < end;
}

static int overlaps(const fovea_nn_output *scores, const fovea_claim *claim) {
  if (!in_range(scores, claim->begin, claim->end)) return 0;
  for (int64_t b = 0; b < scores->shape.extent[0]; b++) {
    const fovea_claim entry = claim_of_entry(scores, b);
    if (fovea_claims_overlap(&entry, claim)) return 1;
  }
  return 0;
}

static fovea_status check_apart(const fovea_nn_output *output, const fovea_nn_matrix *others, int count,
                                fovea_error *error) {
  for (int i = 0; i < count && output->data; i++) {
    if (!others[i].data || others[i].rows == 0 || others[i].dim == 0) continue;
    const fovea_claim claim = fovea_nn_claim_of(&others[i]);
    if (!overlaps(output, &claim)) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s shares memory with %s", output->shape.name, others[i].name);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_check_outputs_apart(const fovea_nn_output *outputs, const fovea_nn_matrix *others, int count,
                                          fovea_error *error) {
  fovea_status status = FOVEA_OK;
  for (int i = 0; i < FOVEA_NN_OUTPUT_COUNT && !status; i++)
    status = check_apart(&outputs[i], others, count, error);
  return status;
}

static int outputs_overlap(const fovea_nn_output *a, const fovea_nn_output *b) {
  if (!a->data || !b->data) return 0;
  const uintptr_t begin = (uintptr_t)b->data + (uintptr_t)b->reach.begin;
  if (!in_range(a, begin, begin + (uintptr_t)fovea_nn_score_span(b))) return 0;
  for (int64_t entry = 0; entry < b->shape.extent[0]; entry++) {
    const fovea_claim claim = claim_of_entry(b, entry);
    if (overlaps(a, &claim)) return 1;
  }
  return 0;
}

fovea_status fovea_nn_check_averages(const fovea_nn_attention_call *call, fovea_error *error) {
  const fovea_nn_output *scores = &call->outputs[FOVEA_NN_OUTPUT_SCORES];
  fovea_shape shapes[FOVEA_SHAPES];
  fovea_reach reach;
  if (!scores->data || !call->attention.average_scores) return FOVEA_OK;
  for (int i = 0; i < FOVEA_NN_OUTPUT_COUNT; i++) {
    if (i == FOVEA_NN_OUTPUT_SCORES || !outputs_overlap(scores, &call->outputs[i])) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scores shares memory with %s", call->outputs[i].shape.name);
  }
  if (!call->tensors.mask) return FOVEA_OK;
  fovea_make_shapes(&call->problem, shapes);
  const fovea_status status = fovea_validate_strides(&shapes[FOVEA_SHAPE_MASK], 0, &reach, error);
  if (status) return status;
  return fovea_validate_apart(&scores->reach, scores->data, &reach, call->tensors.mask, error);
}

fovea_status fovea_nn_check_self_and_cross(const fovea_nn_output *self, const fovea_nn_output *cross,
                                           fovea_error *error) {
  for (int i = 0; i < FOVEA_NN_OUTPUT_COUNT; i++) {
    for (int j = 0; j < FOVEA_NN_OUTPUT_COUNT; j++) {
      if (!outputs_overlap(&self[i], &cross[j])) continue;
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "self.tensors.%s shares memory with cross.tensors.%s",
                        self[i].shape.name, cross[j].shape.name);
    }
  }
  return FOVEA_OK;
}

/* Whether the scores of `count` layers, `layer` elements apart, share no memory, judged by nested axes as strides
 * are. */
static int layers_are_apart(const fovea_nn_output *scores, int64_t count, int64_t layer) {
  const fovea_shape *s = &scores->shape;
  int64_t extents[] = {s->extent[0], s->extent[1], s->extent[2], count}, least = s->dim;
  int64_t steps[] = {s->stride[0], s->stride[1], s->stride[2], layer};
  for (int i = 0; i < 4; i++) steps[i] = steps[i] < 0 ? -steps[i] : steps[i];
  for (int done = 0; done < 4; done++) { /* the axis with the next smallest step */
    int next = -1;
    for (int i = 0; i < 4; i++)
      if (extents[i] > 1 && (next < 0 || steps[i] < steps[next])) next = i;
    if (next < 0) return 1;
    if (steps[next] < least) return 0;
    least += steps[next] * (extents[next] - 1);
    extents[next] = 1;
  }
  return 1;
}

void fovea_nn_add_scores(fovea_nn_layer_scores *all, const fovea_nn_output *scores, int64_t i) {
  const fovea_shape *a = &all->first.shape, *b = &scores->shape;
  if (i == 0) all->first = *scores;
  if (!scores->data) return;
  if (scores->reach.begin < all->begin) all->begin = scores->reach.begin;
  if (scores->reach.end > all->end) all->end = scores->reach.end;
  if (!all->first.data || a->dim != b->dim || memcmp(a->extent, b->extent, sizeof a->extent) != 0 ||
      memcmp(a->stride, b->stride, sizeof a->stride) != 0)
    all->mixed = 1;
}

static fovea_status check_layers_apart(const fovea_nn_layer_scores *all, int64_t count, fovea_error *error) {
  const int64_t size = (all->end - all->begin) / (int64_t)sizeof(float);
  if (size == 0 || count == 1) return FOVEA_OK;
  if (all->mixed ? (all->layer < 0 ? -all->layer : all->layer) >= size
                 : layers_are_apart(&all->first, count, all->layer))
    return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd; the scores of %jd layers must lie apart", all->name,
                    all->layer, count);
}

/* The scores of all layers as rows, with all that lies between the scores of one layer. */
static fovea_nn_matrix rows_of(const fovea_nn_layer_scores *all, int64_t count) {
  const int64_t step = sizeof(float), size = (all->end - all->begin) / step;
  return (fovea_nn_matrix){all->name, size > 0 ? all->data + all->begin / step : NULL, FOVEA_F32, count, size,
                           all->layer};
}

static int kinds_overlap(const fovea_nn_layer_scores *self, const fovea_nn_layer_scores *cross, int64_t count) {
  if (self->mixed || cross->mixed) return 1;
  for (int64_t i = 0; i < count; i++) {
    for (int64_t j = 0; j < count; j++) {
      fovea_nn_output a = self->first, b = cross->first;
      a.data += i * self->layer;
      b.data += j * cross->layer;
      if (outputs_overlap(&a, &b)) return 1;
    }
  }
  return 0;
}

fovea_status fovea_nn_check_layer_scores(const fovea_nn_layer_scores all[2], int64_t count, fovea_error *error) {
  fovea_status status = check_layers_apart(&all[0], count, error);
  if (!status) status = check_layers_apart(&all[1], count, error);
  if (status) return status;
  const fovea_nn_matrix self = rows_of(&all[0], count), cross = rows_of(&all[1], count);
  if (!self.data || !cross.data || fovea_nn_check_apart(&self, &cross, NULL) == FOVEA_OK) return FOVEA_OK;
  if (!kinds_overlap(&all[0], &all[1], count)) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "self.tensors.scores shares memory with cross.tensors.scores");
}

fovea_nn_matrix fovea_nn_scratch_of(const void *scratch, size_t size) {
  const size_t most = (size_t)-1 / 64; /* bits of them fit in 64 */
  if (size > most) size = most;
  return (fovea_nn_matrix){"scratch", scratch, FOVEA_F32, 1, (int64_t)(size / sizeof(float)), 0};
}
