/* A program outside this project, compiled and linked with -ffast-math: the output must keep subnormal values.
 * It compares bits, since its own arithmetic takes subnormals for zeros. */
#include <fovea/fovea.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DIM = 8 };

int main(void) {
  const uint32_t thousand[DIM] = {1000, 1001, 1, 0x80000400u, 0x7fffff, 0x800001, 0x3f800000, 0};
  float q[DIM] = {1, 2, 3, 4, 5, 6, 7, 8}, k[DIM] = {1, 1, 1, 1, 1, 1, 1, 1}, v[DIM], o[DIM];
  memcpy(v, thousand, sizeof v);
  volatile float flushed = v[0], one = 1;
  flushed *= one;
  uint32_t bits;
  memcpy(&bits, (const void *)&flushed, sizeof bits);
  fovea_status status = fovea_attention(q, k, v, o, 1, 1, 1, 1, 1, DIM, 0);
  printf("by the program %u, by fovea (%s) %s\n", (unsigned)bits, fovea_status_text(status),
         memcmp(o, thousand, sizeof o) == 0 ? "right" : "wrong");
  return status == FOVEA_OK && memcmp(o, thousand, sizeof o) == 0 ? 0 : 1;
}
