/* Keys that an indexer selects: scores of index heads, and the lists of the best keys, by the code of top.h. Part
 * of bodies.h. */
#ifndef FOVEA_ARCH_SHARED_NN_SELECT_H
#define FOVEA_ARCH_SHARED_NN_SELECT_H

#include "../../nn_kernels.h"
#include "functions.h"

#define FOVEA_TOP_NAME(op) FOVEA_NAME(nn_top_##op)
#include "../top.h"

/* Keys lie in the lanes, as the products do. */
FOVEA_KERNEL void FOVEA_NAME(nn_index)(const fovea_nn_index_args *args) {
  for (int row = 0; row < args->rows; row++) {
    const float *products = args->products + row * args->heads * FOVEA_NN_OUTS;
    const float *weights = args->weights + row * args->weight_stride;
    float *scores = args->scores + row * args->score_stride;
    FOVEA_NO_UNROLL
    for (int first = 0; first < FOVEA_NN_OUTS; first += 4 * LANES) {
      vec sum[4];
      FOVEA_UNROLL
      for (int v = 0; v < 4; v++) sum[v] = vec_set1(0.0f);
      FOVEA_NO_UNROLL
      for (int64_t h = 0; h < args->heads; h++) {
        const float *product = products + h * FOVEA_NN_OUTS + first;
        const vec weight = vec_set1(weights[h]);
        FOVEA_UNROLL
        for (int v = 0; v < 4; v++) sum[v] = vec_fma(weight, vec_relu(vec_load(product + v * LANES)), sum[v]);
      }
      FOVEA_UNROLL
      for (int v = 0; v < 4; v++) vec_store(scores + first + v * LANES, sum[v]);
    }
  }
}

#endif
