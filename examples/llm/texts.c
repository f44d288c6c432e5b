#include "texts.h"

#include "../stories/digest.h"

#include <stdio.h>
#include <stdlib.h>

/* Tokens all over the vocabulary, in the place of a prompt. */
static bool make_tokens(struct text *text, int64_t count, int64_t vocabulary, struct failure *failure) {
  text->tokens = malloc((size_t)count * sizeof *text->tokens);
  if (!text->tokens) return refuse(failure, "no memory for %lld tokens", (long long)count);
  for (int64_t i = 0; i < count; i++) text->tokens[i] = (int32_t)((i * 7919 + TOKEN_BEGIN) % vocabulary);
  text->prompt = count;
  text->endless = true;
  return true;
}

static bool create_text(struct text *text, const char *prompt, const struct options *options,
                        const struct model *model, const struct vocabulary *vocabulary, struct failure *failure) {
  const int64_t context = model->context;
  if (!(options->bench > 0 ? make_tokens(text, options->bench, model->vocabulary, failure)
                           : vocabulary_encode(vocabulary, prompt, &text->tokens, &text->prompt, failure)))
    return false;
  if (text->prompt >= context)
    return refuse(failure, "a prompt has %lld tokens; the model was made for texts of %lld",
                  (long long)text->prompt, (long long)context);
  text->room = options->steps < context - text->prompt ? text->prompt + options->steps : context;
  int32_t *larger = realloc(text->tokens, (size_t)text->room * sizeof *larger);
  if (larger) text->tokens = larger;
  const size_t row = (size_t)model->vocabulary * sizeof *text->logits;
  if (options->logits) text->logits = malloc((size_t)(text->room - text->prompt) * row);
  return (larger && (text->logits || !options->logits)) || refuse(failure, "no memory for the texts");
}

bool texts_create(struct texts *texts, const struct options *options, const struct model *model,
                  const struct vocabulary *vocabulary, struct failure *failure) {
  *texts = (struct texts){calloc((size_t)options->prompt_count, sizeof *texts->text), options->prompt_count, 0};
  if (!texts->text) return refuse(failure, "no memory for the texts");
  for (int64_t i = 0; i < texts->count; i++) {
    if (!create_text(&texts->text[i], options->prompts[i], options, model, vocabulary, failure)) return false;
    if (texts->text[i].room > texts->longest) texts->longest = texts->text[i].room;
  }
  texts_begin(texts, options->seed);
  return true;
}

void texts_free(struct texts *texts) {
  for (int64_t i = 0; i < texts->count && texts->text; i++) {
    free(texts->text[i].tokens);
    free(texts->text[i].logits);
  }
  free(texts->text);
  *texts = (struct texts){NULL, 0, 0};
}

void texts_begin(struct texts *texts, uint64_t seed) {
  for (int64_t i = 0; i < texts->count; i++) {
    struct text *text = &texts->text[i];
    text->count = text->prompt;
    text->read = text->rows = 0;
    text->ended = false;
    text->generator = seed + (uint64_t)i;
    text->digest = digest_begin;
  }
}

uint64_t texts_digest(const struct texts *texts) {
  uint64_t digest = digest_begin;
  for (int64_t i = 0; i < texts->count; i++) digest = digest_bytes(digest, texts->text[i].digest, 8);
  return digest;
}

static bool digest_again(struct texts *texts, const struct engine_options *options, uint64_t seed,
                         const struct model *model, uint64_t *digest, struct failure *failure) {
  struct engine engine;
  int64_t rows = 1;
  bool done = engine_open(&engine, model, options, failure);
  if (!done) return false;
  texts_begin(texts, seed);
  while (done && rows > 0) done = engine_step(&engine, texts->text, texts->count, &rows, failure);
  engine_close(&engine);
  *digest = texts_digest(texts);
  return done;
}

/* The ways are numbered: a digit for each of three choices. */
static bool check_isa(struct texts *texts, const struct options *options, const struct model *model,
                      const char *isa, int *ways, bool *same, struct failure *failure) {
  static const int threads[] = {1, 3}, chunks[] = {1, 7, 64};
  const uint64_t wanted = texts_digest(texts);
  for (int way = 0; way < 12; way++) {
    struct engine_options engine = options->engine;
    uint64_t digest = 0;
    if (way % 2 == 1 && texts->count == 1) continue;
    engine.batch = way % 2 == 1 ? texts->count : 1;
    engine.execution.threads = threads[way / 2 % 2];
    engine.chunk = chunks[way / 4];
    engine.execution.isa = isa;
    if (!digest_again(texts, &engine, options->seed, model, &digest, failure)) return false;
    ++*ways;
    if (digest == wanted) continue;
    printf("other bits: digest %016llx with %s, %d threads, batches of %lld, chunks of %lld\n",
           (unsigned long long)digest, isa, engine.execution.threads, (long long)engine.batch,
           (long long)engine.chunk);
    *same = false;
    return true;
  }
  return true;
}

bool texts_check(struct texts *texts, const struct options *options, const struct model *model, bool *same,
                 struct failure *failure) {
  fovea_isa_report report;
  int ways = 0, sets = 0;
  *same = true;
  fovea_isa_report_init(&report);
  printf("digest %016llx\n", (unsigned long long)texts_digest(texts));
  for (int i = 0; *same && fovea_isa_at(i, &report) == FOVEA_OK; i++) {
    if (!report.usable || report.type != FOVEA_F32 || report.meant) continue;
    if (!check_isa(texts, options, model, report.name, &ways, same, failure)) return false;
    sets++;
  }
  if (*same) printf("the same bits in %d ways, on %d instruction sets\n", ways, sets);
  return true;
}
