/* One long cache held by several machines: each machine attends to the keys that it has, and sends a state. The
 * states merge into the answer of one machine that has all keys, to the bit, since the cuts are at ends of
 * spans. */
#include <fovea/cache.h>
#include <fovea/fovea.h>
#include <fovea/state.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, DIM = 64, KEYS = 9000, MACHINES = 3 };

/* Machine m has keys cuts[m] to cuts[m + 1] - 1. */
static const int64_t cuts[MACHINES + 1] = {0, 2 * FOVEA_SPAN_KEYS, 3 * FOVEA_SPAN_KEYS, KEYS};

static void check(fovea_status status, const fovea_error *error) {
  if (status == FOVEA_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(EXIT_FAILURE);
}

static float *random_rows(int64_t rows) {
  float *numbers = malloc((size_t)(rows * DIM) * sizeof(float));
  if (!numbers) exit(EXIT_FAILURE);
  for (int64_t i = 0; i < rows * DIM; i++) numbers[i] = (float)rand() / (float)RAND_MAX * 4.0f - 2.0f;
  return numbers;
}

static fovea_state allocate_state(int64_t begin, int64_t end) {
  fovea_state state;
  float *numbers = malloc(HEADS * (size_t)fovea_state_numbers(DIM, begin, end) * sizeof(float));
  if (!numbers) exit(EXIT_FAILURE);
  fovea_state_init(&state, 1, HEADS, 1, DIM, begin, end, numbers);
  return state;
}

/* The state that a machine computes from its keys alone. Its segment begins at the position of its first key. */
static fovea_state attend_to_part(const fovea_problem *whole, const float *q, fovea_segment *part) {
  fovea_error error;
  fovea_tensors tensors;
  fovea_problem problem = *whole;
  const fovea_sequence sequence = fovea_sequence_of(part, 1);
  fovea_state state = allocate_state(part->first, part->first + part->rows);
  problem.cache.segmented = problem.state = 1;
  problem.keys.begin = part->first;
  problem.keys.end = part->first + part->rows;
  fovea_tensors_init(&tensors, q, NULL, NULL, NULL, NULL);
  tensors.cache.sequences = &sequence;
  tensors.state = &state;
  check(fovea_attend(&problem, &tensors, NULL, &error), &error);
  return state;
}

static fovea_state merge(fovea_state left, fovea_state right) {
  fovea_error error;
  fovea_state merged = allocate_state(left.keys.begin, right.keys.end);
  check(fovea_state_merge(&left, &right, &merged, NULL, &error), &error);
  free(left.numbers);
  free(right.numbers);
  return merged;
}

int main(void) {
  fovea_error error;
  fovea_problem problem;
  fovea_tensors tensors;
  float *q = random_rows(HEADS), *k = random_rows(KV_HEADS * KEYS), *v = random_rows(KV_HEADS * KEYS);
  float alone[HEADS][DIM], together[HEADS][DIM];
  fovea_problem_init(&problem, 1, HEADS, KV_HEADS, 1, KEYS, DIM, DIM);
  fovea_tensors_init(&tensors, q, k, v, alone, NULL);
  check(fovea_attend(&problem, &tensors, NULL, &error), &error);

  fovea_state sum = allocate_state(0, 0); /* a state of no keys */
  for (int machine = 0; machine < MACHINES; machine++) {
    fovea_segment part = {.first = cuts[machine],
                          .rows = cuts[machine + 1] - cuts[machine],
                          .k = k + cuts[machine] * DIM,
                          .v = v + cuts[machine] * DIM,
                          .k_head = KEYS * DIM,
                          .v_head = KEYS * DIM,
                          .k_row = DIM,
                          .v_row = DIM,
                          .kv_heads = KV_HEADS,
                          .qk_dim = DIM,
                          .v_dim = DIM};
    fovea_state state = attend_to_part(&problem, q, &part);
    printf("machine %d: keys %lld to %lld, %lld bytes to send\n", machine, (long long)state.keys.begin,
           (long long)state.keys.end - 1,
           (long long)(HEADS * fovea_state_numbers(DIM, state.keys.begin, state.keys.end) * 4));
    sum = merge(sum, state);
  }
  fovea_tensors_init(&tensors, NULL, NULL, NULL, together, NULL);
  tensors.state = &sum;
  check(fovea_state_finish(&problem, &tensors, NULL, &error), &error);
  int same = memcmp(alone, together, sizeof alone) == 0;
  printf("%s\n", same ? "the bits of one machine" : "not the bits of one machine");
  free(sum.numbers);
  free(q);
  free(k);
  free(v);
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
