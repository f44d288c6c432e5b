#include "options.h"

#include "../stories/words.h"

#include <string.h>

enum { NUMBER_LIMIT = 1 << 20, BATCH_LIMIT = 1024, THREAD_LIMIT = 4096 };

const char options_help[] =
    "Usage: fovea_llm MODEL PROMPT... [OPTIONS]\n"
    "\n"
    "Continues each prompt, by a GGUF file of a model of Llama's kind. Several prompts go through it together.\n"
    "\n"
    "  --weights FILE     a safetensors file of the same model, with weights in f32, f16, bf16, or 4 bits by GPTQ "
    "or\n"
    "                     AWQ; of MODEL only the sizes and the vocabulary are used then\n"
    "  --steps N          tokens to write for each prompt, at most (64)\n"
    "  --temperature X    0: always the likeliest token (default); 1: as the model has it; from 1e-6 to 1e6\n"
    "  --seed N           of the generators, for other temperatures than 0 (1)\n"
    "  --cache TYPE       of keys and values: q8_0 (default), f16 or f32\n"
    "  --int8             multiplies codes by codes where weights are quantised: for long prompts, with errors\n"
    "  --page N           positions of a page of the cache (16)\n"
    "  --batch N          prompts at a time, at most; the others wait (8)\n"
    "  --chunk N          tokens of a prompt that go through the layers at once, at most (64)\n"
    "  --threads N        0: as many as there are CPUs (default)\n"
    "  --isa NAME         an instruction set that `fovea info` lists\n"
    "  --check            does it again in many ways: batches, chunks, threads, each instruction set; prints a "
    "digest\n"
    "                     of all logits, and whether each way gave the same bits\n"
    "  --logits FILE      writes the logits after each prompt and after each token, in f32\n"
    "  --stats            lines on stderr: tokens a second, and how large the cache is\n"
    "  --bench N          in the place of prompts: reads N tokens, writes as many as --steps says, and does it "
    "again;\n"
    "                     prints what --stats tells of the second time\n"
    "\n"
    "Only the model, its weights, the prompt, --cache, --int8, --temperature and --seed change the text of a "
    "prompt.\n"
    "Exit status 0; 1 if --check found other bits; 2 with one line on stderr that says what was wrong.\n";

static bool read_option(struct options *options, const char *name, const char *word, struct failure *failure) {
  struct engine_options *engine = &options->engine;
  int64_t threads = 0, seed = 0;
  const struct {
    const char *name;
    int64_t least, most, *value;
  } numbers[] = {{"--steps", 1, NUMBER_LIMIT, &options->steps}, {"--seed", 0, NUMBER_LIMIT, &seed},
                 {"--bench", 1, NUMBER_LIMIT, &options->bench}, {"--page", 1, NUMBER_LIMIT, &engine->page_rows},
                 {"--batch", 1, BATCH_LIMIT, &engine->batch},   {"--chunk", 1, NUMBER_LIMIT, &engine->chunk},
                 {"--threads", 0, THREAD_LIMIT, &threads}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (strcmp(name, numbers[i].name) != 0) continue;
    if (!words_whole(name, word, numbers[i].least, numbers[i].most, numbers[i].value, failure)) return false;
    if (numbers[i].value == &threads) engine->execution.threads = (int)threads;
    if (numbers[i].value == &seed) options->has_seed = true, options->seed = (uint64_t)seed;
    return true;
  }
  if (strcmp(name, "--temperature") == 0) return words_temperature(word, &engine->temperature, failure);
  if (strcmp(name, "--cache") == 0) {
    int type = 0;
    if (!words_choose(name, word, cache_types, &type, failure)) return false;
    engine->cache = (enum cache_type)type;
  } else if (strcmp(name, "--isa") == 0) {
    engine->execution.isa = word;
  } else if (strcmp(name, "--weights") == 0) {
    options->weights = word;
  } else if (strcmp(name, "--logits") == 0) {
    options->logits = word;
  } else {
    return refuse(failure, "there is no option %s; --help lists what there is", name);
  }
  return true;
}

bool options_read(struct options *options, int count, char **arguments, struct failure *failure) {
  *options = (struct options){
      .prompts = arguments, .steps = 64, .seed = 1, .engine = {.page_rows = 16, .batch = 8, .chunk = 64}};
  fovea_execution_init(&options->engine.execution);
  for (int i = 1; i < count; i++) {
    char *name = arguments[i];
    if (strcmp(name, "--help") == 0) {
      options->help = true;
      return true;
    }
    if (strcmp(name, "--check") == 0) {
      options->check = options->engine.has_digests = true;
    } else if (strcmp(name, "--int8") == 0) {
      options->mode = FOVEA_MODE_INT8;
    } else if (strcmp(name, "--stats") == 0) {
      options->stats = true;
    } else if (strncmp(name, "--", 2) == 0) {
      if (++i == count) return refuse(failure, "%s wants something after it; --help says what", name);
      if (!read_option(options, name, arguments[i], failure)) return false;
    } else if (!options->model) {
      options->model = name;
    } else {
      options->prompts[options->prompt_count++] = name;
    }
  }
  if (options->bench > 0 && options->prompt_count > 0)
    return refuse(failure, "--bench makes its own prompt; '%s' would not be used", options->prompts[0]);
  if (options->bench > 0) options->prompt_count = 1;
  if (!options->model || options->prompt_count == 0)
    return refuse(failure, "it needs the path of a model, and a prompt; --help tells more");
  if (options->has_seed && options->engine.temperature == 0)
    return refuse(failure, "--seed is for another --temperature than 0; here it would not be used");
  if (options->engine.batch > options->prompt_count) options->engine.batch = options->prompt_count;
  return true;
}
