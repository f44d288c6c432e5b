/* What additive attention refuses, and with which text. Nothing is written. */
#include "support/check.h"
#include "support/error_says.h"
#include "support/execution.h"

#include <fovea/nn.h>
#include <fovea/recurrent.h>

#include <math.h>
#include <string.h>

static void *no_memory(void *context, size_t size, size_t alignment) {
  (void)context;
  (void)size;
  (void)alignment;
  return NULL;
}

static void release_nothing(void *context, void *pointer) {
  (void)context;
  (void)pointer;
}

static float numbers[1024], outputs[256], layer_weights[64];
static unsigned char bytes[64];

#define REFUSED(change, status, word)                                                                              \
  do {                                                                                                             \
    static const int64_t lens[2] = {3, 6};                                                                         \
    fovea_nn_linear query;                                                                                         \
    fovea_nn_additive a;                                                                                           \
    fovea_nn_additive_tensors t;                                                                                   \
    fovea_execution e = *on_isa(NULL);                                                                             \
    fovea_error error = {.text = ""};                                                                              \
    fovea_nn_linear_init(&query, 8, 4, layer_weights);                                                             \
    fovea_nn_additive_init(&a, 4, numbers);                                                                        \
    a.query = &query;                                                                                              \
    fovea_nn_additive_tensors_init(&t, &a, 2, 3, 5, 7, numbers, numbers, numbers, outputs);                        \
    (void)lens;                                                                                                    \
    memset(outputs, 0x3a, sizeof outputs);                                                                         \
    change;                                                                                                        \
    assert_int_equal(fovea_nn_additive_run(&a, &t, &e, &error), status);                                           \
    assert_error_says(&error, word);                                                                               \
    for (size_t i = 0; i < sizeof outputs; i++) assert_int_equal(((const unsigned char *)outputs)[i], 0x3a);       \
  } while (0)

static void test_refused(void **state) {
  (void)state;
  assert_int_equal(fovea_nn_additive_run(NULL, NULL, NULL, NULL), FOVEA_ERROR_ARGUMENT);
  REFUSED(a.struct_size--, FOVEA_ERROR_ARGUMENT, "additive");
  REFUSED(t.struct_size++, FOVEA_ERROR_ARGUMENT, "tensors");
  REFUSED(a.dim = 0, FOVEA_ERROR_ARGUMENT, "dim is 0");
  REFUSED(query.out = 5, FOVEA_ERROR_ARGUMENT, "query.out is 5");
  REFUSED(query.struct_size = 1, FOVEA_ERROR_ARGUMENT, "query.struct_size");
  REFUSED(t.batch = 0, FOVEA_ERROR_ARGUMENT, "batch is 0");
  REFUSED(t.q_len = -1, FOVEA_ERROR_ARGUMENT, "q_len is -1");
  REFUSED(t.v_dim = 0, FOVEA_ERROR_ARGUMENT, "v_dim is 0");
  REFUSED(t.o_type = (fovea_type)9, FOVEA_ERROR_ARGUMENT, "o_type is 9");
  REFUSED(t.k_type = FOVEA_F16, FOVEA_ERROR_ARGUMENT, "k_type: no key layer");
  REFUSED((a.query = NULL, t.q_type = FOVEA_F16), FOVEA_ERROR_ARGUMENT, "q_type: no query layer");
  REFUSED(t.weight_strides.row = 99, FOVEA_ERROR_UNUSED, "weight_strides");
  REFUSED(t.mask = bytes, FOVEA_ERROR_UNUSED, "mask");
  REFUSED(t.mask_type = FOVEA_MASK_BOOL, FOVEA_ERROR_ARGUMENT, "mask is NULL");
  REFUSED((t.mask_type = FOVEA_MASK_F32, t.mask = numbers), FOVEA_ERROR_ARGUMENT, "mask_type is 3");
  REFUSED((t.mask_type = FOVEA_MASK_BOOL, t.mask = bytes, t.mask_strides.key = 2), FOVEA_ERROR_ARGUMENT,
          "key is 2");
  REFUSED((t.mask_type = FOVEA_MASK_BOOL, t.mask = bytes, t.mask_strides.head = 2), FOVEA_ERROR_UNUSED,
          "head is 2");
  REFUSED((t.mask_type = FOVEA_MASK_BITS, t.mask = bytes, t.mask_strides.row = 9, t.mask_strides.batch = 8),
          FOVEA_ERROR_ARGUMENT, "mask_strides.row is 9");
  REFUSED(t.k_strides.head = 1, FOVEA_ERROR_UNUSED, "k_strides.head: no heads");
  REFUSED(t.kv_lens = lens, FOVEA_ERROR_ARGUMENT, "kv_lens[1] is 6");
  static const int64_t starts[] = {1, 2, 2, 5}, falling[] = {0, 3, 2, 5}, below[] = {-1, 0, 0, 0};
  static const int64_t edges[] = {-9, 4, -1, 0, 1}, beyond[] = {0, 0, 0, 5, 0}, under[] = {0, 0, -2, 0, 0};
  REFUSED(a.activation = (fovea_nn_additive_activation)2, FOVEA_ERROR_ARGUMENT, "activation is 2");
  REFUSED(a.leaky_slope = 0.2, FOVEA_ERROR_UNUSED, "leaky_slope is 0.2");
  REFUSED((a.activation = FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU, a.leaky_slope = 1), FOVEA_ERROR_ARGUMENT,
          "leaky_slope is 1");
  REFUSED((a.activation = FOVEA_NN_ADDITIVE_ACTIVATION_LEAKY_RELU, a.leaky_slope = NAN), FOVEA_ERROR_ARGUMENT,
          "leaky_slope: nan");
  REFUSED(t.edge_keys = edges, FOVEA_ERROR_UNUSED, "edge_keys is set");
  REFUSED(t.edge_starts = starts, FOVEA_ERROR_ARGUMENT, "edge_keys is NULL");
  REFUSED((t.edge_starts = falling, t.edge_keys = edges), FOVEA_ERROR_ARGUMENT, "edge_starts[2] is 2");
  REFUSED((t.edge_starts = below, t.edge_keys = edges), FOVEA_ERROR_ARGUMENT, "edge_starts[0] is -1");
  REFUSED((t.edge_starts = starts, t.edge_keys = beyond), FOVEA_ERROR_ARGUMENT, "edge_keys[3] is 5");
  REFUSED((t.edge_starts = starts, t.edge_keys = under), FOVEA_ERROR_ARGUMENT, "edge_keys[2] is -2");
  REFUSED((t.edge_starts = starts, t.edge_keys = edges, t.kv_len = INT64_C(1) << 31,
           t.weight_strides = (fovea_strides){3 * t.kv_len, 0, t.kv_len}),
          FOVEA_ERROR_ARGUMENT, "kv_len");
  REFUSED((t.edge_starts = starts, t.edge_keys = (const int64_t *)(const void *)((const char *)edges + 4)),
          FOVEA_ERROR_ARGUMENT, "edge_keys");
  REFUSED(a.w = NULL, FOVEA_ERROR_ARGUMENT, "w is NULL");
  REFUSED(t.q = NULL, FOVEA_ERROR_ARGUMENT, "q is NULL");
  REFUSED(t.v = NULL, FOVEA_ERROR_ARGUMENT, "v is NULL");
  REFUSED(t.o = NULL, FOVEA_ERROR_ARGUMENT, "o is NULL");
  REFUSED(t.o_strides.row = 6, FOVEA_ERROR_ARGUMENT, "o_strides.row");
  REFUSED(t.v = outputs + 20, FOVEA_ERROR_ARGUMENT, "o shares memory with v");
  REFUSED(a.w = outputs + 20, FOVEA_ERROR_ARGUMENT, "o shares memory with w");
  REFUSED(query.weights = outputs + 20, FOVEA_ERROR_ARGUMENT, "o shares memory with weights of a layer");
  REFUSED(t.weights = outputs + 20, FOVEA_ERROR_ARGUMENT, "weights shares memory with o");
  REFUSED(t.k = (const char *)numbers + 1, FOVEA_ERROR_ARGUMENT, "k");
  REFUSED(e.isa = "abacus", FOVEA_ERROR_ARGUMENT, "isa: abacus");
  REFUSED(e.allocator.allocate = no_memory, FOVEA_ERROR_ARGUMENT, "allocator");
  REFUSED((e.allocator.allocate = no_memory, e.allocator.release = release_nothing), FOVEA_ERROR_MEMORY,
          "No memory");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
