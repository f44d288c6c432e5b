/* bf16 mode has the bits of its contract on every instruction set, for any rules, threads and types. */
#include "contract_modes.h"

#include "support/check.h"
#include "support/trial.h"

#include <string.h>

struct rules {
  const struct trial *trial;
  int64_t batch, head, row;
};

static int sees(const void *data, int64_t position) {
  const struct rules *rules = data;
  return trial_sees(rules->trial, rules->batch, rules->head, rules->row, position);
}

static void check_row(const struct trial *trial, const struct trial *got, int64_t b, int64_t h, int64_t i) {
  const fovea_problem *p = &trial->problem;
  const int64_t kv = h / (p->heads / p->kv_heads);
  const struct rules rules = {trial, b, h, i};
  float out[512], lse;
  const struct contract_mode_row row = {
      .scores = p->scores == FOVEA_MODE_BF16 ? MODE_BF16 : MODE_EXACT,
      .values = p->values == FOVEA_MODE_BF16 ? MODE_BF16 : MODE_EXACT,
      .q = tensor_row(&trial->q, b, h, i),
      .k = p->kv_len > 0 ? tensor_row(&trial->k, b, kv, 0) : NULL,
      .v = p->kv_len > 0 ? tensor_row(&trial->v, b, kv, 0) : NULL,
      .k_stride = p->k_strides.row,
      .v_stride = p->v_strides.row,
      .qk_dim = p->qk_dim,
      .v_dim = p->v_dim,
      .positions = p->kv_len,
      .scale = p->scale,
      .softcap = p->softcap,
      .sees = sees,
      .rules = &rules,
  };
  contract_mode_row(&row, out, &lse);
  if (memcmp(out, tensor_row(&got->o, b, h, i), (size_t)p->v_dim * sizeof(float)) != 0)
    fail_msg("head %d, row %d of %d x %d, dims %d, %d: other bits", (int)h, (int)i, (int)p->q_len, (int)p->kv_len,
             (int)p->qk_dim, (int)p->v_dim);
}

/* With AMX, if it can be allowed; else with the sets that this CPU has. */
static void check_contract(int amx) {
  static const int64_t shapes[][4] = {{1, 1, 1, 1},       {1, 40, 64, 64}, {5, 130, 33, 7},    {70, 70, 40, 130},
                                      {20, 300, 128, 96}, {64, 64, 2, 3},  {33, 2100, 31, 16}, {150, 260, 64, 64}};
  for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
    for (int variant = 0; variant < 6; variant++) {
      fovea_problem problem;
      fovea_problem_init(&problem, 1 + variant % 2, 4, 1 + variant % 2, shapes[s][0], shapes[s][1], shapes[s][2],
                         shapes[s][3]);
      problem.scores = variant % 3 != 1 ? FOVEA_MODE_BF16 : FOVEA_MODE_EXACT;
      problem.values = variant % 3 != 2 ? FOVEA_MODE_BF16 : FOVEA_MODE_EXACT;
      problem.causal = variant & 1;
      if (variant > 3) problem.window_left = 50;
      if (variant == 2) problem.softcap = 3;
      struct trial expected = trial_create(&problem, s * 10 + (size_t)variant);
      struct trial trial = trial_sharing_inputs(&expected);
      for (const char *const *isa = usable_isas(); *isa != NULL; isa++) {
        if (amx && isa != usable_isas()) break;
        trial_run(&trial, amx ? NULL : *isa, NULL);
        for (int64_t b = 0; b < problem.batch; b++)
          for (int64_t h = 0; h < problem.heads; h++)
            for (int64_t i = 0; i < problem.q_len; i += 1 + problem.q_len / 9)
              check_row(&expected, &trial, b, h, i);
      }
      trial_destroy(&trial);
      trial_destroy(&expected);
    }
}

static void test_sets(void **state) {
  (void)state;
  check_contract(0);
}

static void test_amx(void **state) {
  (void)state;
  fovea_error error;
  if (fovea_allow_amx(&error) != FOVEA_OK) {
    print_message("not tried: %s\n", error.text);
    skip();
  }
  check_contract(1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sets), cmocka_unit_test(test_amx)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
