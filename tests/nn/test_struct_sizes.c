/* Structs of other versions, of every kind: initialisers write as many bytes as the caller's struct has; a struct
 * of another size is refused by its name, without a look at its other fields; one of the right size is not read
 * beyond. */
#include "struct_kinds.h"
#include "support/check.h"
#include "support/error_says.h"
#include "support/guarded.h"

#include <fovea/embedding.h>
#include <fovea/nn.h>
#include <fovea/recurrent.h>
#include <fovea/weights.h>

#include <string.h>

enum { ROWS = 3, DIM = 4, LONGEST = 1024 };

float kind_x[KIND_NUMBERS], kind_weights[KIND_NUMBERS], kind_y[KIND_NUMBERS];
static float *const x = kind_x, *const y = kind_y, *const weights = kind_weights, y2[KIND_NUMBERS];
static int32_t ids[ROWS];
static fovea_nn_linear layer, gates[2];
static fovea_nn_norm norm;
static fovea_nn_attention attention;
static fovea_nn_attention_tensors self_tensors;
static fovea_nn_block block;
static fovea_nn_embedding embedding;
static fovea_nn_additive additive;
static fovea_nn_cell cell;
static fovea_problem problem;

static fovea_nn_linear_rows linear_rows(const fovea_nn_linear *linear) {
  fovea_nn_linear_rows rows;
  fovea_nn_linear_rows_init(&rows, linear, ROWS, x, y);
  return rows;
}

/* One function for each struct: the first sets it, the second makes a call with it. */

static void set_linear(void *s, size_t size) {
  fovea_nn_linear_init_sized(s, size, DIM, DIM, weights);
}
static fovea_status use_linear(const void *s, fovea_error *error) {
  const fovea_nn_linear_rows rows = linear_rows(&layer);
  return fovea_nn_linear_run(s, &rows, NULL, error);
}

static void set_linear_rows(void *s, size_t size) {
  fovea_nn_linear_rows_init_sized(s, size, &layer, ROWS, x, y);
}
static fovea_status use_linear_rows(const void *s, fovea_error *error) {
  return fovea_nn_linear_run(&layer, s, NULL, error);
}

static fovea_status use_packed(const void *s, fovea_error *error) {
  return fovea_nn_pack(s, y, NULL, error);
}

static void set_codes(void *s, size_t size) {
  fovea_nn_codes_init_sized(s, size, FOVEA_NN_FORMAT_Q8_0, 32, 1, x);
}
static fovea_status use_codes(const void *s, fovea_error *error) {
  static _Alignas(64) float packed[KIND_NUMBERS];
  const fovea_status status = fovea_nn_pack_codes(s, packed, NULL, error);
  if (status == FOVEA_OK) memcpy(y, packed, sizeof packed);
  return status;
}
static fovea_status use_codes_size(const void *s, fovea_error *error) {
  size_t bytes;
  return fovea_nn_codes_size(s, &bytes, error);
}

static void set_map(void *s, size_t size) {
  fovea_nn_map_init_sized(s, size, ROWS, DIM, x, y);
}
static fovea_status use_map(const void *s, fovea_error *error) {
  return fovea_nn_activate(s, FOVEA_NN_ACTIVATION_GELU, NULL, error);
}
static fovea_status use_softmax(const void *s, fovea_error *error) {
  return fovea_nn_softmax(s, NULL, error);
}

static void set_norm(void *s, size_t size) {
  fovea_nn_norm_init_sized(s, size, FOVEA_NN_RMS_NORM, DIM);
}
static fovea_status use_norm(const void *s, fovea_error *error) {
  fovea_nn_norm_rows rows;
  fovea_nn_norm_rows_init(&rows, &norm, ROWS, x, y);
  return fovea_nn_norm_run(s, &rows, NULL, error);
}

static void set_norm_rows(void *s, size_t size) {
  fovea_nn_norm_rows_init_sized(s, size, &norm, ROWS, x, y);
}
static fovea_status use_norm_rows(const void *s, fovea_error *error) {
  return fovea_nn_norm_run(&norm, s, NULL, error);
}

static void set_attention(void *s, size_t size) {
  fovea_nn_attention_init_sized(s, size, &layer, &layer, &layer, &layer);
}
static fovea_status use_attention(const void *s, fovea_error *error) {
  fovea_nn_attention_tensors tensors;
  fovea_nn_attention_tensors_init(&tensors, x, y);
  return fovea_nn_attention_run(s, &problem, &tensors, NULL, error);
}

static void set_attention_tensors(void *s, size_t size) {
  fovea_nn_attention_tensors_init_sized(s, size, x, y);
}
static fovea_status use_attention_tensors(const void *s, fovea_error *error) {
  return fovea_nn_attention_run(&attention, &problem, s, NULL, error);
}

static void set_block(void *s, size_t size) {
  fovea_nn_block_init_sized(s, size, &attention, &norm, &layer, &layer, &norm);
}
static fovea_status use_block(const void *s, fovea_error *error) {
  const fovea_nn_attending self = {&problem, &self_tensors};
  return fovea_nn_block_run(s, &self, NULL, x, y, NULL, error);
}

static void set_sinusoids(void *s, size_t size) {
  fovea_nn_sinusoid_rows_init_sized(s, size, ROWS, DIM, y);
}
static fovea_status use_sinusoids(const void *s, fovea_error *error) {
  return fovea_nn_sinusoids(s, NULL, error);
}

static void set_embedding(void *s, size_t size) {
  fovea_nn_embedding_init_sized(s, size, DIM, 5, weights);
}
static fovea_status use_embedding(const void *s, fovea_error *error) {
  fovea_nn_embedding_rows rows;
  fovea_nn_embedding_rows_init(&rows, &embedding, ROWS, ids, y);
  return fovea_nn_embed(s, &rows, NULL, error);
}

static void set_embedding_rows(void *s, size_t size) {
  fovea_nn_embedding_rows_init_sized(s, size, &embedding, ROWS, ids, y);
}
static fovea_status use_embedding_rows(const void *s, fovea_error *error) {
  return fovea_nn_embed(&embedding, s, NULL, error);
}

static void set_dropout(void *s, size_t size) {
  fovea_nn_dropout_rows_init_sized(s, size, ROWS, DIM, x, y);
}
static fovea_status use_dropout(const void *s, fovea_error *error) {
  return fovea_nn_dropout(s, NULL, error);
}

static void set_additive(void *s, size_t size) {
  fovea_nn_additive_init_sized(s, size, DIM, weights);
}
static fovea_status use_additive(const void *s, fovea_error *error) {
  fovea_nn_additive_tensors tensors;
  fovea_nn_additive_tensors_init(&tensors, &additive, 1, ROWS, ROWS, DIM, x, x, x, y);
  return fovea_nn_additive_run(s, &tensors, NULL, error);
}

static void set_additive_tensors(void *s, size_t size) {
  fovea_nn_additive_tensors_init_sized(s, size, &additive, 1, ROWS, ROWS, DIM, x, x, x, y);
}
static fovea_status use_additive_tensors(const void *s, fovea_error *error) {
  return fovea_nn_additive_run(&additive, s, NULL, error);
}

static void set_cell(void *s, size_t size) {
  fovea_nn_cell_init_sized(s, size, &gates[0], &gates[1]);
}
static fovea_status use_cell(const void *s, fovea_error *error) {
  fovea_nn_cell_rows rows;
  fovea_nn_cell_rows_init(&rows, &cell, ROWS, x, x, y);
  return fovea_nn_gru(s, &rows, NULL, error);
}

static void set_cell_rows(void *s, size_t size) {
  fovea_nn_cell_rows_init_sized(s, size, &cell, ROWS, x, x, y);
}
static fovea_status use_cell_rows(const void *s, fovea_error *error) {
  return fovea_nn_gru(&cell, s, NULL, error);
}

/* A layer within another struct. */
static fovea_status use_value(const void *s, fovea_error *error) {
  fovea_nn_attention a = attention;
  a.value = s;
  return use_attention(&a, error);
}
static fovea_status use_hidden(const void *s, fovea_error *error) {
  fovea_nn_cell c = cell;
  c.input = NULL;
  c.hidden = s;
  return use_cell(&c, error);
}
static fovea_status use_down(const void *s, fovea_error *error) {
  fovea_nn_block b = block;
  b.down = s;
  return use_block(&b, error);
}
static fovea_status use_key(const void *s, fovea_error *error) {
  fovea_nn_additive a = additive;
  a.key = s;
  return use_additive(&a, error);
}
static fovea_status use_feed_norm(const void *s, fovea_error *error) {
  fovea_nn_block b = block;
  b.feed_norm = s;
  return use_block(&b, error);
}
static fovea_status use_self(const void *s, fovea_error *error) {
  fovea_nn_block b = block;
  b.self = s;
  return use_block(&b, error);
}
static fovea_status use_self_tensors(const void *s, fovea_error *error) {
  const fovea_nn_attending self = {&problem, s};
  return fovea_nn_block_run(&block, &self, NULL, x, y, NULL, error);
}
static void set_hidden(void *s, size_t size) {
  fovea_nn_linear_init_sized(s, size, DIM, 3 * DIM, weights);
}
static void set_self_tensors(void *s, size_t size) {
  fovea_nn_attention_tensors_init_sized(s, size, NULL, NULL);
}

static const struct struct_kind kinds[] = {
    {"linear", sizeof(fovea_nn_linear), set_linear, use_linear},
    {"rows", sizeof(fovea_nn_linear_rows), set_linear_rows, use_linear_rows},
    {"linear", sizeof(fovea_nn_linear), set_linear, use_packed},
    {"codes", sizeof(fovea_nn_codes), set_codes, use_codes},
    {"codes", sizeof(fovea_nn_codes), set_codes, use_codes_size},
    {"map", sizeof(fovea_nn_map), set_map, use_map},
    {"map", sizeof(fovea_nn_map), set_map, use_softmax},
    {"norm", sizeof(fovea_nn_norm), set_norm, use_norm},
    {"rows", sizeof(fovea_nn_norm_rows), set_norm_rows, use_norm_rows},
    {"attention", sizeof(fovea_nn_attention), set_attention, use_attention},
    {"tensors", sizeof(fovea_nn_attention_tensors), set_attention_tensors, use_attention_tensors},
    {"block", sizeof(fovea_nn_block), set_block, use_block},
    {"rows", sizeof(fovea_nn_sinusoid_rows), set_sinusoids, use_sinusoids},
    {"embedding", sizeof(fovea_nn_embedding), set_embedding, use_embedding},
    {"rows", sizeof(fovea_nn_embedding_rows), set_embedding_rows, use_embedding_rows},
    {"rows", sizeof(fovea_nn_dropout_rows), set_dropout, use_dropout},
    {"additive", sizeof(fovea_nn_additive), set_additive, use_additive},
    {"tensors", sizeof(fovea_nn_additive_tensors), set_additive_tensors, use_additive_tensors},
    {"cell", sizeof(fovea_nn_cell), set_cell, use_cell},
    {"rows", sizeof(fovea_nn_cell_rows), set_cell_rows, use_cell_rows},
    {"value", sizeof(fovea_nn_linear), set_linear, use_value},
    {"hidden", sizeof(fovea_nn_linear), set_hidden, use_hidden},
    {"down", sizeof(fovea_nn_linear), set_linear, use_down},
    {"key", sizeof(fovea_nn_linear), set_linear, use_key},
    {"feed_norm", sizeof(fovea_nn_norm), set_norm, use_feed_norm},
    {"self", sizeof(fovea_nn_attention), set_attention, use_self},
    {"tensors", sizeof(fovea_nn_attention_tensors), set_self_tensors, use_self_tensors},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Kinds of layers, then kinds of variants; NULL after the last one. */
static const struct struct_kind *kind_at(int i) {
  if (i < KINDS) return &kinds[i];
  return i < KINDS + variant_kind_count ? &variant_kinds[i - KINDS] : NULL;
}

static int set_up(void **state) {
  (void)state;
  for (int i = 0; i < KIND_NUMBERS; i++) x[i] = weights[i] = (float)(i % 7) - 3;
  set_linear(&layer, sizeof layer);
  set_norm(&norm, sizeof norm);
  for (int i = 0; i < 2; i++) set_hidden(&gates[i], sizeof gates[i]);
  set_attention(&attention, sizeof attention);
  set_self_tensors(&self_tensors, sizeof self_tensors);
  set_block(&block, sizeof block);
  set_embedding(&embedding, sizeof embedding);
  set_additive(&additive, sizeof additive);
  set_cell(&cell, sizeof cell);
  variant_kinds_set_up();
  fovea_problem_init(&problem, 1, 2, 2, ROWS, ROWS, DIM / 2, DIM / 2);
  return 0;
}

/* A pointer to a struct of `size` bytes, all of which lie right before a guard page. */
static struct guarded create_struct(size_t size) {
  struct guarded memory = guarded_create(size, GUARD_AT_END);
  memset(memory.data, 0xf7, memory.size);
  return memory;
}

/* Nothing beyond the struct is read, and two calls give the same. */
static void test_this_version(void **state) {
  (void)state;
  const struct struct_kind *kind;
  for (int i = 0; (kind = kind_at(i)) != NULL; i++) {
    struct guarded memory = create_struct(kind->size), before = create_struct(kind->size);
    fovea_error error;
    kind->set(memory.data, memory.size);
    kind->set(before.data, before.size);
    if (kind->use(memory.data, &error) != FOVEA_OK) fail_msg("%d, %s: %s", i, kind->name, error.text);
    assert_memory_equal(memory.data, before.data, memory.size);
    memcpy(y2, y, sizeof y2);
    guarded_make_read_only(&memory);
    assert_int_equal(kind->use(memory.data, NULL), FOVEA_OK);
    assert_memory_equal(y2, y, sizeof y2);
    guarded_destroy(&memory);
    guarded_destroy(&before);
  }
}

static void assert_refused(const struct struct_kind *kind, size_t struct_size) {
  const size_t there = struct_size < kind->size ? struct_size : kind->size;
  const size_t whole = there / 8 * 8;
  struct guarded memory = create_struct(whole < sizeof there ? sizeof there : whole);
  fovea_error error;
  char name[64];
  strcat(strcpy(name, kind->name), ".struct_size");
  memcpy(memory.data, &struct_size, sizeof struct_size);
  guarded_make_read_only(&memory);
  memset(y, 0x3a, sizeof kind_y);
  const fovea_status status = kind->use(memory.data, &error);
  if (status != FOVEA_ERROR_ARGUMENT) fail_msg("%s, %u bytes: %d", kind->name, (unsigned)struct_size, (int)status);
  assert_error_says(&error, name);
  for (size_t i = 0; i < sizeof kind_y; i++) assert_int_equal(((const unsigned char *)y)[i], 0x3a);
  guarded_destroy(&memory);
}

/* No version has been released, so there is one size. After the next field the older size belongs into
 * test_this_version(). */
static void test_other_versions(void **state) {
  (void)state;
  const struct struct_kind *kind;
  for (int i = 0; (kind = kind_at(i)) != NULL; i++) {
    for (size_t size = 0; size < kind->size; size++) assert_refused(kind, size);
    for (size_t more = 1; more <= 64; more++) assert_refused(kind, kind->size + more);
    assert_refused(kind, SIZE_MAX);
  }
}

static void test_initialisers(void **state) {
  (void)state;
  const struct struct_kind *kind;
  for (int i = 0; (kind = kind_at(i)) != NULL; i++)
    for (size_t size = sizeof size; size <= LONGEST; size += sizeof size) {
      unsigned char whole[LONGEST], part[LONGEST + 8];
      memset(part, 0xf7, sizeof part);
      kind->set(whole, kind->size);
      kind->set(part, size);
      const size_t written = size < kind->size ? size : kind->size;
      memcpy(whole, &size, sizeof size);
      assert_memory_equal(part, whole, written);
      for (size_t j = written; j < sizeof part; j++) assert_int_equal(part[j], 0xf7);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_this_version),
      cmocka_unit_test(test_other_versions),
      cmocka_unit_test(test_initialisers),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
