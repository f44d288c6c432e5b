/* A streaming encoder: frames come in chunks, a row sees its whole chunk and LEFT frames before it, and a ring
 * keeps only the frames that later rows can see. Results have the bits of one call over all frames. */
#include <fovea/cache.h>
#include <fovea/fovea.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 4, DIM = 32, FRAMES = 400, CHUNK = 16, LEFT = 40, CAPACITY = LEFT + CHUNK };

static float q[FRAMES][HEADS][DIM], k[FRAMES][HEADS][DIM], v[FRAMES][HEADS][DIM];
static float streamed[FRAMES][HEADS][DIM], whole[FRAMES][HEADS][DIM];

static void check(fovea_status status, const fovea_error *error) {
  if (status == FOVEA_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(EXIT_FAILURE);
}

/* `rows` rows that end with frame `keys` - 1. */
static fovea_problem describe(int64_t rows, int64_t keys) {
  fovea_problem problem;
  fovea_problem_init(&problem, 1, HEADS, HEADS, rows, keys, DIM, DIM);
  problem.q_strides = problem.o_strides = fovea_strides_rows_before_heads(rows, HEADS, DIM);
  problem.chunks.size = CHUNK;
  problem.chunks.left = LEFT;
  return problem;
}

static void push(const fovea_pages *ring, int64_t first, int64_t rows) {
  fovea_error error;
  fovea_segment segments[FOVEA_RING_SEGMENTS];
  fovea_sequence sequence;
  int64_t end = first + rows, begin = end > CAPACITY ? end - CAPACITY : 0;
  check(fovea_cache_ring(ring, 0, begin, end, segments, &sequence, &error), &error);

  fovea_new_rows fresh;
  fovea_new_rows_init(&fresh, 1, HEADS, rows, DIM, DIM, k[first], v[first], &sequence);
  fresh.k_strides = fresh.v_strides = fovea_strides_rows_before_heads(rows, HEADS, DIM);
  fresh.first_position = first;
  check(fovea_append(&fresh, NULL, NULL, &error), &error);

  fovea_problem problem = describe(rows, end);
  problem.cache.segmented = 1;
  problem.kv_begins = &begin;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, q[first], NULL, NULL, streamed[first], NULL);
  tensors.cache.sequences = &sequence;
  check(fovea_attend(&problem, &tensors, NULL, &error), &error);
}

int main(void) {
  fovea_error error;
  for (int i = 0; i < FRAMES * HEADS * DIM; i++) {
    (&q[0][0][0])[i] = (float)(i * 37 % 101 - 50) / 32;
    (&k[0][0][0])[i] = (float)(i * 53 % 89 - 44) / 32;
    (&v[0][0][0])[i] = (float)(i * 29 % 97 - 48) / 32;
  }
  static float k_ring[HEADS * CAPACITY * DIM], v_ring[HEADS * CAPACITY * DIM];
  fovea_pages ring;
  fovea_pages_init(&ring, 1, CAPACITY, HEADS, DIM, DIM, FOVEA_F32, FOVEA_KEYS_IN_ROWS);
  ring.k = k_ring;
  ring.v = v_ring;
  for (int64_t first = 0; first < FRAMES; first += CHUNK) push(&ring, first, CHUNK);

  fovea_problem problem = describe(FRAMES, FRAMES);
  problem.k_strides = problem.v_strides = problem.q_strides;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, q, k, v, whole, NULL);
  check(fovea_attend(&problem, &tensors, NULL, &error), &error);
  int same = memcmp(streamed, whole, sizeof whole) == 0;
  printf("%d frames in chunks of %d over a ring of %d: %s\n", FRAMES, CHUNK, CAPACITY,
         same ? "the bits of one call" : "OTHER BITS");
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
