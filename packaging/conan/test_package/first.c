/* Under the causal rule the first row sees only the first key, so that its output is the first value. */
#include <fovea/fovea.h>
#include <stdio.h>

int main(void) {
  float q[] = {1, 0, 0, 1}, k[] = {1, 0, 0, 1}, v[] = {1, 2, 3, 4}, o[4];
  int batch = 1, heads = 1, kv_heads = 1, rows = 2, keys = 2, dim = 2, causal = 1;
  if (fovea_attention(q, k, v, o, batch, heads, kv_heads, rows, keys, dim, causal) != FOVEA_OK) return 1;
  printf("%g %g\n", (double)o[0], (double)o[1]);
  return o[0] == 1 && o[1] == 2 ? 0 : 1;
}
