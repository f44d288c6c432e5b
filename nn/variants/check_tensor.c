/* Tensors of variants: strides, pointers, overlaps; settings of a problem that a variant would not use. */
#include "../../src/base/claim.h"
#include "../../src/base/error.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "tensor.h"

static int is_empty(const fovea_nn_tensor *t) {
  return t->batch == 0 || t->heads == 0 || t->rows == 0 || t->dim == 0;
}

static fovea_shape shape_of(const fovea_nn_tensor *t) {
  return fovea_make_shape(t->name, t->batch, t->heads, t->rows, t->dim, t->strides, t->bits);
}

fovea_status fovea_nn_check_tensor(const fovea_nn_tensor *tensor, int is_output, fovea_error *error) {
  const fovea_shape shape = shape_of(tensor);
  fovea_reach reach;
  if (is_empty(tensor)) return FOVEA_OK;
  const fovea_status status = fovea_validate_strides(&shape, is_output, &reach, error);
  return status ? status : fovea_validate_pointer(&reach, tensor->data, error);
}

/* One entry. */
static fovea_claim claim_of(const fovea_nn_tensor *t, int64_t entry) {
  const char *first =
      (const char *)t->data + fovea_bytes_of_bits(t->bits, t->batch > 1 ? entry * t->strides.batch : 0);
  return fovea_claim_rows(first, t->bits, t->heads, t->strides.head, t->rows, t->strides.row, t->dim);
}

/* Ranges that are apart are most of them; else entry by entry. */
fovea_status fovea_nn_check_tensors_apart(const fovea_nn_tensor *output, const fovea_nn_tensor *other,
                                          fovea_error *error) {
  const fovea_shape a = shape_of(output), b = shape_of(other);
  fovea_reach x, y;
  if (is_empty(output) || is_empty(other) || !output->data || !other->data) return FOVEA_OK;
  if (fovea_validate_strides(&a, 0, &x, NULL) || fovea_validate_strides(&b, 0, &y, NULL)) return FOVEA_OK;
  if (fovea_validate_apart(&x, output->data, &y, other->data, NULL) == FOVEA_OK) return FOVEA_OK;
  for (int64_t i = 0; i < output->batch; i++) {
    for (int64_t j = 0; j < other->batch; j++) {
      const fovea_claim mine = claim_of(output, i), theirs = claim_of(other, j);
      if (!fovea_claims_overlap(&mine, &theirs)) continue;
      return fovea_fail(error, FOVEA_ERROR_OVERLAP, "%s shares memory with %s", output->name, other->name);
    }
  }
  return FOVEA_OK;
}

static int same(fovea_strides a, fovea_strides b) {
  return a.batch == b.batch && a.head == b.head && a.row == b.row;
}

typedef struct setting {
  const char *name;
  int set, kind;
} setting;

fovea_status fovea_nn_check_plain(const fovea_problem *p, int refused, const char *why, fovea_error *error) {
  enum { RULES = FOVEA_NN_REFUSES_KEY_RULES, OUTPUTS = FOVEA_NN_REFUSES_OUTPUTS, LAYOUT = FOVEA_NN_REFUSES_LAYOUT };
  fovea_problem plain;
  fovea_problem_init(&plain, p->batch, p->heads, p->kv_heads, p->q_len, p->kv_len, p->qk_dim, p->v_dim);
  const int window = p->window_left != FOVEA_UNLIMITED || p->window_right != FOVEA_UNLIMITED;
  const int keys = p->keys_begin != 0 || (p->keys_end != FOVEA_UNLIMITED && p->keys_end != p->kv_len);
  const setting settings[] = {{"causal", p->causal != 0, RULES},
                              {"window_left or window_right", window, RULES},
                              {"chunk_size", p->chunk_size != 0, RULES},
                              {"offset", p->offset != FOVEA_OFFSET_BOTTOM_RIGHT, RULES},
                              {"offsets", p->offsets != NULL, RULES},
                              {"cu_seqlens_q", p->cu_seqlens_q != NULL, RULES},
                              {"cu_seqlens_kv", p->cu_seqlens_kv != NULL, RULES},
                              {"mask_type", p->mask_type != FOVEA_MASK_NONE, RULES},
                              {"segmented", p->segmented, RULES},
                              {"kv_begins", p->kv_begins != NULL, RULES},
                              {"keys_begin or keys_end", keys, RULES},
                              {"pattern", p->pattern != NULL || p->patterns != NULL, RULES},
                              {"terms", p->terms != NULL || p->term_count != 0, RULES},
                              {"shaw", p->shaw != FOVEA_SHAW_NONE, RULES},
                              {"to_state", p->to_state, OUTPUTS},
                              {"score_output", p->score_output != FOVEA_SCORES_NONE, OUTPUTS},
                              {"max_logits", p->max_logits, OUTPUTS},
                              {"top_k", p->top_k != 0, OUTPUTS},
                              {"entropy", p->entropy, OUTPUTS},
                              {"column_sums", p->column_sums, OUTPUTS},
                              {"q_strides", !same(p->q_strides, plain.q_strides), LAYOUT},
                              {"k_strides", !same(p->k_strides, plain.k_strides), LAYOUT},
                              {"v_strides", !same(p->v_strides, plain.v_strides), LAYOUT},
                              {"o_strides", !same(p->o_strides, plain.o_strides), LAYOUT},
                              {"a type of Q, K, V or O", p->q_type || p->k_type || p->v_type || p->o_type, LAYOUT}};
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    if (!settings[i].set || !(settings[i].kind & refused)) continue;
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s of the problem is set and would not be used: %s",
                      settings[i].name, why);
  }
  return FOVEA_OK;
}
