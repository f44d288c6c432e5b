#include "../arch/float_state.h"
#include "../src/base/caller.h"
#include "../src/base/error.h"
#include "../src/base/groups.h"
#include "codes.h"
#include "layer_scratch.h"
#include "tasks.h"

#if FOVEA_BUILDS_FORMATS

typedef struct codes_job {
  const fovea_nn_codes_call *call;
  char *weights;
} codes_job;

/* Word `word` of an output: the codes of four dims or of eight. */
static uint32_t word_of(const uint8_t *codes, int64_t word, uint32_t bits) {
  uint32_t all = 0;
  for (int i = 0; i < 4; i++) {
    const uint32_t byte =
        bits == 8 ? codes[4 * word + i] : codes[8 * word + i] | (uint32_t)codes[8 * word + 4 + i] << 4;
    all |= byte << 8 * i;
  }
  return all;
}

/* Writes a piece of output `lane` of a panel. */
static void write_piece(const fovea_nn_quantised_header *header, const fovea_nn_codes_piece *piece, int64_t dims,
                        int64_t lane, char *panel) {
  const int64_t groups = header->is_scattered ? 0 : fovea_nn_quantised_groups(header, dims);
  const int64_t words = fovea_nn_quantised_words(header, dims);
  float *numbers = (float *)(void *)panel + lane;
  for (int64_t g = 0; g < groups; g++, numbers += FOVEA_NN_PANEL) *numbers = piece->scales[g];
  for (int64_t g = 0; header->has_offsets && g < groups; g++, numbers += FOVEA_NN_PANEL)
    *numbers = piece->offsets[g];
  if (header->is_e4m3) {
    uint8_t *codes = (uint8_t *)(numbers - lane) + lane;
    for (int64_t d = 0; d < dims; d++) codes[d * FOVEA_NN_PANEL] = piece->codes[d];
    return;
  }
  for (int64_t w = 0; w < words; w++, numbers += FOVEA_NN_PANEL) {
    const uint32_t word = word_of(piece->codes, w, header->bits);
    memcpy(numbers, &word, sizeof word);
  }
}

/* Writes the scales and offsets of a panel whose groups are scattered. */
static void write_groups(const codes_job *job, int64_t first) {
  const fovea_nn_quantised_header *header = &job->call->header;
  const int64_t groups = fovea_nn_quantised_groups(header, header->in);
  char *to = job->weights + fovea_nn_scattered_place(header, first);
  float *scales = (float *)(void *)to, *offsets = scales + groups * FOVEA_NN_PANEL;
  memset(to, 0, (size_t)fovea_nn_scattered_bytes(header));
  for (int64_t lane = 0; lane < FOVEA_NN_PANEL && first + lane < header->out; lane++) {
    for (int64_t g = 0; g < groups; g++) {
      const int64_t at = g * FOVEA_NN_PANEL + lane;
      fovea_nn_read_group(&job->call->codes, first + lane, g, &scales[at], &offsets[at]);
    }
  }
}

static void pack_codes(const void *data, int64_t panel, int worker) {
  const codes_job *job = data;
  const fovea_nn_quantised_header *header = &job->call->header;
  const int64_t first = panel * FOVEA_NN_PANEL;
  const fovea_float_state caller = fovea_float_begin();
  (void)worker;
  if (header->is_scattered) write_groups(job, first);
  for (int64_t dim = 0; dim < header->in; dim += FOVEA_DOT_PIECE) {
    const int64_t dims = fovea_nn_quantised_dims(header, dim);
    char *to = job->weights + fovea_nn_quantised_place(header, dim, first);
    memset(to, 0, (size_t)fovea_nn_quantised_panel_bytes(header, dims));
    for (int64_t out = first; out < first + FOVEA_NN_PANEL && out < header->out; out++) {
      fovea_nn_codes_piece piece = {{0}, {0}, {0}};
      fovea_nn_read_codes(&job->call->codes, out, dim, (int)dims, &piece);
      write_piece(header, &piece, dims, out - first, to);
    }
  }
  fovea_float_end(caller);
}

/* Whether all dims are of the group that they have without g_idx. */
static int is_in_order(const fovea_nn_codes *codes) {
  int64_t d = 0;
  while (d < codes->in && fovea_nn_group_of(codes, d) == d / codes->group) d++;
  return d == codes->in;
}

/* Writes what lies before the panels. Groups in order are not scattered: there are zeros after the panels instead. */
static void write_front(fovea_nn_codes_call *call, char *weights) {
  fovea_nn_quantised_header *header = &call->header;
  const int64_t size = fovea_nn_quantised_bytes(header);
  if (header->is_scattered && is_in_order(&call->codes)) {
    header->is_scattered = 0;
    const int64_t used = fovea_nn_quantised_bytes(header);
    memset(weights + used, 0, (size_t)(size - used));
  }
  memcpy(weights, header, sizeof *header);
  if (!header->is_scattered) return;
  char *groups = weights + sizeof *header;
  memset(groups, 0, (size_t)(fovea_nn_scattered_place(header, 0) - (int64_t)sizeof *header));
  for (int64_t d = 0; d < header->in; d++, groups += sizeof(uint32_t)) {
    const uint32_t group = fovea_nn_group_of(&call->codes, d);
    memcpy(groups, &group, sizeof group);
  }
}

fovea_status fovea_nn_codes_size(const fovea_nn_codes *codes, size_t *size, fovea_error *error) {
  fovea_nn_codes_call call;
  if (!size) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "size is NULL");
  *size = 0;
  const fovea_status status = fovea_nn_read_codes_call(codes, &call, error);
  if (status) return status;
  fovea_nn_scratch all = {0};
  fovea_nn_reserve(&all, (uint64_t)fovea_nn_quantised_bytes(&call.header));
  *size = fovea_nn_size_of(&all);
  return FOVEA_OK;
}

fovea_status fovea_nn_pack_codes(const fovea_nn_codes *codes, void *weights, const fovea_execution *given_execution,
                                 fovea_error *error) {
  fovea_nn_codes_call call;
  fovea_execution execution;
  fovea_status status = fovea_nn_read_codes_call(codes, &call, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_nn_check_codes_memory(&call, weights, error);
  if (status) return status;
  const codes_job job = {&call, weights};
  const int64_t panels = fovea_nn_padded(call.codes.out, FOVEA_NN_PANEL) / FOVEA_NN_PANEL;
  const double elements = (double)call.codes.in * (double)call.codes.out;
  write_front(&call, weights);
  fovea_nn_run_tasks(pack_codes, &job, panels, elements * FOVEA_NN_WORK_TO_MOVE, INT_MAX, &execution);
  return FOVEA_OK;
}

#else
fovea_status fovea_nn_codes_size(const fovea_nn_codes *codes, size_t *size, fovea_error *error) {
  (void)codes;
  if (size) *size = 0;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
}

fovea_status fovea_nn_pack_codes(const fovea_nn_codes *codes, void *weights, const fovea_execution *execution,
                                 fovea_error *error) {
  (void)codes, (void)weights, (void)execution;
  return fovea_fail_left_out(FOVEA_GROUP_PLACE_FORMATS, error);
}
#endif
