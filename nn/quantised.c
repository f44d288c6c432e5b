#include "quantised.h"

#include "../src/base/error.h"
#include "../src/base/groups.h"

#include <stddef.h>

fovea_nn_coded_panels fovea_nn_coded_panels_of(const fovea_nn_linear *linear, int64_t dim, int64_t out,
                                               int panels) {
  const fovea_nn_quantised_header header = fovea_nn_quantised_header_of(linear->weights);
  const char *weights = linear->weights;
  const int64_t dims = fovea_nn_quantised_dims(&header, dim);
  fovea_nn_coded_panels coded = {
      .first = weights + fovea_nn_quantised_place(&header, dim, out),
      .stride = fovea_nn_quantised_panel_bytes(&header, dims),
      .values = (const int8_t *)weights + offsetof(fovea_nn_quantised_header, values),
      .panels = panels,
      .dims = (int)dims,
      .bits = (int)header.bits,
      .group = header.group == 0 ? FOVEA_DOT_PIECE : (int)header.group,
      .has_offsets = (int)header.has_offsets,
      .is_e4m3 = (int)header.is_e4m3,
  };
  if (header.is_scattered) {
    coded.groups = fovea_nn_quantised_groups(&header, header.in);
    coded.dim_groups = (const uint32_t *)(const void *)(weights + sizeof header) + dim;
    coded.numbers = weights + fovea_nn_scattered_place(&header, out);
    coded.number_stride = fovea_nn_scattered_bytes(&header);
  }
  return coded;
}

fovea_status fovea_nn_check_quantised_place(const void *weights, fovea_error *error) {
  if (!weights) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "weights is NULL");
  if ((uintptr_t)weights % FOVEA_NN_QUANTISED_ALIGNMENT == 0) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                    "weights is %jd bytes off an address that is a multiple of %jd, as quantised weights need",
                    (int64_t)((uintptr_t)weights % FOVEA_NN_QUANTISED_ALIGNMENT),
                    (int64_t)FOVEA_NN_QUANTISED_ALIGNMENT);
}

/* What a header may hold. Its sizes are the layer's, and so within their limits. */
static fovea_status check_header(const fovea_nn_quantised_header *header, fovea_error *error) {
  const uint32_t group = header->group;
  if (header->bits != 4 && header->bits != 8) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "weights hold codes of %jd bits; it must be 4 or 8",
                      (int64_t)header->bits);
  }
  if (group != 0 && group != 16 && group != 32 && group != 64 && group != 128) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "weights have a scale for each %jd dims; it must be 16, 32, 64, 128, or 0: one for all dims",
                      (int64_t)group);
  }
  if (header->has_offsets > 1) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "has_offsets of weights is %jd; it must be 0 or 1",
                      (int64_t)header->has_offsets);
  }
  if (header->is_e4m3 > (header->bits == 8 && !header->has_offsets)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "is_e4m3 of weights is %jd; it must be 0, or 1 for codes of 8 bits without offsets",
                      (int64_t)header->is_e4m3);
  }
  if (header->is_scattered > (header->bits == 4 && header->has_offsets && group != 0)) {
    return fovea_fail(
        error, FOVEA_ERROR_ARGUMENT,
        "is_scattered of weights is %jd; it must be 0, or 1 for groups of codes of 4 bits with offsets",
        (int64_t)header->is_scattered);
  }
  return FOVEA_OK;
}

/* Kernels read scales by the groups of dims. */
static fovea_status check_groups(const void *weights, const fovea_nn_quantised_header *header, fovea_error *error) {
  const uint32_t *groups = (const uint32_t *)(const void *)((const char *)weights + sizeof *header);
  const int64_t count = fovea_nn_quantised_groups(header, header->in);
  for (int64_t d = 0; header->is_scattered && d < header->in; d++) {
    if (groups[d] < count) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "weights have dim %jd in group %jd; they have %jd groups", d,
                      (int64_t)groups[d], count);
  }
  return FOVEA_OK;
}

fovea_status fovea_nn_check_quantised(const void *weights, int64_t in, int64_t out, fovea_error *error) {
  if (!FOVEA_BUILDS_FORMATS) return fovea_refuse_group("layout", FOVEA_GROUP_FORMATS, error);
  fovea_status status = fovea_nn_check_quantised_place(weights, error);
  if (status) return status;
  const fovea_nn_quantised_header header = fovea_nn_quantised_header_of(weights);
  if (header.magic != FOVEA_NN_QUANTISED_MAGIC) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "weights do not begin with the header of quantised weights: fovea_nn_pack_codes() and "
                      "fovea_nn_quantise() write it");
  }
  if (header.in != in || header.out != out) {
    const int is_in = header.in != in;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is %jd, and weights were packed for %jd",
                      is_in ? "in" : "out", is_in ? in : out, is_in ? header.in : header.out);
  }
  status = check_header(&header, error);
  return status ? status : check_groups(weights, &header, error);
}
