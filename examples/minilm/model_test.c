/* Vectors have the same bits on every instruction set, for every number of threads, batch and type of the file: of
 * a small model that the test writes and, if FOVEA_MINILM_DIR is set, of the true one, whose vectors also agree
 * with float64 (golden.py) to 1e-6. The digests are kept here.
 *
 *   test_minilm_model GOLDEN */
#include "search.h"
#include "small.h"
#include "support/check.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, EVERY = 16 };

#define SMALL_DIGEST UINT64_C(0x65094f0b4acd7205)
#define TRUE_DIGEST  UINT64_C(0x6bbaa30d30a532b7)

static const char path[] = "minilm_model_test.bin";
static const char *golden;

/* A model, its vocabulary and the golden sentences. */
struct subject {
  struct model model;
  struct vocabulary vocabulary;
  struct file sentences;
  int64_t count;
  char model_path[PATH_SIZE];
};

static void require(bool done, const struct failure *failure) {
  if (!done) fail_msg("%s", failure->text);
}

static void open_subject(struct subject *subject, const char *model_path, const char *vocabulary_path) {
  char sentences[PATH_SIZE];
  struct failure failure = {""};
  *subject = (struct subject){.count = 0};
  snprintf(subject->model_path, PATH_SIZE, "%s", model_path);
  snprintf(sentences, sizeof sentences, "%s/sentences.txt", golden);
  require(model_read(&subject->model, subject->model_path, &failure), &failure);
  require(vocabulary_read(&subject->vocabulary, vocabulary_path, &failure), &failure);
  require(file_read(&subject->sentences, sentences, &failure), &failure);
  for (size_t i = 0; i < subject->sentences.size; i++) subject->count += subject->sentences.bytes[i] == '\n';
}

static void close_subject(struct subject *subject) {
  model_free(&subject->model);
  vocabulary_free(&subject->vocabulary);
  file_free(&subject->sentences);
}

static void open_small(struct subject *subject, fovea_type type) {
  char vocabulary_path[PATH_SIZE];
  struct vocabulary vocabulary;
  struct failure failure = {""};
  snprintf(vocabulary_path, sizeof vocabulary_path, "%s/small_vocabulary.txt", golden);
  require(vocabulary_read(&vocabulary, vocabulary_path, &failure), &failure);
  write_small_model(path, type, vocabulary.count, NULL);
  vocabulary_free(&vocabulary);
  open_subject(subject, path, vocabulary_path);
}

/* Returns (sentences, dim) numbers. */
static float *vectors_of(const struct subject *subject, int64_t at_once, int threads) {
  struct batch batch;
  struct failure failure = {""};
  const char *next = subject->sentences.bytes;
  const int64_t dim = subject->model.dim;
  float *vectors = malloc((size_t)(subject->count * dim) * sizeof *vectors);
  assert_non_null(vectors);
  require(batch_create(&batch, at_once, &failure), &failure);
  for (int64_t done = 0; done < subject->count; done += batch.count) {
    batch_clear(&batch);
    while (batch.count < at_once && done + batch.count < subject->count) {
      const char *stop = memchr(next, '\n', (size_t)(subject->sentences.bytes + subject->sentences.size - next));
      assert_non_null(stop);
      batch_add(&batch, &subject->vocabulary, next, (size_t)(stop - next));
      next = stop + 1;
    }
    require(encoder_vectors(&subject->model, &batch, threads, vectors + done * dim, &failure), &failure);
  }
  batch_free(&batch);
  return vectors;
}

/* FNV-1a of the bytes, the low byte of each number first. */
static uint64_t digest_of(const float *vectors, int64_t count) {
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &vectors[i], sizeof bits);
    for (int byte = 0; byte < 4; byte++) digest = (digest ^ (bits >> (8 * byte) & 255)) * UINT64_C(0x100000001b3);
  }
  return digest;
}

static void assert_digest(const struct subject *subject, int64_t at_once, int threads, uint64_t wanted) {
  float *vectors = vectors_of(subject, at_once, threads);
  const uint64_t digest = digest_of(vectors, subject->count * subject->model.dim);
  free(vectors);
  if (digest != wanted)
    fail_msg("batch %d, %d threads, %s: digest 0x%016llx, wanted 0x%016llx", (int)at_once, threads,
             subject->model.isa ? subject->model.isa : "the best isa", (unsigned long long)digest,
             (unsigned long long)wanted);
}

static void assert_one_answer(struct subject *subject, uint64_t digest) {
  assert_digest(subject, subject->count, 0, digest);
  assert_digest(subject, 1, 1, digest);
  assert_digest(subject, 7, 3, digest);
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    model_use_isa(&subject->model, *isa);
    assert_digest(subject, subject->count, 2, digest);
  }
  model_use_isa(&subject->model, NULL);
}

static void test_small_model(void **state) {
  (void)state;
  static const fovea_type types[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16};
  for (int i = 0; i < 3; i++) {
    struct subject subject;
    open_small(&subject, types[i]);
    assert_int_equal(subject.model.layers, SMALL_LAYERS);
    assert_int_equal(subject.model.hidden_dim, SMALL_HIDDEN);
    assert_one_answer(&subject, SMALL_DIGEST);
    close_subject(&subject);
  }
}

static void test_lengths_of_vectors(void **state) {
  (void)state;
  struct subject subject;
  open_small(&subject, FOVEA_F32);
  float *vectors = vectors_of(&subject, 4, 0);
  for (int64_t i = 0; i < subject.count; i++) {
    double squares = 0;
    for (int64_t d = 0; d < SMALL_DIM; d++) squares += pow((double)vectors[i * SMALL_DIM + d], 2);
    assert_true(fabs(squares - 1) < 1e-6);
  }
  free(vectors);
  close_subject(&subject);
}

static void test_attention(void **state) {
  (void)state;
  static const char text[] = "the train left the station";
  struct subject subject;
  struct batch batch;
  struct failure failure = {""};
  float weights[TOKENS_LIMIT];
  open_small(&subject, FOVEA_F32);
  require(batch_create(&batch, 1, &failure), &failure);
  batch_add(&batch, &subject.vocabulary, text, strlen(text));
  assert_true(batch.rows * batch.rows <= TOKENS_LIMIT);
  for (int layer = 0; layer < SMALL_LAYERS; layer++)
    for (int head = 0; head < SMALL_DIM / MODEL_HEAD_DIM; head++) {
      require(encoder_attention(&subject.model, &batch, 0, layer, head, weights, &failure), &failure);
      for (int64_t row = 0; row < batch.rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < batch.rows; i++) sum += (double)weights[row * batch.rows + i];
        assert_true(fabs(sum - 1) < 1e-6);
      }
    }
  batch_free(&batch);
  close_subject(&subject);
}

/* The line that is the question itself comes first, with the weight 1; equal lines keep their order. */
static void test_search(void **state) {
  (void)state;
  struct line all[] = {{"it left", 7, 1}, {"the train", 9, 2}, {"on time", 7, 3}, {"the train", 9, 4}};
  const struct lines lines = {.all = all, .count = 4};
  struct subject subject;
  struct found found[4];
  struct failure failure = {""};
  int64_t cut = -1;
  open_small(&subject, FOVEA_F32);
  const struct encoding encoding = {&subject.model, &subject.vocabulary, 3, 2};
  require(search_rank(&encoding, &lines, "The train", found, &cut, &failure), &failure);
  assert_int_equal(found[0].line, 1);
  assert_int_equal(found[1].line, 3);
  assert_true(fabsf(found[0].weight - 1) < 1e-6f);
  assert_true(found[2].weight >= found[3].weight);
  assert_int_equal(cut, 0);
  close_subject(&subject);
}

static void test_bad_models(void **state) {
  (void)state;
  static const char *const missing[] = {"embeddings.word_embeddings.weight",
                                        "embeddings.token_type_embeddings.weight",
                                        "embeddings.LayerNorm.bias",
                                        "encoder.layer.0.attention.self.query.weight",
                                        "encoder.layer.1.attention.output.dense.bias",
                                        "encoder.layer.1.output.LayerNorm.weight"};
  struct model model;
  struct failure failure = {""};
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    write_small_model(path, FOVEA_BF16, 5, missing[i]);
    assert_false(model_read(&model, path, &failure));
    if (!strstr(failure.text, missing[i])) fail_msg("'%s' does not name %s", failure.text, missing[i]);
  }
  write_small_model(path, FOVEA_F32, 5, NULL);
  require(model_read(&model, path, &failure), &failure);
  model_use_isa(&model, "abacus");
  int32_t token = 0, type = 0, ends[] = {0, 1};
  float vector[SMALL_DIM];
  struct batch batch = {.count = 1, .rows = 1, .tokens = &token, .types = &type, .ends = ends};
  assert_false(encoder_vectors(&model, &batch, 1, vector, &failure));
  assert_non_null(strstr(failure.text, "abacus"));
  free(batch.memory);
  model_free(&model);
}

static void compare_with_float64(const struct subject *subject) {
  char name[PATH_SIZE];
  struct file file;
  struct failure failure = {""};
  double worst = 0;
  snprintf(name, sizeof name, "%s/vectors.txt", golden);
  require(file_read(&file, name, &failure), &failure);
  char *text = malloc(file.size + 1), *next = text;
  assert_non_null(text);
  memcpy(text, file.bytes, file.size);
  text[file.size] = 0;
  float *vectors = vectors_of(subject, 8, 0);
  for (int64_t i = 0; i < subject->count * subject->model.dim; i += EVERY) {
    char *end;
    const double wanted = strtod(next, &end);
    assert_true(end > next);
    next = end;
    worst = fmax(worst, fabs((double)vectors[i] - wanted));
  }
  print_message("the vectors differ from float64 by %.1e at most\n", worst);
  assert_true(worst < 1e-6);
  free(vectors);
  free(text);
  file_free(&file);
}

static void test_true_model(void **state) {
  (void)state;
  char model_path[PATH_SIZE], vocabulary_path[PATH_SIZE];
  const char *directory = getenv("FOVEA_MINILM_DIR");
  struct subject subject;
  if (!directory) skip();
  snprintf(model_path, sizeof model_path, "%s/model.safetensors", directory);
  snprintf(vocabulary_path, sizeof vocabulary_path, "%s/vocab.txt", directory);
  open_subject(&subject, model_path, vocabulary_path);
  compare_with_float64(&subject);
  assert_one_answer(&subject, TRUE_DIGEST);
  close_subject(&subject);
}

static int remove_file(void **state) {
  (void)state;
  remove(path);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: test_minilm_model GOLDEN\n");
    return 2;
  }
  golden = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_model), cmocka_unit_test(test_lengths_of_vectors),
      cmocka_unit_test(test_attention),   cmocka_unit_test(test_search),
      cmocka_unit_test(test_bad_models),  cmocka_unit_test(test_true_model),
  };
  return cmocka_run_group_tests(tests, NULL, remove_file);
}
