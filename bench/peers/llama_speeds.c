/* Tokens a second of llama.cpp, as llama-bench measures them, but the text before a test may come from a file.
 * ggml_plugin.py compiles it against the headers and libraries of a llama.cpp:
 *
 *   llama_speeds load PLUGIN                                    milliseconds of ggml_backend_load(), ggml's version
 *   llama_speeds MODEL STATE CACHE THREADS FLASH CONTEXT TEST...         a line for each test, in this order
 *
 * CACHE is the number of a type of ggml, FLASH 1 or 0, CONTEXT the most tokens. Tests are prefill/N, N tokens into an
 * empty cache; decode/K_afterN, K tokens one by one after N; and save/N, which writes a cache of N tokens to STATE.
 * Decoding goes on from the cache of the test before, or, if that has another length, from STATE. */
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_REPEATS = 64 };
static const double ENOUGH = 0.8; /* seconds of repeats */

static struct llama_context *context;
static int context_size, vocabulary;
static llama_token *tokens;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void require(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "llama_speeds: %s\n", what);
  exit(1);
}

/* Seconds that so many tokens take, `step` of them at a time. */
static double seconds_of(int count, int step) {
  const double begin = now();
  for (int done = 0; done < count; done += step) {
    const int some = count - done < step ? count - done : step;
    require(llama_decode(context, llama_batch_get_one(tokens + done, some)) == 0, "llama_decode() failed");
  }
  llama_synchronize(context);
  return now() - begin;
}

static int compare(const void *first, const void *second) {
  const double one = *(const double *)first, other = *(const double *)second;
  return one < other ? -1 : one > other;
}

/* The median of repeats: the seconds of `count` tokens after `depth` tokens that are in the cache, `step` at a time. */
static double median_of(int count, int depth, int step) {
  double seconds[MOST_REPEATS] = {0}, all = 0;
  int repeats = 0;
  while (repeats < MOST_REPEATS && all < ENOUGH) {
    llama_memory_seq_rm(llama_get_memory(context), 0, depth, -1);
    all += seconds[repeats++] = seconds_of(count, step);
  }
  qsort(seconds, (size_t)repeats, sizeof *seconds, compare);
  return seconds[repeats / 2];
}

static void run(const char *test, int *length, const char *state) {
  int count = 0, depth = 0;
  if (sscanf(test, "prefill/%d", &count) == 1) {
    printf("%s %.6g\n", test, count / median_of(count, 0, (int)llama_n_batch(context)));
    *length = count;
  } else if (sscanf(test, "decode/%d_after%d", &count, &depth) == 2) {
    if (*length != depth) {
      size_t none;
      llama_memory_clear(llama_get_memory(context), 0);
      require(llama_state_seq_load_file(context, state, 0, tokens, (size_t)context_size, &none) > 0,
              "no such state");
      *length = depth;
    }
    printf("%s %.6g\n", test, count / median_of(count, depth, 1));
  } else if (sscanf(test, "save/%d", &count) == 1) {
    llama_memory_clear(llama_get_memory(context), 0);
    seconds_of(count, (int)llama_n_batch(context));
    require(llama_state_seq_save_file(context, state, 0, tokens, 0) > 0, "the state was not written");
  } else {
    require(0, "unknown test");
  }
  fflush(stdout);
}

static struct llama_model *begin(char **words) {
  ggml_backend_load_all();
  struct llama_model *model = llama_model_load_from_file(words[0], llama_model_default_params());
  require(model != NULL, "the model was not loaded");
  const int threads = atoi(words[3]);
  context_size = atoi(words[5]);
  struct llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = (uint32_t)context_size;
  parameters.n_threads = parameters.n_threads_batch = threads;
  parameters.type_k = parameters.type_v = (enum ggml_type)atoi(words[2]);
  parameters.flash_attn_type = atoi(words[4]) ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  context = llama_init_from_model(model, parameters);
  require(context != NULL, "there is no context");
  struct ggml_threadpool_params pool = ggml_threadpool_params_default(threads);
  llama_attach_threadpool(context, ggml_threadpool_new(&pool), NULL);
  vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  tokens = calloc((size_t)context_size, sizeof *tokens);
  require(tokens != NULL, "no memory");
  for (int i = 0; i < context_size; i++)
    tokens[i] = (llama_token)((unsigned)i * 2654435761u % (unsigned)vocabulary);
  return model;
}

static void be_quiet(enum ggml_log_level level, const char *text, void *data) {
  (void)data;
  if (level >= GGML_LOG_LEVEL_WARN || strncmp(text, "fovea", 5) == 0) fputs(text, stderr);
}

int main(int count, char **words) {
  require(count == 3 || count > 7, "load PLUGIN, or MODEL STATE CACHE THREADS FLASH CONTEXT TEST...");
  llama_log_set(be_quiet, NULL);
  if (count == 3) {
    llama_backend_init();
    const double begins = now();
    require(ggml_backend_load(words[2]) != NULL, "the plugin was refused");
    printf("%.4g %s\n", 1e3 * (now() - begins), ggml_version());
    return 0;
  }
  struct llama_model *model = begin(words + 1);
  seconds_of(2, 1); /* what is made once */
  int length = 0;
  for (int i = 7; i < count; i++) run(words[i], &length, words[2]);
  llama_free(context);
  llama_model_free(model);
  return 0;
}
