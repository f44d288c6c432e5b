/* The example tells llama2.c's story, gives the tokens of a forward pass in float64, and gives the same bits for
 * every layout of the cache, every cut of the prompt and every way to compute attention.
 *
 * FOVEA_CONFORMANCE_DIR/models holds stories260K.bin and tok512.bin; without them the status is 77, which ctest
 * takes as skipped. */
#include "compare.h"
#include "reference.h"
#include "sample.h"
#include "session.h"
#include "support/check.h"
#include "support/trial.h"
#include "tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_SKIPPED 77
#define STEPS          200
#define PATH_SIZE      1024

/* The text that llama2.c's own test expects of this model in 200 greedy steps. */
static const char known_text[] =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw "
    "a big, red ball. She wanted to play with it, but it was too high.\nLily's mom said, \"Lily, let's go to the "
    "park.\" Lily was sad and didn't know what to do. She said, \"I want to play with your ball, but I can't find "
    "it.\"\nLily was sad and didn't know what to do. She said, \"I'm sorry, Lily. I didn't know what to "
    "do.\"\nLily "
    "didn't want to help her mom, so she";

static char model_path[PATH_SIZE], tokenizer_path[PATH_SIZE];
static struct model model;
static struct tokenizer tokenizer;

/* The output of a session: the scores before each greedy token, and the tokens. */
struct telling {
  int64_t steps;
  int32_t tokens[STEPS];
  float *logits; /* steps x vocabulary */
};

static size_t logits_bytes(const struct telling *telling) {
  return (size_t)(telling->steps * model.vocabulary) * sizeof(float);
}

static void require(bool done, const struct failure *failure) {
  if (!done) fail_msg("%s", failure->text);
}

static struct telling tell(const struct session_options *options, const int32_t *prompt, int64_t count,
                           int64_t steps) {
  struct telling telling = {.steps = steps};
  struct session_options with_room = *options;
  struct session session;
  struct failure failure = {""};
  with_room.positions = count + steps;
  require(session_open(&session, &model, &with_room, &failure), &failure);
  memset(session.cache.memory, 0xff, session.cache.bytes); /* NaN, of every type: nothing but rows may be visible */
  telling.logits = malloc(logits_bytes(&telling));
  assert_non_null(telling.logits);
  require(session_feed(&session, prompt, count, &failure), &failure);
  for (int64_t i = 0; i < steps; i++) {
    memcpy(telling.logits + i * model.vocabulary, session.logits, (size_t)model.vocabulary * sizeof(float));
    telling.tokens[i] = sample_greedily(session.logits, model.vocabulary);
    require(session_feed(&session, &telling.tokens[i], 1, &failure), &failure);
  }
  session_close(&session);
  return telling;
}

static int32_t *encode(const char *text, int64_t *count) {
  int32_t *tokens = NULL;
  struct failure failure = {""};
  require(tokenizer_encode(&tokenizer, text, &tokens, count, &failure), &failure);
  return tokens;
}

/* Appends the texts of tokens to a text that ends with a zero. */
static void decode(char *text, size_t size, int32_t before, const int32_t *tokens, int64_t count) {
  size_t length = strlen(text);
  for (int64_t i = 0; i < count; before = tokens[i++])
    length += tokenizer_decode(&tokenizer, before, tokens[i], text + length, size - 1 - length);
  text[length] = 0;
}

static const struct session_options plainly = {.page_rows = 16, .chunk = 1000, .threads = 1};

static void test_known_text(void **state) {
  (void)state;
  const int32_t begin = TOKEN_BEGIN;
  char text[2048] = "";
  struct telling telling = tell(&plainly, &begin, 1, STEPS);
  decode(text, sizeof text, begin, telling.tokens, telling.steps);
  assert_string_equal(text, known_text);

  /* Encoding the story gives the tokens that the model chose. */
  int64_t count;
  int32_t *tokens = encode(known_text, &count);
  assert_int_equal(count - 1, telling.steps);
  assert_memory_equal(tokens + 1, telling.tokens, sizeof telling.tokens);
  free(tokens);
  free(telling.logits);
}

static void test_tokenizer(void **state) {
  (void)state;
  static const char *const texts[] = {known_text, "Tim & Zoë: 北京 \x01 \xff!", " two  spaces ", "x"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    int64_t count;
    int32_t *tokens = encode(texts[i], &count);
    char text[2048] = "";
    assert_int_equal(tokens[0], TOKEN_BEGIN);
    decode(text, sizeof text, tokens[0], tokens + 1, count - 1);
    assert_string_equal(text, texts[i]);
    free(tokens);
  }
  int64_t count;
  int32_t *tokens = encode("", &count); /* no text to put a space before */
  assert_int_equal(count, 1);
  free(tokens);
}

/* Feeds both the tokens that the reference finds likeliest, and compares scores and tokens. */
static void compare_with_reference(const char *prompt_text, int window) {
  struct session_options options = plainly;
  struct reference *reference = reference_open(model_path);
  int64_t count;
  int32_t *prompt = encode(prompt_text, &count);
  double worst = 0;
  options.window = window;
  struct telling telling = tell(&options, prompt, count, STEPS);
  assert_non_null(reference);
  const double *logits = reference_next(reference, prompt[0], window);
  for (int64_t i = 1; i < count; i++) logits = reference_next(reference, prompt[i], window);
  for (int64_t i = 0; i < STEPS; i++) {
    int likeliest = 0;
    for (int j = 0; j < reference_vocabulary(reference); j++) {
      if (logits[j] > logits[likeliest]) likeliest = j;
      worst = fmax(worst, fabs(logits[j] - (double)telling.logits[i * model.vocabulary + j]));
    }
    if (likeliest != telling.tokens[i])
      fail_msg("'%s', window %d: token %d is %d, in float64 %d", prompt_text, window, (int)i,
               (int)telling.tokens[i], likeliest);
    logits = reference_next(reference, likeliest, window);
  }
  printf("'%s', window %d: scores differ by up to %.2g\n", prompt_text, window, worst);
  assert_true(worst < 1e-4); /* scores reach 20; measured: 1.9e-5 */
  free(telling.logits);
  free(prompt);
  reference_close(reference);
}

static void test_float64(void **state) {
  (void)state;
  compare_with_reference("Once upon a time", 0);
  compare_with_reference("One day, a cat named Tom", 48);
  if (USUAL_OR_LONG(1, 0)) return;
  compare_with_reference("", 0);
  compare_with_reference("The dragon and the princess", 0);
}

static int count_names(const char *const *names) {
  int count = 0;
  while (names[count] != NULL) count++;
  return count;
}

/* Every kind and layout of cache on every instruction set, with chunks, pages and threads that go round. */
static void compare_bits(fovea_type type, int64_t window, fovea_mode mode) {
  static const int64_t chunks[] = {1, 1000, 7, 64, 33}, pages[] = {16, 1, 5, 100};
  const char *const *isas = usable_names();
  const int isa_count = count_names(isas), steps = USUAL_OR_LONG(8, 60);
  struct session_options options = plainly;
  int64_t count;
  int32_t *prompt = encode(known_text, &count); /* 201 tokens at once are enough to keep two threads busy */
  count = USUAL_OR_LONG(90, count);
  options.type = type;
  options.window = window;
  options.mode = mode;
  struct telling expected = tell(&options, prompt, count, steps);
  for (int i = 0; i < 6 * isa_count; i++) {
    options.cache = (enum cache_kind)(i % 3);
    options.key_layout = i / 3 % 2 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS;
    options.isa = isas[i / 6];
    options.chunk = chunks[(i + (int)type) % 5];
    options.page_rows = pages[i % 4];
    options.threads = 1 + i % 2;
    struct telling got = tell(&options, prompt, count, steps);
    if (memcmp(got.logits, expected.logits, logits_bytes(&got)) != 0)
      fail_msg("type %d, mode %d, window %d, cache %d, keys %d, isa %s, chunk %d, page %d, threads %d: other bits",
               (int)type, (int)mode, (int)window, (int)options.cache, (int)options.key_layout, options.isa,
               (int)options.chunk, (int)options.page_rows, options.threads);
    free(got.logits);
  }
  free(expected.logits);
  free(prompt);
}

/* Modes have other scores: they are not exact mode under another name. */
static void test_mode(void **state) {
  (void)state;
  struct session_options options = plainly;
  int64_t count;
  int32_t *prompt = encode(known_text, &count);
  struct telling exact = tell(&options, prompt, 20, 1);
  options.mode = FOVEA_MODE_BF16;
  struct telling rounded = tell(&options, prompt, 20, 1);
  options.mode = FOVEA_MODE_INT8;
  struct telling coded = tell(&options, prompt, 20, 1);
  assert_memory_not_equal(rounded.logits, exact.logits, logits_bytes(&exact));
  assert_memory_not_equal(coded.logits, exact.logits, logits_bytes(&exact));
  assert_memory_not_equal(coded.logits, rounded.logits, logits_bytes(&exact));
  free(coded.logits);
  free(rounded.logits);
  free(exact.logits);
  free(prompt);
}

static void test_bits(void **state) {
  (void)state;
  compare_bits(FOVEA_F32, 0, FOVEA_MODE_EXACT);
  compare_bits(FOVEA_BF16, 40, FOVEA_MODE_EXACT);
  if (USUAL_OR_LONG(1, 0)) return;
  compare_bits(FOVEA_F16, 40, FOVEA_MODE_BF16);
  compare_bits(FOVEA_F32, 0, FOVEA_MODE_INT8);
  compare_bits(FOVEA_F32, 40, FOVEA_MODE_EXACT);
  compare_bits(FOVEA_F16, 0, FOVEA_MODE_EXACT);
}

/* Quantised rows are what they are when they are appended: no kind of cache, layout, page, chunk, thread or
 * instruction set changes a bit. If keys share scales in groups, the newest rows stay in f32 until their group is
 * full, and a chunk sees other rows in f32 than its tokens one by one. */
static void test_narrow_bits(void **state) {
  (void)state;
  static const struct {
    struct narrow_choice choice;
    bool panels, groups;
  } cases[] = {
      {{"q8_0", "q8_0", 0}, false, false},
      {{"i8_rows", "q4_1", 0}, true, false},
      {{"kivi_v4", "kivi_v2", 0}, true, false},
      {{"e4m3", "ort_s8_dims", 0.5}, true, false},
      {{"vllm_e4m3_keys", "e4m3", 0}, false, false},
      {{"kivi_k4", "kivi_v4", 0}, false, true},
      {{"openvino_u8_keys", "openvino_u8", 0}, false, true},
  };
  static const int64_t chunks[] = {1, 1000, 7}, pages[] = {16, 5, 64};
  const char *const *isas = usable_names();
  const int isa_count = count_names(isas), steps = USUAL_OR_LONG(4, 10);
  int64_t count;
  int32_t *prompt = encode(known_text, &count);
  count = USUAL_OR_LONG(40, 70);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct session_options options = plainly;
    options.narrow = cases[i].choice;
    options.chunk = 33;
    struct telling expected = tell(&options, prompt, count, steps);
    for (int j = 0; j < 3 * isa_count; j++) {
      options.isa = isas[j / 3];
      options.threads = 1 + j % 2;
      if (!cases[i].groups) {
        options.cache = (enum cache_kind)(j % 3);
        options.chunk = chunks[(j + (int)i) % 3];
        options.page_rows = pages[j / 3 % 3];
        options.key_layout = cases[i].panels && j / 2 % 2 ? FOVEA_KEYS_IN_PANELS : FOVEA_KEYS_IN_ROWS;
      }
      struct telling got = tell(&options, prompt, count, steps);
      if (memcmp(got.logits, expected.logits, logits_bytes(&got)) != 0)
        fail_msg("%s, cache %d, keys %d, isa %s, chunk %d, page %d, threads %d: other bits", cases[i].choice.k,
                 (int)options.cache, (int)options.key_layout, options.isa, (int)options.chunk,
                 (int)options.page_rows, options.threads);
      free(got.logits);
    }
    free(expected.logits);
  }
  free(prompt);
}

/* Appends the same rows to a quantised cache, `chunk` at a time, and reads it back: keys, then values, of all layers.
 */
static float *store_rows(int64_t chunk, int64_t rows) {
  enum { LAYERS = 2, HEADS = 2, DIM = 8, SIDE = LAYERS * HEADS * DIM };
  struct narrow_cache cache;
  struct failure failure = {""};
  fovea_format k, v;
  fovea_error error;
  fovea_segment segments[2];
  const struct narrow_choice choice = {"kivi_k4", "kivi_v4", 0};
  require(narrow_choose(&choice, DIM, &k, &v, &failure), &failure);
  require(narrow_create(&cache, &k, &v, LAYERS, HEADS, DIM, rows, chunk, &failure), &failure);
  float *in = malloc((size_t)(2 * SIDE * rows) * sizeof *in),
        *out = malloc((size_t)(2 * SIDE * rows) * sizeof *out);
  assert_true(in && out);
  for (int64_t i = 0; i < 2 * SIDE * rows; i++) in[i] = (float)(i * 7919 % 1009) / 64; /* no two rows are alike */
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t end = begin + chunk < rows ? begin + chunk : rows;
    for (int64_t layer = 0; layer < LAYERS; layer++) {
      const fovea_sequence sequence = fovea_sequence_of(segments, narrow_segments(&cache, layer, end, segments));
      const float *first = in + (layer * HEADS * rows + begin) * DIM;
      fovea_new_rows new_rows;
      fovea_new_rows_init(&new_rows, 1, HEADS, end - begin, DIM, DIM, first, first + SIDE * rows, &sequence);
      new_rows.k_strides.head = new_rows.v_strides.head = rows * DIM;
      new_rows.first_position = begin;
      if (fovea_append(&new_rows, NULL, NULL, &error)) fail_msg("%s", error.text);
    }
    require(narrow_settle(&cache, end, &failure), &failure);
    assert_int_equal(cache.narrowed, end / 32 * 32);
  }
  for (int64_t layer = 0; layer < LAYERS; layer++) {
    float *first = out + layer * HEADS * rows * DIM;
    const fovea_segment wide = {.rows = rows,
                                .k = first,
                                .v = first + SIDE * rows,
                                .k_head = rows * DIM,
                                .v_head = rows * DIM,
                                .k_row = DIM,
                                .v_row = DIM};
    const fovea_sequence from = fovea_sequence_of(segments, narrow_segments(&cache, layer, rows, segments));
    const fovea_sequence to = fovea_sequence_of(&wide, 1);
    if (fovea_sequence_copy(&from, &to, 1, HEADS, DIM, DIM, 0, rows, NULL, &error)) fail_msg("%s", error.text);
  }
  for (int64_t i = 0; i < 2 * SIDE * rows; i++) {
    const bool newest = i / DIM % rows >= rows / 32 * 32;
    if (fabs((double)(out[i] - in[i])) > (newest ? 0 : 0.6)) /* half of a step of 16 / 15, and f16 */
      fail_msg("chunks of %d: number %d is %g, was %g", (int)chunk, (int)i, (double)out[i], (double)in[i]);
  }
  narrow_destroy(&cache);
  free(in);
  return out;
}

/* What is stored of rows that are given does not depend on how many come at once: full groups in 4 bits, the rest
 * as they are. */
static void test_narrow_groups(void **state) {
  (void)state;
  static const int64_t chunks[] = {1, 7, 32, 33, 64, 75, 110};
  const int64_t rows = 110;
  float *expected = store_rows(1, rows);
  for (size_t i = 1; i < sizeof chunks / sizeof chunks[0]; i++) {
    float *got = store_rows(chunks[i], rows);
    assert_memory_equal(got, expected, (size_t)(2 * 2 * 2 * 8 * rows) * sizeof *got);
    free(got);
  }
  free(expected);
}

/* Eight bits change few of the next tokens of a text that the model wrote, and two bits many; f16 none, other modes
 * few, and f32 is compared with itself. */
static void test_comparison(void **state) {
  (void)state;
  static const struct {
    fovea_type type;
    struct narrow_choice choice;
    double position_bytes; /* 5 layers, 4 kv heads of 8 dims */
    int64_t least, most;
    fovea_mode mode;
  } cases[] = {
      {FOVEA_F32, {NULL, NULL, 0}, 1280, 0, 0, FOVEA_MODE_EXACT},
      {FOVEA_F16, {NULL, NULL, 0}, 640, 0, 1, FOVEA_MODE_EXACT},
      {FOVEA_F32, {NULL, NULL, 0}, 1280, 0, 3, FOVEA_MODE_BF16},
      {FOVEA_F32, {NULL, NULL, 0}, 1280, 0, 8, FOVEA_MODE_INT8},
      {FOVEA_F32, {"i8_rows", "i8_rows", 0}, 20 * (8 + 4 + 8 + 4), 0, 8, FOVEA_MODE_INT8},
      {FOVEA_F32, {"q8_0", "q8_0", 0}, 20 * 2 * 10, 0, 3, FOVEA_MODE_EXACT},
      {FOVEA_F32, {"openvino_u8_keys", "i8_rows", 0}, 20 * (8 + 2 + 8 + 4), 0, 3, FOVEA_MODE_EXACT},
      {FOVEA_F32, {"kivi_k4", "kivi_v4", 0}, 20 * (4 + 1 + 4 + 4), 1, 10, FOVEA_MODE_EXACT},
      {FOVEA_F32, {"q4_0", "q4_0", 0}, 20 * 2 * 6, 20, 120, FOVEA_MODE_EXACT},
      {FOVEA_F32, {"kivi_v2", "kivi_v2", 0}, 20 * 2 * 6, 80, 201, FOVEA_MODE_EXACT},
  };
  int64_t count;
  int32_t *tokens = encode(known_text, &count);
  for (size_t i = 0; i < USUAL_OR_LONG(3, sizeof cases / sizeof cases[0]); i++) {
    struct session_options options = plainly;
    struct comparison found;
    struct session session;
    struct failure failure = {""};
    options.positions = count;
    options.type = cases[i].type;
    options.narrow = cases[i].choice;
    options.mode = cases[i].mode;
    require(compare_with_f32(&model, &options, tokens, count, &found, &failure), &failure);
    printf("mode %d, %s: another token after %d of %d\n", (int)options.mode,
           options.narrow.k ? options.narrow.k : "f", (int)found.others, (int)found.tokens);
    assert_int_equal(found.tokens, count);
    assert_in_range(found.others, cases[i].least, cases[i].most);
    require(session_open(&session, &model, &options, &failure), &failure);
    assert_true(cache_position_bytes(&session.cache) == cases[i].position_bytes);
    session_close(&session);
  }
  free(tokens);
}

/* A ring remembers a window, however long the text: here it is a tenth of it. */
static void test_ring_memory(void **state) {
  (void)state;
  struct session_options options = {
      .cache = CACHE_RING, .page_rows = 16, .chunk = 8, .window = 43, .positions = 500};
  struct session session;
  struct failure failure = {""};
  require(session_open(&session, &model, &options, &failure), &failure);
  assert_int_equal(session.cache.bytes, 5 * 4 * 8 * 2 * 50 * 4); /* layers, kv heads, dims, K and V, rows, bytes */
  session_close(&session);
}

static bool read_files(struct failure *failure) {
  const char *root = getenv("FOVEA_CONFORMANCE_DIR");
  if (!root) return refuse(failure, "FOVEA_CONFORMANCE_DIR is not set");
  snprintf(model_path, sizeof model_path, "%s/models/stories260K.bin", root);
  snprintf(tokenizer_path, sizeof tokenizer_path, "%s/models/tok512.bin", root);
  return model_read(&model, model_path, failure) &&
         tokenizer_read(&tokenizer, tokenizer_path, model.vocabulary, failure);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known_text),  cmocka_unit_test(test_tokenizer),     cmocka_unit_test(test_float64),
      cmocka_unit_test(test_mode),        cmocka_unit_test(test_bits),          cmocka_unit_test(test_ring_memory),
      cmocka_unit_test(test_narrow_bits), cmocka_unit_test(test_narrow_groups), cmocka_unit_test(test_comparison),
  };
  struct failure failure = {""};
  if (!read_files(&failure)) return printf("skipped: %s\n", failure.text), STATUS_SKIPPED;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tokenizer_free(&tokenizer);
  model_free(&model);
  return failed;
}
