/* Quantised weights that are to be packed: everything that they may be refused for. */
#include "../src/base/claim.h"
#include "../src/base/error.h"
#include "../src/base/validate.h"
#include "codes.h"
#include "defaults.h"
#include "linear_finish.h"

void fovea_nn_codes_init_sized(fovea_nn_codes *codes, size_t struct_size, fovea_nn_format format, int64_t in,
                               int64_t out, const void *data) {
  const fovea_nn_codes defaults = {
      .struct_size = struct_size, .format = format, .in = in, .out = out, .data = data};
  fovea_nn_write_defaults(codes, struct_size, &defaults, sizeof defaults);
}

#if FOVEA_BUILDS_FORMATS

static fovea_status check_multiple(const char *name, int64_t size, int64_t of, fovea_error *error) {
  if (size % of == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "codes.%s is %jd; of this format it must be a multiple of %jd",
                    name, size, of);
}

static int has_words(const fovea_nn_codes *c) {
  return fovea_nn_format_kinds[c->format].block == 0;
}
static int is_e4m3(const fovea_nn_codes *c) {
  return c->format == FOVEA_NN_FORMAT_E4M3;
}

/* What the format does not have. */
static fovea_status check_unused(const fovea_nn_codes *c, fovea_error *error) {
  const int blocks = !has_words(c) && !is_e4m3(c);
  const char *name = blocks && c->group != 0                         ? "group"
                     : blocks && c->scales                           ? "scales"
                     : !has_words(c) && c->zeros                     ? "zeros"
                     : !has_words(c) && c->zeros_less_one != 0       ? "zeros_less_one"
                     : !is_e4m3(c) && c->group_outs != 0             ? "group_outs"
                     : !is_e4m3(c) && c->scale_type != FOVEA_F32     ? "scale_type"
                     : c->g_idx && c->format != FOVEA_NN_FORMAT_GPTQ ? "g_idx"
                                                                     : NULL;
  if (!name) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_UNUSED,
                    "codes.%s is set and would not be used: codes.format does not have it", name);
}

static int is_group(int64_t group) {
  return group == 16 || group == 32 || group == 64 || group == FOVEA_DOT_PIECE;
}

static fovea_status check_group(const fovea_nn_codes *c, fovea_error *error) {
  if (is_group(c->group) || c->group == c->in) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "codes.group is %jd; it must be 16, 32, 64, 128, or in, which is %jd: one scale for all dims",
                    c->group, c->in);
}

static fovea_status check_words(const fovea_nn_codes *c, fovea_error *error) {
  const int is_awq = c->format == FOVEA_NN_FORMAT_AWQ;
  const fovea_bounded flag = {"codes.zeros_less_one", c->zeros_less_one, 0, 1};
  fovea_status status = check_multiple("in", c->in, 8, error);
  if (!status) status = check_multiple("out", c->out, 8, error);
  if (!status) status = fovea_validate_bounds(NULL, &flag, 1, error);
  if (status) return status;
  if (is_awq && c->zeros_less_one) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED,
                      "codes.zeros_less_one is set and would not be used: AWQ stores zeros as they are");
  }
  return check_group(c, error);
}

static fovea_status check_e4m3(const fovea_nn_codes *c, fovea_error *error) {
  const fovea_bounded bounds[] = {{"codes.group_outs", c->group_outs, 1, FOVEA_DIM_LIMIT},
                                  fovea_bounded_type("codes.scale_type", c->scale_type)};
  const fovea_status status = fovea_validate_bounds(NULL, bounds, 2, error);
  return status ? status : check_group(c, error);
}

static fovea_nn_quantised_header header_of(const fovea_nn_codes *c) {
  const fovea_nn_format_kind *kind = &fovea_nn_format_kinds[c->format];
  fovea_nn_quantised_header header = {.magic = FOVEA_NN_QUANTISED_MAGIC,
                                      .bits = (uint32_t)kind->bits,
                                      .in = c->in,
                                      .out = c->out,
                                      .has_offsets = (uint32_t)kind->has_offsets,
                                      .is_e4m3 = (uint32_t)is_e4m3(c),
                                      .is_scattered = c->g_idx && c->group < c->in};
  header.group = kind->group ? (uint32_t)kind->group : is_group(c->group) ? (uint32_t)c->group : 0;
  memcpy(header.values, kind->values, sizeof header.values);
  return header;
}

fovea_status fovea_nn_read_codes_call(const fovea_nn_codes *given, fovea_nn_codes_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("codes", given, &call->codes, sizeof call->codes, error);
  const fovea_nn_codes *c = &call->codes;
  if (status) return status;
  const fovea_bounded bounds[] = {{"codes.format", (int)c->format, 0, FOVEA_NN_FORMATS - 1},
                                  {"codes.in", c->in, 1, FOVEA_DIM_LIMIT},
                                  {"codes.out", c->out, 1, FOVEA_DIM_LIMIT}};
  status = fovea_validate_bounds(NULL, bounds, 3, error);
  if (status) return status;
  if (fovea_nn_panel_elements(c->in, c->out, FOVEA_F32) == 0) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "codes.in %jd times codes.out %jd is more than 2^57", c->in,
                      c->out);
  }
  status = check_unused(c, error);
  if (status) return status;
  if (has_words(c))
    status = check_words(c, error);
  else if (is_e4m3(c))
    status = check_e4m3(c, error);
  else
    status = check_multiple("in", c->in, fovea_nn_format_kinds[c->format].block, error);
  if (!status) call->header = header_of(c);
  return status;
}

/* ---- Memory --------------------------------------------------------------------------------------------------- */

static fovea_claim claim_of(const void *data, int64_t bytes) {
  return fovea_claim_rows(data, 8, 1, 0, 1, 0, bytes);
}

static fovea_status check_groups(const fovea_nn_codes *c, int64_t groups, fovea_error *error) {
  for (int64_t d = 0; c->g_idx && d < c->in; d++) {
    const uint32_t group = fovea_nn_group_of(c, d);
    if (group < groups) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "codes.g_idx[%jd] is %jd; it must be 0 to %jd", d,
                      (int64_t)(int32_t)group, groups - 1);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_check_codes_memory(const fovea_nn_codes_call *call, const void *weights, fovea_error *error) {
  const fovea_nn_codes *c = &call->codes;
  const fovea_nn_format_kind *kind = &fovea_nn_format_kinds[c->format];
  const int blocks = c->group == 0;
  const int64_t groups = blocks ? 0 : fovea_nn_parts_of(c->in, c->group);
  const int64_t scale_rows = is_e4m3(c) ? fovea_nn_parts_of(c->out, c->group_outs) : c->out;
  const struct {
    const char *name;
    const void *data;
    int64_t bytes;
  } inputs[] = {
      {"data", c->data, has_words(c) ? c->in / 8 * 4 * c->out : c->in / kind->block * kind->block_bytes * c->out},
      {"scales", c->scales, fovea_bytes(is_e4m3(c) ? c->scale_type : FOVEA_F16, groups * scale_rows)},
      {"zeros", c->zeros, groups * (c->out / 8) * 4},
      {"g_idx", c->g_idx, c->in * 4},
  };
  const fovea_status status = fovea_nn_check_quantised_place(weights, error);
  if (status) return status;
  const fovea_claim output = claim_of(weights, fovea_nn_quantised_bytes(&call->header));
  for (int i = 0; i < (c->g_idx ? 4 : has_words(c) ? 3 : blocks ? 1 : 2); i++) {
    if (!inputs[i].data) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "codes.%s is NULL", inputs[i].name);
    const fovea_claim input = claim_of(inputs[i].data, inputs[i].bytes);
    if (fovea_claims_overlap(&output, &input))
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "weights shares memory with codes.%s", inputs[i].name);
  }
  return check_groups(c, groups, error);
}

#endif
