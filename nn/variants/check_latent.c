/* Everything that multi-head latent attention may be refused for. */
#include "../../src/base/caller.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/validate.h"
#include "../attention.h"
#include "../defaults.h"
#include "../fields.h"
#include "../linear.h"
#include "../norm.h"
#include "../positions.h"
#include "latent.h"
#include "tensor.h"

#include <string.h>

void fovea_nn_latent_init_sized(fovea_nn_latent *latent, size_t struct_size, int64_t heads, int64_t kv_lora_rank,
                                int64_t qk_nope_head_dim, int64_t qk_rope_head_dim, int64_t v_head_dim) {
  const fovea_nn_latent defaults = {.struct_size = struct_size,
                                    .heads = heads,
                                    .kv_lora_rank = kv_lora_rank,
                                    .qk_nope_head_dim = qk_nope_head_dim,
                                    .qk_rope_head_dim = qk_rope_head_dim,
                                    .v_head_dim = v_head_dim};
  fovea_nn_write_defaults(latent, struct_size, &defaults, sizeof defaults);
}

void fovea_nn_latent_tensors_init_sized(fovea_nn_latent_tensors *tensors, size_t struct_size, const void *x,
                                        void *y) {
  const fovea_nn_latent_tensors defaults = {.struct_size = struct_size,
                                            .x = x,
                                            .y = y,
                                            .x_stride = FOVEA_CONTIGUOUS,
                                            .y_stride = FOVEA_CONTIGUOUS,
                                            .residual_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

/* A layer's inputs or outputs must fit. */
static fovea_status check_width(const char *layer, const char *what, int64_t width, int64_t fits,
                                fovea_error *error) {
  if (width == fits) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.%s is %jd; it must be %jd", layer, what, width, fits);
}

static fovea_status check_norm(const char *name, const fovea_nn_norm *norm, int64_t dim, fovea_error *error) {
  if (!norm) return FOVEA_OK;
  const fovea_status status = fovea_nn_check_norm(name, norm, error);
  if (status) return status;
  if (norm->kind != FOVEA_NN_RMS_NORM) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s.kind is not FOVEA_NN_RMS_NORM", name);
  }
  return check_width(name, "dim", norm->dim, dim, error);
}

static fovea_status check_kv_b(fovea_nn_latent_call *call, fovea_error *error) {
  const fovea_nn_latent *l = &call->latent;
  fovea_status status = fovea_nn_check_layer("kv_b_proj", l->kv_b_proj, error);
  if (!status) status = fovea_nn_read_linear("kv_b_proj", l->kv_b_proj, &call->kv_b, error);
  if (!status) status = check_width("kv_b_proj", "in", call->kv_b.in, l->kv_lora_rank, error);
  if (status) return status;
  status = check_width("kv_b_proj", "out", call->kv_b.out, l->heads * (l->qk_nope_head_dim + l->v_head_dim), error);
  if (status) return status;
  if (call->kv_b.layout != FOVEA_NN_WEIGHTS_IN_ROWS) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "kv_b_proj.layout is not FOVEA_NN_WEIGHTS_IN_ROWS");
  }
  if (!call->kv_b.bias && call->kv_b.activation == FOVEA_NN_ACTIVATION_NONE) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "kv_b_proj.%s is set and would not be used",
                    call->kv_b.bias ? "bias" : "activation");
}

static fovea_status check_layers(const fovea_nn_latent *l, fovea_error *error) {
  const int64_t width = l->kv_lora_rank + l->qk_rope_head_dim;
  fovea_status status = l->q_a_proj ? fovea_nn_check_layer("q_a_proj", l->q_a_proj, error) : FOVEA_OK;
  if (!status) status = fovea_nn_check_layer("q_b_proj", l->q_b_proj, error);
  if (!status) status = fovea_nn_check_layer("kv_a_proj", l->kv_a_proj, error);
  if (!status) status = fovea_nn_check_layer("o_proj", l->o_proj, error);
  if (status) return status;
  if (l->q_a_layernorm && !l->q_a_proj) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "q_a_layernorm is set and would not be used: q_a_proj is NULL");
  }
  const int64_t q_in = l->q_a_proj ? l->q_a_proj->out : l->kv_a_proj->in;
  if (l->q_a_proj) status = check_width("q_a_proj", "in", l->q_a_proj->in, l->kv_a_proj->in, error);
  if (!status) status = check_width("q_b_proj", "in", l->q_b_proj->in, q_in, error);
  if (!status) {
    status = check_width("q_b_proj", "out", l->q_b_proj->out,
                         l->heads * (l->qk_nope_head_dim + l->qk_rope_head_dim), error);
  }
  if (!status) status = check_width("kv_a_proj", "out", l->kv_a_proj->out, width, error);
  if (!status) status = check_width("o_proj", "in", l->o_proj->in, l->heads * l->v_head_dim, error);
  if (!status) status = check_norm("q_a_layernorm", l->q_a_layernorm, q_in, error);
  return status ? status : check_norm("kv_a_layernorm", l->kv_a_layernorm, l->kv_lora_rank, error);
}

static fovea_status check_form(const fovea_nn_latent *l, fovea_error *error) {
  const fovea_bounded form = {"form", (int)l->form, 0, FOVEA_NN_LATENT_ABSORBED};
  const fovea_status status = fovea_validate_bounds("latent", &form, 1, error);
  if (status) return status;
  if (l->form == FOVEA_NN_LATENT_ABSORBED && !l->absorbed) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "absorbed is NULL; fovea_nn_latent_absorb() writes it");
  }
  if (l->form == FOVEA_NN_LATENT_EXPANDED && l->absorbed) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "absorbed is set and would not be used: form is FOVEA_NN_LATENT_EXPANDED");
  }
  return FOVEA_OK;
}

static fovea_status check_problem(fovea_nn_latent_call *call, fovea_error *error) {
  static const char why[] = "latent attention has its own";
  const uint64_t known = fovea_features_of_layer(FOVEA_LAYER_LATENT);
  const fovea_nn_latent *l = &call->latent;
  const fovea_problem *p = &call->problem;
  const fovea_bounded sizes[] = {
      {"heads", p->heads, l->heads, l->heads},
      {"kv_heads", p->kv_heads, l->heads, l->heads},
      {"qk_dim", p->qk_dim, l->qk_nope_head_dim + l->qk_rope_head_dim, l->qk_nope_head_dim + l->qk_rope_head_dim},
      {"v_dim", p->v_dim, l->v_head_dim, l->v_head_dim}};
  fovea_status status = fovea_nn_check_sizes(p, error);
  if (!status) status = fovea_validate_bounds("problem", sizes, 4, error);
  if (!status) status = fovea_nn_refuse_fields(p, known, why, error);
  if (status) return status;
  fovea_resolve_problem(&call->problem);
  if (!call->absorbed && p->cache.segmented && p->kv_begins) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "kv_begins is set and would not be used: the expanded form reads a cache from position 0 on");
  }
  if (!call->absorbed && p->cache.holes) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "cache.holes is set; the expanded form reads every row of a cache");
  }
  if (p->cache.segmented) return FOVEA_OK;
  if (p->cu_seqlens_q || p->cu_seqlens_kv) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "cu_seqlens is set, but rows are packed only with caches");
  }
  return check_width("problem", "kv_len", p->kv_len, p->q_len, error);
}

static fovea_status check_settings(const fovea_nn_latent_call *call, fovea_error *error) {
  const fovea_nn_latent_tensors *t = &call->tensors;
  const int segmented = call->problem.cache.segmented;
  const char *unused = NULL, *why = "cache.segmented is 0";
  if (t->cache.layer != 0 && !segmented) unused = "cache.layer";
  if (t->cache.sequences && !segmented) unused = "cache.sequences";
  if (!t->residual && (t->residual_type != FOVEA_F32 || t->residual_stride != FOVEA_CONTIGUOUS)) {
    unused = t->residual_type != FOVEA_F32 ? "residual_type" : "residual_stride", why = "residual is NULL";
  }
  if (unused) return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: %s", unused, why);
  const fovea_status status = fovea_nn_refuse_unused_positions(
      t->first_position, t->first_positions, t->rotary_positions, call->latent.rotary != NULL, segmented, error);
  if (status) return status;
  if (segmented && !t->cache.sequences) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.sequences is NULL");
  return FOVEA_OK;
}

static fovea_status count_segments(fovea_nn_latent_call *call, fovea_error *error) {
  call->segments = 0;
  for (int64_t b = 0; call->tensors.cache.sequences && b < call->problem.batch; b++) {
    const fovea_sequence *sequence = &call->tensors.cache.sequences[b];
    if (sequence->count < 0 || sequence->count > INT32_MAX) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.sequences[%jd].count is %jd; it must be from 0 to %jd",
                        b, sequence->count, (int64_t)INT32_MAX);
    }
    const fovea_status status = fovea_fail_within("cache", fovea_check_segment_size(sequence, b, error), error);
    if (status) return status;
    if (sequence->count > 0 && !sequence->segments) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "cache.sequences[%jd].segments is NULL", b);
    }
    call->segments += sequence->count;
  }
  return FOVEA_OK;
}

static fovea_status check_rotary(const fovea_nn_latent_call *call, fovea_error *error) {
  const fovea_problem *p = &call->problem;
  const fovea_nn_positions rows = {.batch = p->batch,
                                   .length = p->q_len,
                                   .cu_seqlens = p->cu_seqlens_q,
                                   .first = call->tensors.first_position,
                                   .firsts = call->tensors.first_positions,
                                   .rotary = call->tensors.rotary_positions};
  if (!call->latent.rotary) return FOVEA_OK;
  if (call->latent.qk_rope_head_dim > 0) {
    return fovea_nn_check_rotary(call->latent.rotary, call->latent.qk_rope_head_dim, &rows, error);
  }
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "rotary is set and would not be used: qk_rope_head_dim is 0");
}

/* What attention of the form sees: heads of scratch, or cached rows as one head. */
static void make_inner(fovea_nn_latent_call *call) {
  const fovea_nn_latent *l = &call->latent;
  const fovea_problem *p = &call->problem;
  const int64_t dim = call->absorbed ? call->width : p->qk_dim, out = call->absorbed ? l->kv_lora_rank : p->v_dim;
  const int64_t heads = l->heads, length = p->kv_len;
  fovea_problem *inner = &call->inner;
  *inner = *p;
  inner->qk_dim = dim;
  inner->v_dim = out;
  inner->q_strides = fovea_strides_rows_before_heads(p->q_len, heads, dim);
  inner->o_strides = fovea_strides_rows_before_heads(p->q_len, heads, out);
  if (call->absorbed) {
    inner->kv_heads = 1;
    inner->k_strides = inner->v_strides = (fovea_strides){length * dim, 0, dim};
    if (p->cache.segmented) { /* not used */
      fovea_problem plain;
      fovea_problem_init(&plain, p->batch, heads, 1, p->q_len, length, dim, out);
      fovea_resolve_problem(&plain);
      inner->k_strides = plain.k_strides;
      inner->v_strides = plain.v_strides;
    }
  } else {
    inner->cache.segmented = 0;
    inner->k_strides = fovea_strides_rows_before_heads(length, heads, dim);
    inner->v_strides = fovea_strides_rows_before_heads(length, heads, out);
  }
}

static fovea_status check_latent(const fovea_nn_latent *latent, fovea_nn_latent_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("latent", latent, &call->latent, sizeof call->latent, error);
  if (status) return status;
  const fovea_nn_latent *l = &call->latent;
  const fovea_bounded sizes[] = {{"heads", l->heads, 1, INT32_MAX},
                                 {"kv_lora_rank", l->kv_lora_rank, 1, 1 << 28},
                                 {"qk_nope_head_dim", l->qk_nope_head_dim, 1, 1 << 28},
                                 {"qk_rope_head_dim", l->qk_rope_head_dim, 0, 1 << 20},
                                 {"v_head_dim", l->v_head_dim, 1, 1 << 28}};
  status = fovea_validate_bounds("latent", sizes, 5, error);
  if (status) return status;
  call->width = l->kv_lora_rank + l->qk_rope_head_dim;
  call->absorbed = l->form == FOVEA_NN_LATENT_ABSORBED;
  if (call->width < 2 || l->qk_rope_head_dim % 2 != 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "qk_rope_head_dim is %jd and kv_lora_rank %jd; the first is even, and their sum at least 2",
                      l->qk_rope_head_dim, l->kv_lora_rank);
  }
  return check_kv_b(call, error);
}

static void complete(fovea_nn_latent_tensors *t, const fovea_nn_latent *l) {
  fovea_resolve_stride(&t->x_stride, l->kv_a_proj->in);
  fovea_resolve_stride(&t->y_stride, l->o_proj->out);
  fovea_resolve_stride(&t->residual_stride, l->o_proj->out);
}

fovea_status fovea_nn_check_latent(const fovea_nn_latent *latent, const fovea_problem *problem,
                                   const fovea_nn_latent_tensors *tensors, const fovea_execution *execution,
                                   int sizes_only, fovea_nn_latent_call *call, fovea_error *error) {
  memset(&call->tensors, 0, sizeof call->tensors);
  fovea_status status = check_latent(latent, call, error);
  if (status || (sizes_only && !problem)) return status;
  status = check_form(&call->latent, error);
  if (!status) status = check_layers(&call->latent, error);
  if (!status) status = fovea_copy_problem(problem, &call->problem, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status && (tensors || !sizes_only))
    status = fovea_nn_read_struct("tensors", tensors, &call->tensors, sizeof call->tensors, error);
  if (!status) status = check_problem(call, error);
  if (!status) status = count_segments(call, error);
  if (status) return status;
  call->rows = call->problem.cu_seqlens_q ? call->problem.q_len : call->problem.batch * call->problem.q_len;
  make_inner(call);
  fovea_problem sized = call->inner; /* rows of scratch */
  if (call->absorbed) sized.kv_heads = sized.heads;
  status = fovea_nn_check_sizes(&sized, error);
  if (status || sizes_only) return status;
  status = check_settings(call, error);
  if (!status) complete(&call->tensors, &call->latent);
  return status ? status : check_rotary(call, error);
}
