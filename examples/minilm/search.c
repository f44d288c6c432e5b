#include "search.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

bool search_encode(const struct encoding *encoding, const struct lines *lines, float *vectors, int64_t *cut,
                   struct failure *failure) {
  struct batch batch;
  bool done = batch_create(&batch, encoding->batch < lines->count ? encoding->batch : lines->count, failure);
  for (int64_t next = 0; next < lines->count && done;) {
    const int64_t first = next;
    progress_show("reading", first, lines->count);
    batch_clear(&batch);
    for (; batch.count < batch.texts_room && next < lines->count; next++)
      batch_add(&batch, encoding->vocabulary, lines->all[next].text, lines->all[next].length);
    done = encoder_vectors(encoding->model, &batch, encoding->threads, vectors + first * encoding->model->dim,
                           failure);
  }
  progress_end();
  *cut = batch.cut;
  batch_free(&batch);
  return done;
}

static bool encode_question(const struct encoding *encoding, const char *question, float *vector,
                            struct failure *failure) {
  struct batch batch;
  if (!batch_create(&batch, 1, failure)) return false;
  batch_add(&batch, encoding->vocabulary, question, strlen(question));
  const bool done = encoder_vectors(encoding->model, &batch, encoding->threads, vector, failure);
  batch_free(&batch);
  return done;
}

static int compare_found(const void *a, const void *b) {
  const struct found *left = a, *right = b;
  if (left->weight != right->weight) return left->weight > right->weight ? -1 : 1;
  return left->line < right->line ? -1 : left->line > right->line;
}

/* The vectors are 1 long, so their dot products are cosines: one row through a linear layer whose weights are the
 * lines. */
static bool weigh(const struct encoding *encoding, const float *vectors, int64_t count, const float *question,
                  float *weights, struct failure *failure) {
  fovea_nn_linear linear;
  fovea_nn_linear_rows rows;
  fovea_execution execution;
  fovea_error error;
  fovea_nn_linear_init(&linear, encoding->model->dim, count, vectors);
  fovea_execution_init(&execution);
  execution.isa = encoding->model->isa;
  fovea_nn_linear_rows_init(&rows, &linear, 1, question, weights);
  return fovea_nn_linear_run(&linear, &rows, &execution, &error) == FOVEA_OK || refuse(failure, "%s", error.text);
}

bool search_rank(const struct encoding *encoding, const struct lines *lines, const char *question,
                 struct found *found, int64_t *cut, struct failure *failure) {
  const int64_t dim = encoding->model->dim;
  float *vectors = malloc((size_t)((lines->count + 1) * dim + lines->count) * sizeof *vectors);
  if (!vectors) return refuse(failure, "no memory for the vectors of %lld lines", (long long)lines->count);
  float *asked = vectors + lines->count * dim, *weights = asked + dim;
  const bool done = encode_question(encoding, question, asked, failure) &&
                    search_encode(encoding, lines, vectors, cut, failure) &&
                    weigh(encoding, vectors, lines->count, asked, weights, failure);
  for (int64_t i = 0; i < lines->count && done; i++) found[i] = (struct found){i, weights[i]};
  if (done) qsort(found, (size_t)lines->count, sizeof *found, compare_found);
  free(vectors);
  return done;
}
