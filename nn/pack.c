#include "../src/base/caller.h"
#include "../src/base/row_tasks.h"
#include "../src/base/types.h"
#include "defaults.h"
#include "linear.h"
#include "matrix.h"
#include "tasks.h"

#include <string.h>

typedef struct pack_job {
  const fovea_nn_linear *linear;
  char *panels;
} pack_job;

/* Element by element: packing happens once. */
static void pack_panel(const void *data, int64_t panel, int worker) {
  const pack_job *job = data;
  const fovea_nn_linear *l = job->linear;
  const int64_t element = fovea_bytes(l->weight_type, 1), first = panel * FOVEA_NN_PANEL;
  (void)worker;
  for (int64_t d = 0; d < l->in; d += FOVEA_DOT_PIECE) {
    const int64_t place = fovea_nn_panel_place(l->in, l->out, l->weight_type, d, first);
    memset(job->panels + place * element, 0, (size_t)(fovea_nn_panel_stride(l->in, l->weight_type, d) * element));
  }
  for (int64_t o = first; o < first + FOVEA_NN_PANEL && o < l->out; o++) {
    const char *row = fovea_element(l->weights, l->weight_type, o * l->weight_stride);
    for (int64_t d = 0; d < l->in; d++) {
      const int64_t place = fovea_nn_weight_place(l->in, l->out, l->weight_type, d, o);
      memcpy(job->panels + place * element, row + d * element, (size_t)element);
    }
  }
}

fovea_status fovea_nn_pack(const fovea_nn_linear *given, void *panels, const fovea_execution *given_execution,
                           fovea_error *error) {
  fovea_nn_linear linear;
  fovea_execution execution;
  fovea_status status = fovea_nn_read_linear("linear", given, &linear, error);
  if (!status) status = fovea_read_row_execution(given_execution, &execution, error);
  if (!status) status = fovea_nn_check_linear("linear", &linear, error);
  if (!status) status = fovea_nn_check_packing(&linear, panels, error);
  if (status) return status;
  const pack_job job = {&linear, panels};
  const int64_t count = fovea_nn_padded(linear.out, FOVEA_NN_PANEL) / FOVEA_NN_PANEL;
  const double elements = (double)linear.in * (double)linear.out;
  fovea_nn_run_tasks(pack_panel, &job, count, elements * FOVEA_NN_WORK_TO_MOVE, INT_MAX, &execution);
  return FOVEA_OK;
}
