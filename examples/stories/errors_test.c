/* Wrong files are refused with a line that says why. The test writes them itself, so it needs no model. */
#include "options.h"
#include "support/check.h"
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char path[] = "stories_errors_test.bin";

/* dim 8, hidden_dim 6, 2 layers, 4 heads over 2, 5 tokens with a classifier of their own, 16 positions. */
static const int32_t small_header[7] = {8, 6, 2, 4, 2, -5, 16};
enum { SMALL_WEIGHTS = 5 * 8 + 2 * 8 + 2 * (8 + 4 + 4 + 8) * 8 + 2 * 8 + 3 * 2 * 6 * 8 + 8 + 16 * 2 + 5 * 8 };

static void write_file(const void *first, size_t first_size, const void *second, size_t second_size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(first, 1, first_size, file), first_size);
  assert_int_equal(fwrite(second, 1, second_size, file), second_size);
  fclose(file);
}

static void assert_says(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
  assert_null(strchr(text, '\n'));
}

static void refuse_model(const char *part) {
  struct model model;
  struct failure failure = {""};
  assert_false(model_read(&model, path, &failure));
  assert_says(failure.text, part);
}

static void test_missing_files(void **state) {
  (void)state;
  struct failure failure = {""};
  struct model model;
  struct tokenizer tokenizer;
  assert_false(model_read(&model, "no/such.bin", &failure));
  assert_says(failure.text, "no/such.bin: No such file");
  assert_false(tokenizer_read(&tokenizer, "no/such.bin", 5, &failure));
  assert_says(failure.text, "no/such.bin: No such file");
  assert_false(model_read(&model, ".", &failure)); /* a folder */
  assert_says(failure.text, ".: ");
}

static void test_bad_headers(void **state) {
  (void)state;
  static const struct {
    int field;
    int32_t value;
    const char *part;
  } cases[] = {
      {0, 0, "dim 0"},        {1, -6, "hidden_dim -6"},     {2, 1 << 30, "n_layers 1073741824"},
      {3, 8, "even number"},  {3, 3, "even number"},        {4, 3, "do not divide"},
      {5, 0, "vocab_size 0"}, {5, INT32_MIN, "vocab_size"}, {6, INT32_MAX, "seq_len"},
      {6, 17, "asks for"},    {5, 5, "asks for"},           {2, 1, "asks for"},
  };
  static const float weights[SMALL_WEIGHTS];
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int32_t header[7];
    memcpy(header, small_header, sizeof header);
    header[cases[i].field] = cases[i].value;
    write_file(header, sizeof header, weights, sizeof weights);
    refuse_model(cases[i].part);
  }
}

static void test_sizes(void **state) {
  (void)state;
  static const float weights[SMALL_WEIGHTS + 1];
  struct model model;
  struct failure failure = {""};
  write_file(small_header, 0, weights, 0);
  refuse_model("0 bytes are too few");
  write_file(small_header, 27, weights, 0);
  refuse_model("27 bytes are too few");
  write_file(small_header, sizeof small_header, weights, sizeof weights - 5);
  refuse_model("asks for");
  write_file(small_header, sizeof small_header, weights, sizeof weights);
  refuse_model("asks for");
  write_file(small_header, sizeof small_header, weights, sizeof weights - 4);
  if (!model_read(&model, path, &failure)) fail_msg("%s", failure.text);
  assert_int_equal(model.vocabulary, 5);
  assert_true(model.classifier == model.embedding + SMALL_WEIGHTS - 5 * 8);
  model_free(&model);
}

/* A vocabulary without the token that begins a text: the tokens of a prompt would lie outside it. */
static void test_few_tokens(void **state) {
  (void)state;
  static const unsigned char tokens[2 + 9 * 2 + 2] = {1, 0,   0, 0, 0, 0, 0, 0, 1, 0, 0,
                                                      0, 'a', 0, 0, 0, 0, 1, 0, 0, 0, 'b'};
  for (int64_t count = 1; count <= TOKEN_END; count++) {
    struct tokenizer tokenizer;
    struct failure failure = {""};
    int32_t *encoded = NULL;
    int64_t encoded_count = 0;
    write_file(tokens, (size_t)(4 + 9 * count), "", 0);
    const bool read = tokenizer_read(&tokenizer, path, count, &failure);
    if (read && tokenizer_encode(&tokenizer, "a", &encoded, &encoded_count, &failure)) free(encoded);
    if (read) tokenizer_free(&tokenizer);
    assert_false(read);
    assert_says(failure.text, "the model has");
  }
}

/* Three tokens: "a", "b" and "ab". */
static const unsigned char three_tokens[] = {2, 0, 0, 0, 0, 0,   0, 0, 1,   0,  0, 0, 'a', 0, 0,   0,
                                             0, 1, 0, 0, 0, 'b', 0, 0, 128, 63, 2, 0, 0,   0, 'a', 'b'};

static void test_tokenizers(void **state) {
  (void)state;
  struct tokenizer tokenizer;
  struct failure failure = {""};
  const int32_t token = 2;
  char text[8] = "";
  int32_t *tokens = NULL;
  int64_t count = 0;
  for (size_t size = 0; size < sizeof three_tokens; size++) {
    write_file(three_tokens, size, "", 0);
    assert_false(tokenizer_read(&tokenizer, path, 3, &failure));
    assert_says(failure.text, size < 4 ? "it is empty" : "ends within token");
  }
  write_file(three_tokens, sizeof three_tokens, "x", 1);
  assert_false(tokenizer_read(&tokenizer, path, 3, &failure));
  assert_says(failure.text, "1 bytes are left");
  unsigned char negative[sizeof three_tokens];
  memcpy(negative, three_tokens, sizeof negative);
  memset(negative + 8, 0xff, 4);
  write_file(negative, sizeof negative, "", 0);
  assert_false(tokenizer_read(&tokenizer, path, 3, &failure));
  assert_says(failure.text, "ends within token 0");

  write_file(three_tokens, sizeof three_tokens, "", 0);
  assert_true(tokenizer_read(&tokenizer, path, 3, &failure));
  assert_int_equal(tokenizer_decode(&tokenizer, 0, token, text, 1), 1); /* no more bytes than fit */
  assert_int_equal(tokenizer_decode(&tokenizer, 0, token, text, sizeof text), 2);
  assert_memory_equal(text, "ab", 2);
  assert_false(tokenizer_encode(&tokenizer, "c", &tokens, &count, &failure));
  assert_says(failure.text, "no token for byte 99");
  assert_true(tokenizer_encode(&tokenizer, "bab", &tokens, &count, &failure));
  assert_int_equal(count, 3); /* the beginning, b, ab */
  assert_int_equal(tokens[1], 1);
  assert_int_equal(tokens[2], 2);
  free(tokens);
  tokenizer_free(&tokenizer);
}

static void test_options(void **state) {
  (void)state;
  static const struct {
    const char *words[6], *part;
  } cases[] = {
      {{"m", NULL}, "paths of a model"},
      {{"m", "t", "--steps", "-1"}, "--steps is '-1'"},
      {{"m", "t", "--chunk", "0"}, "--chunk is '0'"},
      {{"m", "t", "--page", "7x"}, "--page is '7x'"},
      {{"m", "t", "--window", "99999999999999999999"}, "--window is"},
      {{"m", "t", "--temperature", "nan"}, "--temperature is 'nan'; it must be 0, or from 1e-6 to 1e6"},
      {{"m", "t", "--temperature", "9e-7"}, "--temperature is '9e-7'"},
      {{"m", "t", "--temperature", "1.1e6"}, "--temperature is '1.1e6'"},
      {{"m", "t", "--temperature", "-1"}, "--temperature is '-1'"},
      {{"m", "t", "--temperature", "1x"}, "--temperature is '1x'"},
      {{"m", "t", "--cache", "heap"}, "--cache has no 'heap'"},
      {{"m", "t", "--type", "f64"}, "--type has no 'f64'"},
      {{"m", "t", "--keys", ""}, "--keys has no ''"},
      {{"m", "t", "--seeds", "1"}, "no option --seeds"},
      {{"m", "t", "--seed", NULL}, "--seed wants something"},
      {{"m", "t", "a", "b"}, "'b' is one word too many"},
      {{"m", "t", "--threads", "4097"}, "from 0 to 4096"},
      {{"m", "t", "--page", "5"}, "--page is for --cache paged; here it would not be used"},
      {{"m", "t", "--seed", "3"}, "--seed is for another --temperature than 0; here it would not be used"},
      {{"m", "t", "--cache", "ring", "--page", "16"}, "--page is for"},
      {{"m", "t", "--temperature", "0", "--seed", "1"}, "--seed is for"},
      {{"m", "t", "--scale", "2"}, "--scale is for --format; here it would not be used"},
      {{"m", "t", "--format", "e4m3", "--scale", "-1"}, "--scale is '-1'"},
      {{"m", "t", "--format", "q8_0", "--type", "f16"}, "--format stands in place of --type f16"},
      {{"m", "t", "--bf16", "--int8"}, "--bf16 and --int8 exclude each other"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char copies[7][32] = {"fovea_stories"}, *arguments[7] = {copies[0]};
    int count = 1;
    for (; count < 7 && cases[i].words[count - 1]; count++) {
      snprintf(copies[count], sizeof copies[count], "%s", cases[i].words[count - 1]);
      arguments[count] = copies[count];
    }
    struct options options;
    struct failure failure = {""};
    assert_false(options_read(&options, count, arguments, &failure));
    assert_says(failure.text, cases[i].part);
  }
}

/* A line on stderr stays one, whatever bytes of a file are in it. */
static void test_control_characters(void **state) {
  (void)state;
  struct failure failure = {""};
  assert_false(refuse(&failure, "a\n\033[31m%s\177\303\274", "b\r\t\001"));
  assert_string_equal(failure.text, "a??[31mb????\303\274");
}

/* Formats that there are not, or not for heads of these sizes (here 2 dims), kinds of cache or layouts. */
static void test_formats(void **state) {
  (void)state;
  static const struct {
    struct narrow_choice choice;
    enum cache_kind kind;
    fovea_key_layout layout;
    const char *part;
  } cases[] = {
      {{"q9", "q8_0", 0}, CACHE_CONTIGUOUS, FOVEA_KEYS_IN_ROWS, "no format 'q9'"},
      {{"q8_0", "", 0}, CACHE_PAGED, FOVEA_KEYS_IN_ROWS, "no format ''"},
      {{"q8_0", "q5_1", 0},
       CACHE_RING,
       FOVEA_KEYS_IN_ROWS,
       "q5_1, for heads of 2 dims: format.group is 2; it must"},
      {{"q8_0", "q8_0", 0},
       CACHE_CONTIGUOUS,
       FOVEA_KEYS_IN_PANELS,
       "format.place is 1; it must be FOVEA_SCALES_APART"},
      {{"kivi_k4", "q8_0", 0}, CACHE_PAGED, FOVEA_KEYS_IN_ROWS, "needs --cache contiguous and --keys rows"},
      {{"kivi_k4", "q8_0", 0}, CACHE_CONTIGUOUS, FOVEA_KEYS_IN_PANELS, "needs --cache contiguous and --keys rows"},
      {{"kivi_k4", "e4m3", 0}, CACHE_CONTIGUOUS, FOVEA_KEYS_IN_ROWS, "go with no format whose keys all share one"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct cache_shape shape = {.kind = cases[i].kind,
                                      .key_layout = cases[i].layout,
                                      .layers = 1,
                                      .kv_heads = 2,
                                      .head_dim = 2,
                                      .positions = 10,
                                      .page_rows = 16,
                                      .narrow = cases[i].choice,
                                      .chunk = 4};
    struct cache cache;
    struct failure failure = {""};
    assert_false(cache_create(&cache, &shape, &failure));
    assert_says(failure.text, cases[i].part);
  }
}

/* If the library refuses, its text is passed on. Tokens that do not fit are refused, and no token is read twice. */
static void test_sessions(void **state) {
  (void)state;
  static const float weights[SMALL_WEIGHTS];
  static const int32_t tokens[4] = {1, 2, 3, 4}, unknown = 5;
  struct session_options options = {.page_rows = 16, .positions = 3, .chunk = 2, .isa = "abacus"};
  struct model model;
  struct session session;
  struct failure failure = {""};
  write_file(small_header, sizeof small_header, weights, sizeof weights);
  assert_true(model_read(&model, path, &failure));
  assert_true(session_open(&session, &model, &options, &failure));
  assert_false(session_feed(&session, tokens, 1, &failure));
  assert_says(failure.text, "abacus");
  session_close(&session);
  options.isa = NULL;
  assert_true(session_open(&session, &model, &options, &failure));
  assert_false(session_feed(&session, &unknown, 1, &failure));
  assert_says(failure.text, "5");
  assert_false(session_feed(&session, tokens, 4, &failure));
  assert_says(failure.text, "made for 3 positions");
  assert_true(session_feed(&session, tokens, 3, &failure));
  assert_int_equal(session.position, 3);
  assert_false(session_feed(&session, tokens, 1, &failure));
  session_close(&session);
  model_free(&model);
}

static int remove_file(void **state) {
  (void)state;
  remove(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_missing_files),
      cmocka_unit_test(test_bad_headers),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_few_tokens),
      cmocka_unit_test(test_tokenizers),
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_sessions),
      cmocka_unit_test(test_control_characters),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
