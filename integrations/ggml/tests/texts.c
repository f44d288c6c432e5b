/* Lets llama.cpp read a text, and continue some words at temperature 0. It loads backends as llama.cpp's programs do.
 *
 *   texts MODEL THREADS CACHE FLASH WORDS TEXT
 *
 * CACHE is the number of a type of ggml, FLASH 1 (on), 0 (off) or -1 (automatic). Prints the perplexity of the text, the
 * continuation, and a digest of all logits, a line each. */
#include <ggml-backend.h>
#include <llama.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, CONTEXT = 1024, STEPS = 60 };

static struct llama_context *context;
static const struct llama_vocab *vocabulary;
static int words_count; /* of the vocabulary */
static uint64_t digest = 14695981039346656037u;

static void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "texts: %s\n", what);
  exit(1);
}

static void add_to_digest(const float *logits) { /* FNV-1a */
  const unsigned char *bytes = (const unsigned char *)logits;
  for (size_t i = 0; i < (size_t)words_count * sizeof *logits; i++) digest = (digest ^ bytes[i]) * 1099511628211u;
}

static int tokens_of(const char *text, llama_token *tokens) {
  const int count = llama_tokenize(vocabulary, text, (int)strlen(text), tokens, CONTEXT, true, false);
  require(count > 0, "no tokens");
  return count;
}

/* Minus the logarithm of a token's probability. */
static double surprise(const float *logits, llama_token token) {
  double top = logits[0], sum = 0;
  for (int i = 1; i < words_count; i++) top = logits[i] > top ? logits[i] : top;
  for (int i = 0; i < words_count; i++) sum += exp(logits[i] - top);
  return top + log(sum) - logits[token];
}

/* Reads tokens that follow what is in the cache, and returns the logits after the last one. Adds up the surprises of all
 * tokens but the first. */
static const float *read_tokens(const llama_token *tokens, int count, int position, double *surprises) {
  const float *logits = NULL;
  for (int begin = 0; begin < count; begin += CHUNK) {
    const int some = count - begin < CHUNK ? count - begin : CHUNK;
    struct llama_batch batch = llama_batch_init(some, 0, 1);
    batch.n_tokens = some;
    for (int i = 0; i < some; i++) {
      batch.token[i] = tokens[begin + i];
      batch.pos[i] = position + begin + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    require(llama_decode(context, batch) == 0, "llama_decode() failed");
    for (int i = 0; i < some; i++) {
      logits = llama_get_logits_ith(context, i);
      add_to_digest(logits);
      if (begin + i + 1 < count) *surprises += surprise(logits, tokens[begin + i + 1]);
    }
    llama_batch_free(batch);
  }
  return logits;
}

static double perplexity(const char *text) {
  llama_token tokens[CONTEXT];
  double surprises = 0;
  const int count = tokens_of(text, tokens);
  read_tokens(tokens, count, 0, &surprises);
  return exp(surprises / (count - 1));
}

static void print_continuation(const char *text) {
  llama_token tokens[CONTEXT];
  double unused = 0;
  const int count = tokens_of(text, tokens);
  const float *logits = read_tokens(tokens, count, 0, &unused);
  for (int step = 0; step < STEPS; step++) {
    llama_token best = 0;
    for (llama_token i = 1; i < words_count; i++) best = logits[i] > logits[best] ? i : best;
    char piece[64];
    const int length = llama_token_to_piece(vocabulary, best, piece, sizeof piece, 0, false);
    for (int i = 0; i < length; i++) putchar(piece[i] == '\n' ? ' ' : piece[i]);
    logits = read_tokens(&best, 1, count + step, &unused);
  }
  putchar('\n');
}

int main(int count, char **words) {
  require(count == 7, "MODEL THREADS CACHE FLASH WORDS TEXT");
  ggml_backend_load_all();
  struct llama_model *model = llama_model_load_from_file(words[1], llama_model_default_params());
  require(model != NULL, "the model was not loaded");
  struct llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = CONTEXT;
  parameters.n_batch = parameters.n_ubatch = CHUNK;
  parameters.n_threads = parameters.n_threads_batch = atoi(words[2]);
  parameters.type_k = parameters.type_v = (enum ggml_type)atoi(words[3]);
  parameters.flash_attn_type = (enum llama_flash_attn_type)atoi(words[4]);
  context = llama_init_from_model(model, parameters);
  require(context != NULL, "there is no context");
  vocabulary = llama_model_get_vocab(model);
  words_count = llama_vocab_n_tokens(vocabulary);
  printf("%.9g\n", perplexity(words[6]));
  llama_memory_clear(llama_get_memory(context), true);
  print_continuation(words[5]);
  printf("%016llx\n", (unsigned long long)digest);
  llama_free(context);
  llama_model_free(model);
  return 0;
}
