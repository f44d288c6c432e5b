/* A program outside this project: two keys have the same score, so the output is the mean of their values. */
#include <fovea/fovea.h>

#include <stdio.h>

int main(void) {
  const float q[4] = {1, 2, 3, 4};
  const float k[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const float v[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  float o[4] = {0, 0, 0, 0};
  fovea_status status = fovea_attention(q, k, v, o, 1, 1, 1, 1, 2, 4, 0);
  printf("fovea %s: %s\n", fovea_version(), fovea_status_text(status));
  return status == FOVEA_OK && o[0] == 2 && o[1] == 3 && o[2] == 4 && o[3] == 5 ? 0 : 1;
}
