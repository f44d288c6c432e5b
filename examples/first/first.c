#include <fovea/fovea.h>
#include <stdio.h>

int main(void) { /* one head, two rows, two keys, two dims */
  float q[] = {1, 0, 0, 1}, k[] = {1, 0, 0, 1}, v[] = {1, 2, 3, 4}, o[4];
  int batch = 1, heads = 1, kv_heads = 1, rows = 2, keys = 2, dim = 2, causal = 1;
  fovea_status status = fovea_attention(q, k, v, o, batch, heads, kv_heads, rows, keys, dim, causal);
  if (status != FOVEA_OK) return puts(fovea_status_text(status)), 1;
  printf("%g %g, %g %g\n", (double)o[0], (double)o[1], (double)o[2], (double)o[3]);
}
