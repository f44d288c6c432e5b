#include <fovea/fovea.h>
#include <stdio.h>

enum { HEADS = 8, KV_HEADS = 2, ROWS = 100, KEYS = 300, DIM = 64 };
static float q[HEADS * ROWS * DIM], k[KV_HEADS * KEYS * DIM], v[KV_HEADS * KEYS * DIM], o[HEADS * ROWS * DIM];

int main(void) {
  for (int i = 0; i < HEADS * ROWS * DIM; i++) q[i] = (float)(i * 37 % 101 - 50) / 32;
  for (int i = 0; i < KV_HEADS * KEYS * DIM; i++) k[i] = (float)(i * 53 % 89 - 44) / 32, v[i] = (float)(i % 10);

  fovea_problem problem; /* sizes, strides and rules; the initialiser fills in every default */
  fovea_tensors tensors;
  fovea_error error;
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, ROWS, KEYS, DIM, DIM);
  problem.causal = 1;        /* the last row's own key is the last key */
  problem.window_left = 127; /* and a row looks back 127 keys */
  fovea_tensors_init(&tensors, q, k, v, o, NULL);
  if (fovea_attend(&problem, &tensors, NULL, &error) != FOVEA_OK) return puts(error.text), 1;
  printf("%a %a %a %a\n", (double)o[0], (double)o[1], (double)o[2], (double)o[3]);
}
