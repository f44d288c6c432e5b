/* Vectors of scaled rotary embeddings. */
#include "contract_scaling.h"
#include "vectors.h"

#include <stddef.h>

enum { MOST = 32 };

static const double short_factors[] = {1, 1.05, 1.1, 1.7, 2.5}, long_factors[] = {1, 1.3, 4, 19.5, 64};

struct scaling_case {
  const char *name, *rule;
  fovea_rotary_scaling fields;
};

static const struct scaling_case cases[] = {
    {"scaling_linear", "linear", {.rule = FOVEA_SCALING_LINEAR, .dims = 8, .base = 10000, .factor = 3}},
    {"scaling_ntk", "ntk", {.rule = FOVEA_SCALING_NTK, .dims = 10, .base = 10000, .factor = 8}},
    {"scaling_dynamic_ntk_short",
     "dynamic_ntk",
     {.rule = FOVEA_SCALING_DYNAMIC_NTK,
      .dims = 8,
      .base = 10000,
      .factor = 2,
      .trained_length = 4096,
      .length = 4096}},
    {"scaling_dynamic_ntk_long",
     "dynamic_ntk",
     {.rule = FOVEA_SCALING_DYNAMIC_NTK,
      .dims = 12,
      .base = 500000,
      .factor = 3.5,
      .trained_length = 2048,
      .length = 5001}},
    {"scaling_llama3",
     "llama3",
     {.rule = FOVEA_SCALING_LLAMA3,
      .dims = 32,
      .base = 500000,
      .factor = 8,
      .trained_length = 8192,
      .slow_turns = 1,
      .fast_turns = 4}},
    {"scaling_yarn",
     "yarn",
     {.rule = FOVEA_SCALING_YARN,
      .dims = 24,
      .base = 10000,
      .factor = 40,
      .trained_length = 4096,
      .slow_turns = 1,
      .fast_turns = 32,
      .mscale = 0.707,
      .mscale_all_dim = 0.5}},
    {"scaling_yarn_exact_pairs",
     "yarn",
     {.rule = FOVEA_SCALING_YARN,
      .dims = 24,
      .base = 150000,
      .factor = 32,
      .trained_length = 4096,
      .slow_turns = 1,
      .fast_turns = 32,
      .exact_pairs = 1}},
    {"scaling_yarn_one_pair", /* low and high are equal */
     "yarn",
     {.rule = FOVEA_SCALING_YARN,
      .dims = 8,
      .base = 10000,
      .factor = 16,
      .trained_length = 5,
      .slow_turns = 1,
      .fast_turns = 32}},
    {"scaling_longrope_short",
     "longrope",
     {.rule = FOVEA_SCALING_LONGROPE,
      .dims = 10,
      .base = 10000,
      .factor = 32,
      .trained_length = 4096,
      .length = 4096,
      .short_factors = short_factors,
      .long_factors = long_factors}},
    {"scaling_longrope_long",
     "longrope",
     {.rule = FOVEA_SCALING_LONGROPE,
      .dims = 10,
      .base = 10000,
      .factor = 1,
      .trained_length = 4096,
      .length = 4097,
      .short_factors = short_factors,
      .long_factors = long_factors}},
    {"scaling_proportional",
     "proportional",
     {.rule = FOVEA_SCALING_PROPORTIONAL, .dims = 12, .base = 1000000, .factor = 8, .rotated_dims = 6}},
};

/* A product and a quotient that another order rounds otherwise; a last pair that would lie beyond the row. */
static const struct scaling_case more[] = {
    {"scaling_dynamic_ntk_order",
     "dynamic_ntk",
     {.rule = FOVEA_SCALING_DYNAMIC_NTK,
      .dims = 12,
      .base = 10000,
      .factor = 2.3,
      .trained_length = 3000,
      .length = 9999}},
    {"scaling_yarn_long",
     "yarn",
     {.rule = FOVEA_SCALING_YARN,
      .dims = 8,
      .base = 100,
      .factor = 4,
      .trained_length = 1000000,
      .slow_turns = 1,
      .fast_turns = 32}},
};

/* As `more`, with numbers by which the results differ. */
static const struct scaling_case last[] = {
    {"scaling_dynamic_ntk_products",
     "dynamic_ntk",
     {.rule = FOVEA_SCALING_DYNAMIC_NTK,
      .dims = 12,
      .base = 10000,
      .factor = 2.3,
      .trained_length = 3000,
      .length = 27007}},
    {"scaling_yarn_after_last",
     "yarn",
     {.rule = FOVEA_SCALING_YARN,
      .dims = 8,
      .base = 100,
      .factor = 4,
      .trained_length = 1000000,
      .slow_turns = 1,
      .fast_turns = 100000}},
};

static void write_integer(const char *name, int64_t value) {
  if (value != 0) vector_integer(name, value);
}

static void write_double(const char *name, double value) {
  if (value != 0) vector_double(name, value);
}

static void write_cases(const struct scaling_case *scalings, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const fovea_rotary_scaling *s = &scalings[i].fields;
    double frequencies[MOST], factor;
    contract_scaling(s, frequencies, &factor);
    vector_begin(scalings[i].name, "scaling", "12");
    vector_word("rule", scalings[i].rule);
    vector_integer("dims", s->dims);
    vector_double("base", s->base);
    vector_double("factor", s->factor);
    write_integer("trained_length", s->trained_length);
    write_integer("length", s->length);
    write_double("slow_turns", s->slow_turns);
    write_double("fast_turns", s->fast_turns);
    write_integer("exact_pairs", s->exact_pairs);
    write_double("mscale", s->mscale);
    write_double("mscale_all_dim", s->mscale_all_dim);
    write_integer("rotated_dims", s->rotated_dims);
    if (s->short_factors) vector_array(INPUT, "short_factors", ARRAY_F64, s->short_factors, s->dims / 2, 0);
    if (s->long_factors) vector_array(INPUT, "long_factors", ARRAY_F64, s->long_factors, s->dims / 2, 0);
    vector_array(EXPECTED, "frequencies", ARRAY_F64, frequencies, s->dims / 2, 0);
    vector_array(EXPECTED, "attention_factor", ARRAY_F64, &factor, 1, 0);
    vector_end();
  }
}

void write_scaling(void) {
  write_cases(cases, sizeof cases / sizeof *cases);
}

void write_more_scaling(void) {
  write_cases(more, sizeof more / sizeof *more);
}

void write_last_scaling(void) {
  write_cases(last, sizeof last / sizeof *last);
}
