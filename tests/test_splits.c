/* A row's bits depend on its own query and on what it sees, and on nothing else: not on the batch around it, not on
 * how many rows one call computes, not on how batch elements of different lengths are stored. */
#include "support/check.h"
#include "support/modes.h"
#include "support/problems.h"
#include "support/trial.h"

#include <string.h>

typedef void (*isa_check)(const char *isa);

static void on_every_isa(isa_check check) {
  const char *const *isas = whole_isas_for(NULL);
  for (int i = 0; isas[i] != NULL; i++) check(isas[i]);
}

/* Every batch element, run alone. */
static void check_batch(const char *isa) {
  static const int64_t q_lens[] = {70, 1, 0, 33}, kv_lens[] = {200, 150, 180, 0}, offsets[] = {130, -4, 9, 100};
  for (int variant = 0; variant < 4; variant++) {
    fovea_problem problem;
    fovea_problem_init(&problem, 4, 4, 2, 70, 200, 40, 24);
    fovea_problem_resolve(&problem, NULL);
    problem.causal = 1;
    if (variant & 1) problem.q_lens = q_lens;
    if (variant & 1) problem.kv_lens = kv_lens;
    if (variant & 2) problem.offsets = offsets;
    struct trial whole = trial_create(&problem, 1);
    trial_run(&whole, isa, NULL);
    for (int64_t b = 0; b < 4; b++) {
      fovea_problem single;
      fovea_problem_init(&single, 1, 4, 2, 70, 200, 40, 24);
      fovea_problem_resolve(&single, NULL);
      single.causal = 1;
      if (variant & 1) single.q_lens = q_lens + b;
      if (variant & 1) single.kv_lens = kv_lens + b;
      if (variant & 2) single.offset = offsets[b];
      const struct part entry = {b, 0, 0}, start = {0, 0, 0};
      struct trial alone = trial_of_part(&single, &whole, entry, entry);
      trial_run(&alone, isa, NULL);
      assert_same_part(&alone, start, &whole, entry, 1, 4, 70);
      trial_destroy(&alone);
    }
    trial_destroy(&whole);
  }
}

static void test_batch(void **state) {
  (void)state;
  on_every_isa(check_batch);
}

/* More batch elements than a call has room for on its stack, of growing lengths, each run alone. */
static void check_many_entries(const char *isa) {
  enum { ENTRIES_OF_MANY = 70 };
  int64_t kv_lens[ENTRIES_OF_MANY];
  for (int b = 0; b < ENTRIES_OF_MANY; b++) kv_lens[b] = b * 37 % 71;
  fovea_problem problem;
  fovea_problem_init(&problem, ENTRIES_OF_MANY, 2, 1, 3, 70, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.kv_lens = kv_lens;
  struct trial whole = trial_create(&problem, 8);
  trial_run(&whole, isa, NULL);
  for (int64_t b = 0; b < ENTRIES_OF_MANY; b++) {
    fovea_problem single;
    fovea_problem_init(&single, 1, 2, 1, 3, kv_lens[b], 8, 8);
    fovea_problem_resolve(&single, NULL);
    const struct part entry = {b, 0, 0}, start = {0, 0, 0};
    struct trial alone = trial_of_part(&single, &whole, entry, entry);
    trial_run(&alone, isa, NULL);
    assert_same_part(&alone, start, &whole, entry, 1, 2, 3);
    trial_destroy(&alone);
  }
  trial_destroy(&whole);
}

static void test_many_entries(void **state) {
  (void)state;
  on_every_isa(check_many_entries);
}

/* What batch elements and heads have of their own: masks and sinks. Each head of each batch element is run alone,
 * in pieces of rows. */
enum { BATCH = 2, HEADS = 4, ROWS = 50, PIECE = 17 };

static void check_pieces(struct trial *whole, const char *isa) {
  trial_run(whole, isa, NULL);
  for (int64_t b = 0; b < BATCH; b++)
    for (int64_t h = 0; h < HEADS; h++)
      for (int64_t first = 0; first < ROWS; first += PIECE) {
        fovea_problem single = whole->problem;
        single.batch = single.heads = single.kv_heads = 1;
        single.q_len = first + PIECE < ROWS ? PIECE : ROWS - first;
        const struct part q = {b, h, first}, kv = {b, h / 2, 0}, start = {0, 0, 0};
        struct trial alone = trial_of_part(&single, whole, q, kv);
        trial_run(&alone, isa, NULL);
        assert_same_part(&alone, start, whole, q, 1, 1, single.q_len);
        trial_destroy(&alone);
      }
}

static void test_features(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < USUAL_OR_LONG(10, 40); seed++) {
    struct generator generator = {seed};
    fovea_problem problem;
    fovea_problem_init(&problem, BATCH, HEADS, 2, ROWS, 300, 20, 12);
    fovea_problem_resolve(&problem, NULL);
    problem_random_features(&problem, &generator);
    problem_random_modes(&problem, &generator, 4);
    struct trial whole = trial_create(&problem, seed);
    const char *const *isas = usable_isas_for(&problem);
    for (int isa = 0; isas[isa] != NULL; isa++) check_pieces(&whole, isas[isa]);
    trial_destroy(&whole);
  }
}

/* Every query head with its kv head, run alone. */
static void check_heads(const char *isa) {
  fovea_problem problem, single;
  fovea_problem_init(&problem, 1, 6, 2, 45, 300, 32, 20);
  fovea_problem_resolve(&problem, NULL);
  fovea_problem_init(&single, 1, 1, 1, 45, 300, 32, 20);
  fovea_problem_resolve(&single, NULL);
  struct trial whole = trial_create(&problem, 2);
  trial_run(&whole, isa, NULL);
  for (int64_t h = 0; h < 6; h++) {
    const struct part q_head = {0, h, 0}, kv_head = {0, h / 3, 0}, start = {0, 0, 0};
    struct trial alone = trial_of_part(&single, &whole, q_head, kv_head);
    trial_run(&alone, isa, NULL);
    assert_same_part(&alone, start, &whole, q_head, 1, 1, 45);
    trial_destroy(&alone);
  }
  trial_destroy(&whole);
}

static void test_heads(void **state) {
  (void)state;
  on_every_isa(check_heads);
}

/* A prefill in pieces: rows from `first` on, with the offset of their position. A piece of one row is what decoding
 * runs. */
static void check_query_pieces(const char *isa, const struct rule *rule, int64_t piece) {
  const int64_t rows = USUAL_OR_LONG(130, 260), keys = USUAL_OR_LONG(300, 2300);
  fovea_problem problem;
  fovea_problem_init(&problem, 1, 4, 2, rows, keys, 16, 16);
  fovea_problem_resolve(&problem, NULL);
  problem_apply(&problem, rule);
  struct trial whole = trial_create(&problem, 3);
  trial_run(&whole, isa, NULL);
  const int64_t offset = rule->offset == FOVEA_OFFSET_BOTTOM_RIGHT ? keys - rows : rule->offset;
  const int64_t step = piece == 1 ? 23 : piece;
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = first + piece < rows ? piece : rows - first;
    fovea_problem part;
    fovea_problem_init(&part, 1, 4, 2, count, keys, 16, 16);
    fovea_problem_resolve(&part, NULL);
    problem_apply(&part, rule);
    part.offset = offset + first;
    const struct part q = {0, 0, first}, start = {0, 0, 0};
    struct trial trial = trial_of_part(&part, &whole, q, start);
    trial_run(&trial, isa, NULL);
    assert_same_part(&trial, start, &whole, q, 1, 4, count);
    trial_destroy(&trial);
  }
  trial_destroy(&whole);
}

static void test_query_pieces(void **state) {
  (void)state;
  static const int64_t pieces[] = {1, 5, 16, 100, 257};
  const char *const *isas = whole_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int rule = 0; rule < rule_count; rule++)
      for (int piece = rule % 2; piece < 5; piece += 2)
        check_query_pieces(isas[isa], &rule_list[rule], pieces[piece]);
}

/* Lengths of a ragged batch, stored packed and padded. */
enum { ENTRIES = 6 };
static const int64_t ragged_q[ENTRIES] = {37, 1, 0, 150, 64, 20};
static const int64_t ragged_kv[ENTRIES] = {90, 131, 50, 150, 0, 260};
static const int64_t longest_q = 150, longest_kv = 260;

/* Copies batch element b of a padded tensor to its place in a packed one. */
static void pack_entry(struct tensor *packed, int64_t at, const struct tensor *padded, int64_t b, int64_t length) {
  for (int64_t h = 0; h < padded->heads; h++)
    for (int64_t i = 0; i < length; i++)
      memcpy(tensor_row(packed, 0, h, at + i), tensor_row(padded, b, h, i), (size_t)padded->dim * sizeof(float));
}

static void check_packed(const char *isa, const struct rule *rule, int pack_q, int pack_kv) {
  int32_t cu_q[ENTRIES + 1] = {2}, cu_kv[ENTRIES + 1] = {5}; /* rows before the first sequence belong to none */
  for (int b = 0; b < ENTRIES; b++) {
    cu_q[b + 1] = cu_q[b] + (int32_t)ragged_q[b];
    cu_kv[b + 1] = cu_kv[b] + (int32_t)ragged_kv[b];
  }
  fovea_problem problem;
  fovea_problem_init(&problem, ENTRIES, 4, 2, longest_q, longest_kv, 24, 16);
  int64_t offsets[ENTRIES], packed_offsets[ENTRIES];
  fovea_problem_resolve(&problem, NULL);
  problem_apply(&problem, rule);
  problem.offset = rule->offset;
  problem.q_lens = ragged_q;
  problem.kv_lens = ragged_kv;
  problem_say_offsets(&problem, offsets);
  struct trial padded = trial_create(&problem, 4);
  trial_run(&padded, isa, NULL);

  fovea_problem_init(&problem, ENTRIES, 4, 2, pack_q ? cu_q[ENTRIES] + 3 : longest_q,
                     pack_kv ? cu_kv[ENTRIES] + 3 : longest_kv, 24, 16);
  fovea_problem_resolve(&problem, NULL);
  problem_apply(&problem, rule);
  problem.offset = rule->offset;
  if (pack_q)
    problem.cu_seqlens_q = cu_q;
  else
    problem.q_lens = ragged_q;
  if (pack_kv)
    problem.cu_seqlens_kv = cu_kv;
  else
    problem.kv_lens = ragged_kv;
  problem_say_offsets(&problem, packed_offsets);
  struct trial packed = trial_create(&problem, 4);
  for (int64_t b = 0; b < ENTRIES; b++) {
    if (pack_q) pack_entry(&packed.q, cu_q[b], &padded.q, b, ragged_q[b]);
    if (pack_kv) pack_entry(&packed.k, cu_kv[b], &padded.k, b, ragged_kv[b]);
    if (pack_kv) pack_entry(&packed.v, cu_kv[b], &padded.v, b, ragged_kv[b]);
  }
  trial_run(&packed, isa, NULL);
  for (int64_t b = 0; b < ENTRIES; b++) {
    const struct part in_packed = {pack_q ? 0 : b, 0, pack_q ? cu_q[b] : 0}, in_padded = {b, 0, 0};
    assert_same_part(&packed, in_packed, &padded, in_padded, 1, 4, pack_q ? ragged_q[b] : longest_q);
  }
  trial_destroy(&packed);
  trial_destroy(&padded);
}

static void test_packed(void **state) {
  (void)state;
  const char *const *isas = whole_isas_for(NULL);
  for (int isa = 0; isas[isa] != NULL; isa++)
    for (int rule = 0; rule < rule_count; rule++)
      for (int packing = 1; packing < 4; packing++)
        check_packed(isas[isa], &rule_list[rule], packing & 1, packing & 2);
}

/* Rows of a packed batch that belong to no sequence are not written. */
static void check_nobodys_rows(const char *isa) {
  static const int32_t cumulative[] = {3, 8, 8, 20};
  fovea_problem problem;
  fovea_problem_init(&problem, 3, 2, 1, 25, 25, 8, 8);
  fovea_problem_resolve(&problem, NULL);
  problem.cu_seqlens_q = problem.cu_seqlens_kv = cumulative;
  struct trial trial = trial_create(&problem, 5);
  trial_run(&trial, isa, NULL);
  struct tensor untouched;
  tensor_create(&untouched, 1, 1, 1, 8, problem.o_strides, GUARD_AT_END);
  tensor_fill_untouched(&untouched);
  for (int64_t h = 0; h < 2; h++)
    for (int64_t i = 0; i < 25; i++) {
      const int same_o = memcmp(tensor_row(&trial.o, 0, h, i), untouched.data, 8 * sizeof(float)) == 0;
      const int same_lse = memcmp(tensor_row(&trial.lse, 0, h, i), untouched.data, sizeof(float)) == 0;
      const int nobodys = i < 3 || i >= 20;
      assert_int_equal(same_o, nobodys);
      assert_int_equal(same_lse, nobodys);
    }
  tensor_destroy(&untouched);
  trial_destroy(&trial);
}

static void test_nobodys_rows(void **state) {
  (void)state;
  on_every_isa(check_nobodys_rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_batch),        cmocka_unit_test(test_many_entries), cmocka_unit_test(test_heads),
      cmocka_unit_test(test_features),     cmocka_unit_test(test_query_pieces), cmocka_unit_test(test_packed),
      cmocka_unit_test(test_nobodys_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
