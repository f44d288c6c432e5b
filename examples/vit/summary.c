#include "summary.h"

enum { MATRIX = TOKENS * TOKENS };

static float mean_of_heads(const float *layer, int row, int column) {
  float sum = 0;
  for (int head = 0; head < MODEL_HEADS; head++) sum += layer[head * MATRIX + row * TOKENS + column];
  return sum / MODEL_HEADS;
}

/* Leaves out what the class token takes from itself. */
static void without_itself(const float row[TOKENS], float patches[PATCHES]) {
  float sum = 0;
  for (int i = 0; i < PATCHES; i++) sum += row[i + 1];
  for (int i = 0; i < PATCHES; i++) patches[i] = sum > 0 ? row[i + 1] / sum : 0;
}

void summary_last_layer(const float *weights, int64_t layers, float patches[PATCHES]) {
  const float *last = weights + (layers - 1) * MODEL_HEADS * MATRIX;
  float row[TOKENS];
  for (int i = 0; i < TOKENS; i++) row[i] = mean_of_heads(last, 0, i);
  without_itself(row, patches);
}

void summary_rollout(const float *weights, int64_t layers, float patches[PATCHES]) {
  float row[TOKENS] = {1}; /* row 0 of the product, from the last layer down */
  for (int64_t layer = layers - 1; layer >= 0; layer--) {
    float next[TOKENS];
    for (int column = 0; column < TOKENS; column++) {
      float sum = row[column];
      for (int i = 0; i < TOKENS; i++)
        sum += row[i] * mean_of_heads(weights + layer * MODEL_HEADS * MATRIX, i, column);
      next[column] = sum / 2;
    }
    for (int i = 0; i < TOKENS; i++) row[i] = next[i];
  }
  without_itself(row, patches);
}
