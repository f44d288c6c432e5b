/* Calls of graph attention. */
#include "nn_scene.h"
#include "support/execution.h"
#include "wild.h"

#include <fovea/graph_attention.h>

#include <math.h>
#include <stddef.h>

extern const struct nn_kind nn_kind_graph;

static fovea_nn_graph graph;
static fovea_nn_graph_tensors tensors;
static int shares;

#define G_FIELD(name, kind) NN_FIELD(fovea_nn_graph, name, kind)
#define T_FIELD(name, kind) NN_FIELD(fovea_nn_graph_tensors, name, kind)

static int64_t times(int64_t a, int64_t b) {
  return fabs((double)a * (double)b) < 1e9 ? a * b : INT64_C(1) << 40;
}

static void describe(struct nn_scene *s) {
  static const struct field fields[] = {
      G_FIELD(kind, INTEGER),     G_FIELD(heads, LONG),       G_FIELD(dim, LONG),
      G_FIELD(scale, REAL),       G_FIELD(leaky_slope, REAL), G_FIELD(average_heads, INTEGER),
      G_FIELD(struct_size, SIZE),
  };
  fovea_nn_graph_init(&graph, (fovea_nn_graph_kind)nn_below(s, 3), nn_size(s, 5), nn_size(s, 20));
  graph.average_heads = (int)nn_below(s, 2);
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &graph, fields);
}

/* Edges of which each node has a few: numbers of a list, which begins at edge 0 or later. */
static void make_edges(struct nn_scene *s) {
  fovea_nn_graph_tensors *t = &tensors;
  int64_t *starts = nn_list(s, t->nodes >= 0 && t->nodes < 9999 ? t->nodes + 1 : INT64_C(1) << 40, 1);
  int64_t count = nn_below(s, 3);
  t->edge_starts = starts;
  if (!starts || (uintptr_t)starts % sizeof *starts != 0) return;
  for (int64_t i = 0; i <= t->nodes; i++) {
    starts[i] = count;
    count += t->sources > 0 && i < t->nodes ? nn_below(s, 6) : 0;
  }
  int64_t *sources = nn_list(s, count, t->sources < 9999 ? t->sources : 9999);
  t->edge_sources = sources;
  for (int64_t i = 0; sources && (uintptr_t)sources % sizeof *sources == 0 && i < count; i++)
    if (t->sources <= 0 || bytes_one_in(s->bytes, 8)) sources[i] = -1;
  if (!s->wild || !bytes_one_in(s->bytes, 4)) return;
  starts[nn_below(s, t->nodes + 1)] = wild_number(s->bytes);
  if (starts[t->nodes] > count) starts[t->nodes] = count; /* there are no more sources */
}

static int64_t edges_of(void) {
  const fovea_nn_graph_tensors *t = &tensors;
  if (!t->edge_starts || (uintptr_t)t->edge_starts % sizeof(int64_t) != 0 || t->nodes < 0) return 0;
  int64_t most = 0; /* also if they decrease */
  for (int64_t i = 0; i <= t->nodes; i++)
    if (t->edge_starts[i] > most && t->edge_starts[i] < 99999) most = t->edge_starts[i];
  return most;
}

static void edit_tensors(struct nn_scene *s) {
  static const struct field fields[] = {
      T_FIELD(nodes, LONG),
      T_FIELD(sources, LONG),
      T_FIELD(q_type, INTEGER),
      T_FIELD(k_type, INTEGER),
      T_FIELD(v_type, INTEGER),
      T_FIELD(y_type, INTEGER),
      T_FIELD(feature_type, INTEGER),
      T_FIELD(q_strides.row, LONG),
      T_FIELD(q_strides.batch, LONG),
      T_FIELD(k_strides.head, LONG),
      T_FIELD(v_strides.row, LONG),
      T_FIELD(y_strides.row, LONG),
      T_FIELD(feature_strides.row, LONG),
      T_FIELD(feature_strides.head, LONG),
      T_FIELD(weight_stride, LONG),
      T_FIELD(struct_size, SIZE),
  };
  if (bytes_one_in(s->bytes, 2)) NN_EDIT(s, &tensors, fields);
}

static void make_features(struct nn_scene *s, unsigned choice, int64_t edges) {
  fovea_nn_graph_tensors *t = &tensors;
  const int with_layer = graph.edge != NULL;
  const int64_t heads = with_layer ? 1 : graph.heads, dim = with_layer ? graph.edge->in : graph.dim;
  if (choice & 1) t->features = nn_rows_of(s, 1, heads, edges, dim, t->feature_strides, t->feature_type);
}

static void make_vectors(struct nn_scene *s, unsigned choice) {
  fovea_nn_graph *g = &graph;
  const int64_t width = times(g->heads, g->dim);
  if (g->kind == FOVEA_NN_GRAPH_GAT) {
    g->a_to = nn_tensor(s, 1, width, 0, FOVEA_F32);
    g->a_from = nn_tensor(s, 1, width, 0, FOVEA_F32);
    if (choice & 1) g->a_edge = nn_tensor(s, 1, width, 0, FOVEA_F32);
  }
  if (g->kind == FOVEA_NN_GRAPH_GATV2) g->a = nn_tensor(s, 1, width, 0, FOVEA_F32);
  if (choice & 2) g->bias = nn_tensor(s, 1, g->average_heads ? g->dim : width, 0, FOVEA_F32);
}

static fovea_strides strides_of(struct nn_scene *s, fovea_strides contiguous, int64_t heads, int64_t rows,
                                int64_t dim) {
  if (!bytes_one_in(s->bytes, 3)) return contiguous;
  fovea_strides strides = nn_strides(s, heads % 1000, rows, dim % 1000);
  strides.batch = 0;
  return strides;
}

static void make(struct nn_scene *s) {
  fovea_nn_graph_tensors *t = &tensors;
  describe(s);
  const unsigned choice = bytes_one(s->bytes);
  const int64_t nodes = nn_below(s, 12), sources = bytes_one_in(s->bytes, 2) ? nodes : nn_below(s, 12);
  const int64_t heads = graph.heads, dim = graph.dim, width = times(heads, dim);
  if ((choice & 5) == 5) graph.edge = nn_layer(s, nn_size(s, 12), width);
  fovea_nn_graph_tensors_init(t, &graph, nodes, sources, NULL, NULL, NULL, NULL, NULL);
  t->q_type = nn_type(s);
  t->k_type = nn_type(s);
  t->y_type = nn_type(s);
  if (choice & 1) t->feature_type = nn_type(s);
  t->q_strides = strides_of(s, t->q_strides, heads, nodes, dim);
  t->k_strides = strides_of(s, t->k_strides, heads, sources, dim);
  if ((choice & 8) && heads < 1000) t->weight_stride = heads + nn_below(s, 3);
  edit_tensors(s);
  make_edges(s);
  const int64_t edges = edges_of(), y_heads = graph.average_heads ? 1 : heads;
  t->q = nn_rows_of(s, 1, heads, t->nodes, dim, t->q_strides, t->q_type);
  t->k = nn_rows_of(s, 1, heads, t->sources, dim, t->k_strides, t->k_type);
  if (graph.kind == FOVEA_NN_GRAPH_TRANSFORMER)
    t->v = nn_rows_of(s, 1, heads, t->sources, dim, t->v_strides, t->v_type);
  t->y = nn_rows_of(s, 1, y_heads, t->nodes, dim, t->y_strides, t->y_type);
  make_features(s, choice, edges);
  make_vectors(s, choice);
  if (choice & 8) t->weights = nn_tensor(s, edges, heads, t->weight_stride, FOVEA_F32);
  if (choice & 16) t->lse = nn_tensor(s, t->nodes, heads, heads, FOVEA_F32);
  shares = s->wild && bytes_one_in(s->bytes, 16);
  if (shares) t->y = (choice & 32) ? (void *)(uintptr_t)t->k : (void *)t->lse;
  const double in = graph.edge ? fabs((double)graph.edge->in) : 1;
  if (!s->cannot_be)
    s->work =
        ((double)edges + fabs((double)t->nodes) + fabs((double)t->sources) + 1) * (fabs((double)width) + 64) * in;
}

static fovea_status run(struct nn_scene *s, const fovea_execution *e, fovea_error *error) {
  (void)s;
  return fovea_nn_graph_run(&graph, &tensors, e, error);
}

static size_t scratch_size(struct nn_scene *s, int workers) {
  (void)s;
  return measured(fovea_nn_graph_scratch_size(&graph, &tensors, with_threads(workers), measured_size(), NULL));
}

static int edges_have_meaning(void) {
  const fovea_nn_graph_tensors *t = &tensors;
  for (int64_t i = 0; i <= t->nodes; i++)
    if (t->edge_starts[i] < (i > 0 ? t->edge_starts[i - 1] : 0)) return 0;
  for (int64_t i = t->edge_starts[0]; i < t->edge_starts[t->nodes]; i++)
    if (t->edge_sources[i] < -1 || t->edge_sources[i] >= t->sources) return 0;
  return 1;
}

static int has_meaning(const struct nn_scene *s) {
  const fovea_nn_graph_tensors *t = &tensors;
  const fovea_nn_graph *g = &graph;
  const int transformer = g->kind == FOVEA_NN_GRAPH_TRANSFORMER;
  (void)s;
  if (g->struct_size != sizeof *g || t->struct_size != sizeof *t || (unsigned)g->kind > 2) return 0;
  if (g->heads < 1 || g->heads > 1 << 20 || g->dim < 1 || (unsigned)g->average_heads > 1) return 0;
  if (transformer
          ? g->leaky_slope != 0 || !wild_is_finite(g->scale)
          : (g->scale != 0 && g->scale != FOVEA_DEFAULT_NUMBER) || !(g->leaky_slope >= 0 && g->leaky_slope < 1))
    return 0;
  if (g->edge && (!nn_layer_has_meaning(g->edge) || g->edge->out != g->heads * g->dim || !t->features)) return 0;
  if (t->nodes < 0 || t->sources < 0 || nn_stride(t->q_strides.batch, 0) != 0 || !edges_have_meaning()) return 0;
  if (!nn_is_type(t->q_type) || !nn_is_type(t->k_type) || !nn_is_type(t->v_type)) return 0;
  if (!nn_is_type(t->y_type) || !nn_is_type(t->feature_type)) return 0;
  if (!t->weights && nn_stride(t->weight_stride, g->heads) != g->heads) return 0;
  if (!t->features && t->feature_type != FOVEA_F32) return 0;
  return !(shares && t->y && t->nodes > 0 && t->sources > 0);
}

const struct nn_kind nn_kind_graph = {make, run, has_meaning, 1, scratch_size, 0};
