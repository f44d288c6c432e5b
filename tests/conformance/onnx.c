/* ONNX's operators Attention (versions 23 to 25) and FlexAttention as calls into the library. */
#include "call.h"

#include <math.h>
#include <string.h>

/* Q, K or V: (batch, heads, rows, dim), or (batch, rows, heads * dim) with the number of heads as an attribute. */
struct operand {
  const struct array *array;
  int64_t batch, heads, rows, dim;
  fovea_strides strides;
};

static struct operand operand_of(const struct array *array, int64_t heads) {
  const int64_t *shape = array->shape;
  struct operand operand = {array,    shape[0], shape[1],
                            shape[2], shape[3], {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3]}};
  if (array->rank == 3) {
    operand.heads = heads;
    operand.rows = shape[1];
    operand.dim = shape[2] / heads;
    operand.strides = fovea_strides_rows_before_heads(operand.rows, heads, operand.dim);
  }
  return operand;
}

static bool refuse_element(const struct array *array, struct call *call) {
  return CALL_REFUSED(call, "%s is not a type of the library", element_name(array->element));
}

static bool take_operand(const struct test_case *test, const char *name, const char *heads_attribute,
                         struct operand *operand, fovea_type *type, struct call *call) {
  const struct array *array = case_input(test, name);
  const int64_t heads = (int64_t)case_number(test, heads_attribute, 0);
  if (!array || (array->rank != 4 && (array->rank != 3 || heads < 1)))
    return CALL_REFUSED(call, "%s is missing", name);
  if (!library_type(array->element, type)) return refuse_element(array, call);
  *operand = operand_of(array, heads);
  return true;
}

/* Rows of K and V as one segment of a batch element's cache. */
static fovea_segment segment_of(const struct operand *k, const struct operand *v, int64_t batch, int64_t first) {
  const int64_t k_size = (int64_t)element_size(k->array->element),
                v_size = (int64_t)element_size(v->array->element);
  fovea_segment segment = {.first = first,
                           .rows = k->rows,
                           .k = (char *)k->array->data + batch * k->strides.batch * k_size,
                           .v = (char *)v->array->data + batch * v->strides.batch * v_size,
                           .k_head = k->strides.head,
                           .k_row = k->strides.row,
                           .v_head = v->strides.head,
                           .v_row = v->strides.row};
  library_type(k->array->element, &segment.k_type);
  library_type(v->array->element, &segment.v_type);
  return segment;
}

/* Makes a cache's segments of K and V, where they lie, after the past if there is one. */
static void take_segments(struct call *call, const struct operand k[2], const struct operand v[2], int past) {
  fovea_sequence *sequences = call_memory(call, k[1].batch, sizeof *sequences);
  fovea_segment *segments = call_memory(call, 2 * k[1].batch, sizeof *segments);
  for (int64_t batch = 0; batch < k[1].batch; batch++, segments += 2) {
    int count = 0;
    if (past && k[0].rows > 0) segments[count++] = segment_of(&k[0], &v[0], batch, 0);
    if (k[1].rows > 0) segments[count++] = segment_of(&k[1], &v[1], batch, past ? k[0].rows : 0);
    sequences[batch] = fovea_sequence_of(segments, count);
  }
  call->problem.cache.segmented = 1;
  call->tensors.cache.sequences = sequences;
  call->tensors.k = call->tensors.v = NULL;
}

/* A mask of any rank, broadcast to (batch, heads, rows, keys). If it has fewer keys, other keys are not visible. */
static bool take_mask(const struct array *mask, struct call *call) {
  fovea_problem *problem = &call->problem;
  int64_t lengths[4];
  for (int axis = 0; axis < 4; axis++)
    lengths[axis] = axis < 4 - mask->rank ? 1 : mask->shape[axis - (4 - mask->rank)];
  switch (mask->element) {
  case ELEMENT_BOOL:
    problem->mask.type = FOVEA_MASK_BOOL;
    break;
  case ELEMENT_F32:
    problem->mask.type = FOVEA_MASK_F32;
    break;
  case ELEMENT_F16:
    problem->mask.type = FOVEA_MASK_F16;
    break;
  case ELEMENT_BF16:
    problem->mask.type = FOVEA_MASK_BF16;
    break;
  default:
    return refuse_element(mask, call);
  }
  problem->mask.strides = fovea_mask_layout(problem->mask.type, lengths[0], lengths[1], lengths[2], lengths[3]);
  problem->mask.keys = lengths[3] == 1 ? problem->kv_len : lengths[3];
  call->tensors.mask = mask->data;
  return true;
}

/* Row i's own key is i, after the past if there is one. If the number of keys in use is given (nonpad_kv_seqlen),
 * the last row's own key is the last key in use, also if there are more rows. */
static void take_lengths(const struct test_case *test, const struct array *past, struct call *call) {
  const struct array *nonpad = case_input(test, "nonpad_kv_seqlen");
  fovea_problem *problem = &call->problem;
  if (!nonpad) {
    problem->offset = past ? past->shape[2] : 0;
    return;
  }
  int64_t *offsets = call_memory(call, problem->batch, sizeof *offsets);
  problem->kv_lens = nonpad->data;
  problem->offsets = offsets;
  for (int64_t b = 0; b < problem->batch; b++) offsets[b] = problem->kv_lens[b] - problem->q_len;
}

/* ONNX's modes 0 to 3. */
static void take_scores(const struct test_case *test, struct call *call) {
  static const fovea_score_output outputs[] = {FOVEA_SCORES_RAW, FOVEA_SCORES_CAPPED, FOVEA_SCORES_BIASED,
                                               FOVEA_SCORES_WEIGHTS};
  const int mode = (int)case_number(test, "qk_matmul_output_mode", 0);
  call->expected_scores = case_output(test, "qk_matmul_output");
  if (call->expected_scores && mode >= 0 && mode < 4) call->problem.scores.kind = outputs[mode];
}

static void note_what_is_left_out(const struct test_case *test, struct call *call) {
  if (case_has_attribute(test, "softmax_precision")) call_note(call, "softmax_precision not used");
}

static const char *const known_attributes[] = {
    "is_causal",         "kv_num_heads", "left_window_size", "q_num_heads", "qk_matmul_output_mode",
    "right_window_size", "scale",        "score_mod",        "softcap",     "softmax_precision"};

bool prepare_onnx_attention(const struct test_case *test, struct call *call) {
  struct operand q, keys[2], values[2]; /* the past, then K and V */
  struct operand *const k = &keys[1], *const v = &values[1];
  fovea_type q_type, k_type, v_type;
  if (!call_knows_attributes(call, test, known_attributes, sizeof known_attributes / sizeof known_attributes[0]) ||
      !take_operand(test, "Q", "q_num_heads", &q, &q_type, call) ||
      !take_operand(test, "K", "kv_num_heads", k, &k_type, call) ||
      !take_operand(test, "V", "kv_num_heads", v, &v_type, call))
    return false;
  const struct array *past_key = case_input(test, "past_key"), *past_value = case_input(test, "past_value");
  const int past = past_key && past_value;
  if (past) {
    keys[0] = operand_of(past_key, 1);
    values[0] = operand_of(past_value, 1);
  }

  fovea_problem *problem = &call->problem;
  fovea_problem_init(problem, q.batch, q.heads, k->heads, q.rows, k->rows + (past ? keys[0].rows : 0), q.dim,
                     v->dim);
  fovea_problem_resolve(problem, NULL);
  fovea_tensors_init(&call->tensors, q.array->data, k->array->data, v->array->data, NULL, NULL);
  problem->q_strides = q.strides;
  problem->k_strides = k->strides;
  problem->v_strides = v->strides;
  problem->q_type = q_type;
  problem->k_type = k_type;
  problem->v_type = v_type;
  call->expected = case_output(test, "Y");
  if (!call->expected) return CALL_REFUSED(call, "Y is missing");
  if (!library_type(call->expected->element, &problem->o_type)) return refuse_element(call->expected, call);
  if (call->expected->rank == 3) problem->o_strides = fovea_strides_rows_before_heads(q.rows, q.heads, v->dim);

  problem->scale = case_number(test, "scale", problem->scale);
  problem->softcap = case_number(test, "softcap", 0);
  problem->causal = case_number(test, "is_causal", 0) != 0;
  problem->window_left = (int64_t)case_number(test, "left_window_size", -1);
  problem->window_right = (int64_t)case_number(test, "right_window_size", -1);
  take_lengths(test, past_key, call);
  if (past || case_input(test, "nonpad_kv_seqlen")) {
    take_segments(call, keys, values, past);
    call_note(call, past ? "the past, and K and V after it, as segments" : "K and V as segments");
  }
  take_scores(test, call);
  note_what_is_left_out(test, call);
  const struct array *mask = case_input(test, "attn_mask");
  return !mask || take_mask(mask, call);
}

/* FlexAttention changes scores by a graph, of which case.txt gives the number of nodes only. The graphs of the
 * three cases that have one are written out here, as rules and position terms. */
bool prepare_flex_attention(const struct test_case *test, struct call *call) {
  if (!prepare_onnx_attention(test, call)) return false;
  if (!case_has_attribute(test, "score_mod")) return true;
  const int nodes = (int)case_number(test, "score_mod", 0);
  fovea_problem *problem = &call->problem;
  if (strcmp(test->name, "flexattention_causal_mask") == 0 && nodes == 9) {
    problem->causal = 1;
    call_note(call, "its graph as a rule: causal");
    return true;
  }
  const bool distance = strcmp(test->name, "flexattention_relative_positional") == 0 && nodes == 10;
  if (!distance && !(strcmp(test->name, "flexattention_score_mod") == 0 && nodes == 1))
    return CALL_REFUSED(call, "its graph is not known");
  float *number = call_memory(call, 1, sizeof *number);
  *number = distance ? -1.0f : 0.5f;
  call->term_numbers = number;
  call->tensors.terms = &call->term_numbers;
  call->term = distance ? fovea_term_alibi(0) : fovea_term_relative(0, 0);
  call->term.head = 0; /* all heads have the number */
  fovea_problem_set_terms(problem, &call->term, 1);
  call_note(call, "its graph as a position term: %s",
            distance ? "row - key, ALiBi's of slope -1" : "0.5 everywhere");
  return true;
}
