/* The structs of the variants of attention: one function sets each, the next one makes a call with it. */
#include "struct_kinds.h"

#include <fovea/graph_attention.h>
#include <fovea/latent_attention.h>
#include <fovea/linear_attention.h>
#include <fovea/performer.h>
#include <fovea/sparse_attention.h>

#include <string.h>

enum { ROWS = 3, DIM = 4 };

static float *const x = kind_x, *const y = kind_y, *const weights = kind_weights;
static const int64_t edge_starts[ROWS + 1] = {0, 1, 2, 3}, edge_sources[ROWS] = {2, 0, 1};

static fovea_nn_linear layer, kv_b, kv_a;
static fovea_problem problem;
static fovea_tensors tensors, second;
static fovea_nn_linear_attention linear_attention;
static fovea_nn_performer performer;
static fovea_nn_longformer_options longformer_options;
static fovea_nn_longformer_layer longformer_layer;
static fovea_nn_longformer_rows longformer_rows;
static fovea_nn_lsh lsh;
static fovea_nn_latent latent;
static fovea_nn_latent_tensors latent_tensors;
static fovea_nn_graph graph;

static void set_linear_attention(void *s, size_t size) {
  fovea_nn_linear_attention_init_sized(s, size, FOVEA_NN_UPDATE_LINEAR, 1, DIM, DIM);
}
static fovea_status use_linear_attention(const void *s, fovea_error *error) {
  fovea_nn_linear_attention_tensors t;
  fovea_nn_linear_attention_tensors_init(&t, &linear_attention, 1, ROWS, x, x, x, y);
  return fovea_nn_linear_attention_run(s, &t, NULL, error);
}

static void set_linear_attention_tensors(void *s, size_t size) {
  fovea_nn_linear_attention_tensors_init_sized(s, size, &linear_attention, 1, ROWS, x, x, x, y);
}
static fovea_status use_linear_attention_tensors(const void *s, fovea_error *error) {
  return fovea_nn_linear_attention_run(&linear_attention, s, NULL, error);
}

static void set_random_features(void *s, size_t size) {
  fovea_nn_random_features_init_sized(s, size, ROWS, DIM);
}
static fovea_status use_random_features(const void *s, fovea_error *error) {
  return fovea_nn_random_features_draw(s, y, NULL, error);
}

static void set_performer(void *s, size_t size) {
  fovea_nn_performer_init_sized(s, size, FOVEA_NN_PERFORMER_SOFTMAX, DIM, DIM, weights);
}
static fovea_status use_performer(const void *s, fovea_error *error) {
  fovea_nn_performer_tensors t;
  fovea_nn_performer_tensors_init(&t, &performer, 1, 1, 1, ROWS, ROWS, DIM, x, x, x, y);
  return fovea_nn_performer_run(s, &t, NULL, error);
}

static void set_performer_tensors(void *s, size_t size) {
  fovea_nn_performer_tensors_init_sized(s, size, &performer, 1, 1, 1, ROWS, ROWS, DIM, x, x, x, y);
}
static fovea_status use_performer_tensors(const void *s, fovea_error *error) {
  return fovea_nn_performer_run(&performer, s, NULL, error);
}

static void set_performer_rows(void *s, size_t size) {
  fovea_nn_performer_rows_init_sized(s, size, &performer, 1, 1, ROWS, x, y);
}
static fovea_status use_performer_rows(const void *s, fovea_error *error) {
  return fovea_nn_performer_features(&performer, s, NULL, error);
}
static fovea_status use_performer_of_rows(const void *s, fovea_error *error) {
  fovea_nn_performer_rows rows;
  set_performer_rows(&rows, sizeof rows);
  return fovea_nn_performer_features(s, &rows, NULL, error);
}

static fovea_status run_longformer(const fovea_nn_longformer_options *options, const void *rows, const void *of,
                                   fovea_error *error) {
  fovea_nn_longformer *longformer;
  fovea_status status = fovea_nn_longformer_create(options, NULL, &longformer, error);
  if (!status) status = fovea_nn_longformer_run(longformer, of, rows, NULL, error);
  fovea_nn_longformer_destroy(longformer);
  return status;
}
static void set_longformer_options(void *s, size_t size) {
  fovea_nn_longformer_options_init_sized(s, size, 1, 1, ROWS, DIM, 1);
}
static fovea_status use_longformer_options(const void *s, fovea_error *error) {
  return run_longformer(s, &longformer_rows, &longformer_layer, error);
}

static void set_longformer_layer(void *s, size_t size) {
  fovea_nn_longformer_layer_init_sized(s, size, &layer, &layer, &layer);
}
static fovea_status use_longformer_layer(const void *s, fovea_error *error) {
  return run_longformer(&longformer_options, &longformer_rows, s, error);
}

static void set_longformer_rows(void *s, size_t size) {
  fovea_nn_longformer_rows_init_sized(s, size, x, y);
}
static fovea_status use_longformer_rows(const void *s, fovea_error *error) {
  return run_longformer(&longformer_options, s, &longformer_layer, error);
}

static void set_bigbird(void *s, size_t size) {
  fovea_nn_bigbird_init_sized(s, size, ROWS);
}
static fovea_status use_bigbird(const void *s, fovea_error *error) {
  fovea_pattern *pattern;
  const fovea_status status = fovea_nn_bigbird_pattern(s, &pattern, error);
  fovea_pattern_destroy(pattern);
  return status;
}

static void set_lsh(void *s, size_t size) {
  fovea_nn_lsh_init_sized(s, size, 2, 2, 2, DIM);
}
static fovea_status use_lsh(const void *s, fovea_error *error) {
  fovea_nn_lsh_tensors t;
  fovea_nn_lsh_tensors_init(&t, &lsh, 1, 1, ROWS, DIM, x, x, y, weights);
  return fovea_nn_lsh_run(s, &t, NULL, error);
}

static void set_lsh_tensors(void *s, size_t size) {
  fovea_nn_lsh_tensors_init_sized(s, size, &lsh, 1, 1, ROWS, DIM, x, x, y, weights);
}
static fovea_status use_lsh_tensors(const void *s, fovea_error *error) {
  return fovea_nn_lsh_run(&lsh, s, NULL, error);
}

static void set_selection(void *s, size_t size) {
  fovea_nn_selection_init_sized(s, size, 1, 1, ROWS, ROWS, DIM, 2, x, x, weights, (int64_t *)(void *)y);
}
static fovea_status use_selection(const void *s, fovea_error *error) {
  return fovea_nn_select(s, NULL, error);
}

static void set_linformer(void *s, size_t size) {
  fovea_nn_linformer_init_sized(s, size, ROWS, 2, weights);
}
static fovea_status use_linformer(const void *s, fovea_error *error) {
  return fovea_nn_linformer_run(s, &problem, &tensors, NULL, error);
}

static void set_differential(void *s, size_t size) {
  fovea_nn_differential_init_sized(s, size, 0.5, 0.2);
}
static fovea_status use_differential(const void *s, fovea_error *error) {
  return fovea_nn_differential_run(s, &problem, &tensors, &second, NULL, error);
}

static void set_latent(void *s, size_t size) {
  fovea_nn_latent_init_sized(s, size, 1, DIM, 2, 2, DIM);
}
/* It has no layers after this, and is refused for that when all of it has been read. */
static fovea_status use_latent(const void *s, fovea_error *error) {
  fovea_error own = {.text = ""};
  const fovea_status status = fovea_nn_latent_run(s, &problem, &latent_tensors, NULL, &own);
  if (error) *error = own;
  return status == FOVEA_ERROR_ARGUMENT && strstr(own.text, " is NULL") ? FOVEA_OK : status;
}

static void set_latent_tensors(void *s, size_t size) {
  fovea_nn_latent_tensors_init_sized(s, size, x, y);
}
static fovea_status use_latent_tensors(const void *s, fovea_error *error) {
  return fovea_nn_latent_run(&latent, &problem, s, NULL, error);
}

static void set_graph(void *s, size_t size) {
  fovea_nn_graph_init_sized(s, size, FOVEA_NN_GRAPH_TRANSFORMER, 1, DIM);
}
static fovea_status use_graph(const void *s, fovea_error *error) {
  fovea_nn_graph_tensors t;
  fovea_nn_graph_tensors_init(&t, &graph, ROWS, ROWS, edge_starts, edge_sources, x, x, y);
  t.v = x;
  return fovea_nn_graph_run(s, &t, NULL, error);
}

/* GATv2 has no values, so that its tensors are complete when they are initialised. */
static void set_graph_tensors(void *s, size_t size) {
  fovea_nn_graph_tensors_init_sized(s, size, &graph, ROWS, ROWS, edge_starts, edge_sources, x, x, y);
}
static fovea_status use_graph_tensors(const void *s, fovea_error *error) {
  fovea_nn_graph gatv2;
  fovea_nn_graph_init(&gatv2, FOVEA_NN_GRAPH_GATV2, 1, DIM);
  gatv2.a = weights;
  return fovea_nn_graph_run(&gatv2, s, NULL, error);
}

#define KIND(name, type, function)                                                                                 \
  { name, sizeof(fovea_nn_##type), set_##function, use_##function }

const struct struct_kind variant_kinds[] = {
    KIND("attention", linear_attention, linear_attention),
    KIND("tensors", linear_attention_tensors, linear_attention_tensors),
    KIND("random", random_features, random_features),
    KIND("performer", performer, performer),
    {"performer", sizeof(fovea_nn_performer), set_performer, use_performer_of_rows},
    KIND("tensors", performer_tensors, performer_tensors),
    KIND("rows", performer_rows, performer_rows),
    KIND("options", longformer_options, longformer_options),
    KIND("layer", longformer_layer, longformer_layer),
    KIND("rows", longformer_rows, longformer_rows),
    KIND("bigbird", bigbird, bigbird),
    KIND("lsh", lsh, lsh),
    KIND("tensors", lsh_tensors, lsh_tensors),
    KIND("selection", selection, selection),
    KIND("linformer", linformer, linformer),
    KIND("differential", differential, differential),
    KIND("latent", latent, latent),
    KIND("tensors", latent_tensors, latent_tensors),
    KIND("graph", graph, graph),
    KIND("tensors", graph_tensors, graph_tensors),
};
const int variant_kind_count = sizeof variant_kinds / sizeof *variant_kinds;

void variant_kinds_set_up(void) {
  fovea_nn_linear_init(&layer, DIM, DIM, weights);
  fovea_nn_linear_init(&kv_a, DIM, DIM + 2, weights);
  fovea_nn_linear_init(&kv_b, DIM, 2 + DIM, weights);
  fovea_problem_init(&problem, 1, 1, 1, ROWS, ROWS, DIM, DIM);
  fovea_tensors_init(&tensors, x, x, x, y, NULL);
  fovea_tensors_init(&second, weights, x, x, NULL, NULL);
  set_linear_attention(&linear_attention, sizeof linear_attention);
  set_performer(&performer, sizeof performer);
  set_longformer_options(&longformer_options, sizeof longformer_options);
  set_longformer_layer(&longformer_layer, sizeof longformer_layer);
  set_longformer_rows(&longformer_rows, sizeof longformer_rows);
  set_lsh(&lsh, sizeof lsh);
  set_latent(&latent, sizeof latent);
  latent.q_b_proj = latent.o_proj = &layer;
  latent.kv_a_proj = &kv_a;
  latent.kv_b_proj = &kv_b;
  set_latent_tensors(&latent_tensors, sizeof latent_tensors);
  set_graph(&graph, sizeof graph);
}
