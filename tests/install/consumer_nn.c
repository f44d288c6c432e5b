/* A program outside this project: a linear layer that doubles its input. */
#include <fovea/nn.h>

#include <stdio.h>

int main(void) {
  const float x[2] = {1, 3}, weights[4] = {2, 0, 0, 2};
  float y[2] = {0, 0};
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_error error;
  fovea_nn_linear_init(&linear, 2, 2, weights);
  fovea_nn_linear_rows_init(&rows, &linear, 1, x, y);
  const fovea_status status = fovea_nn_linear_run(&linear, &rows, NULL, &error);
  printf("fovea %s: %s\n", fovea_version(), fovea_status_text(status));
  return status == FOVEA_OK && y[0] == 2 && y[1] == 6 ? 0 : 1;
}
