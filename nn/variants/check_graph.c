/* Everything that graph attention may be refused for. */
#include "../../arch/float_state.h"
#include "../../src/base/caller.h"
#include "../../src/base/claim.h"
#include "../../src/base/error.h"
#include "../../src/base/resolve.h"
#include "../../src/base/types.h"
#include "../../src/base/validate.h"
#include "../choose_table.h"
#include "../defaults.h"
#include "../linear.h"
#include "../matrix.h"
#include "graph.h"

#include <math.h>
#include <string.h>

enum { HEADS_LIMIT = 1 << 20 };

void fovea_nn_graph_init_sized(fovea_nn_graph *graph, size_t struct_size, fovea_nn_graph_kind kind, int64_t heads,
                               int64_t dim) {
  fovea_nn_graph defaults = {.struct_size = struct_size, .kind = kind, .heads = heads, .dim = dim};
  if (kind == FOVEA_NN_GRAPH_TRANSFORMER) {
    defaults.scale = FOVEA_DEFAULT_NUMBER;
  } else {
    defaults.leaky_slope = 0.2;
  }
  fovea_nn_write_defaults(graph, struct_size, &defaults, sizeof defaults);
}

static fovea_strides contiguous(int64_t heads, int64_t dim) {
  return (fovea_strides){0, dim, fovea_wrapped_product(heads, dim)};
}

void fovea_nn_graph_tensors_init_sized(fovea_nn_graph_tensors *tensors, size_t struct_size,
                                       const fovea_nn_graph *graph, int64_t nodes, int64_t sources,
                                       const int64_t *edge_starts, const int64_t *edge_sources, const void *q,
                                       const void *k, void *y) {
  (void)graph; /* with the strides of what runs */
  const fovea_nn_graph_tensors defaults = {.struct_size = struct_size,
                                           .nodes = nodes,
                                           .sources = sources,
                                           .edge_starts = edge_starts,
                                           .edge_sources = edge_sources,
                                           .q = q,
                                           .k = k,
                                           .y = y,
                                           .q_strides = FOVEA_UNSET_STRIDES,
                                           .k_strides = FOVEA_UNSET_STRIDES,
                                           .v_strides = FOVEA_UNSET_STRIDES,
                                           .y_strides = FOVEA_UNSET_STRIDES,
                                           .feature_strides = FOVEA_UNSET_STRIDES,
                                           .weight_stride = FOVEA_CONTIGUOUS};
  fovea_nn_write_defaults(tensors, struct_size, &defaults, sizeof defaults);
}

static void resolve(fovea_nn_graph *g, fovea_nn_graph_tensors *t) {
  const fovea_strides rows = contiguous(g->heads, g->dim);
  if (g->kind == FOVEA_NN_GRAPH_TRANSFORMER) fovea_resolve_scale(&g->scale, g->dim);
  fovea_resolve_number(&g->scale, 0); /* the other kinds have none */
  fovea_resolve_strides(&t->q_strides, rows);
  fovea_resolve_strides(&t->k_strides, rows);
  fovea_resolve_strides(&t->v_strides, rows);
  fovea_resolve_strides(&t->y_strides, g->average_heads ? (fovea_strides){0, 0, g->dim} : rows);
  if (!g->edge) fovea_resolve_strides(&t->feature_strides, rows); /* else when the layer has been read */
  fovea_resolve_stride(&t->weight_stride, g->heads);
}

static fovea_status read_arguments(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                   fovea_nn_graph_call *call, fovea_error *error) {
  fovea_status status = fovea_nn_read_struct("graph", graph, &call->graph, sizeof call->graph, error);
  if (!status) status = fovea_nn_read_struct("tensors", tensors, &call->tensors, sizeof call->tensors, error);
  if (!status) resolve(&call->graph, &call->tensors);
  return status;
}

static fovea_status check_sizes(fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph *g = &call->graph;
  const fovea_bounded sizes[] = {{"heads", g->heads, 1, HEADS_LIMIT}, {"dim", g->dim, 1, FOVEA_DIM_LIMIT}};
  const fovea_bounded counts[] = {{"nodes", t->nodes, 0, FOVEA_LENGTH_LIMIT},
                                  {"sources", t->sources, 0, FOVEA_LENGTH_LIMIT}};
  const fovea_bounded kind = {"kind", (int)g->kind, 0, FOVEA_NN_GRAPH_GATV2};
  const fovea_bounded average = {"average_heads", g->average_heads, 0, 1};
  const fovea_bounded types[] = {fovea_bounded_type("q_type", t->q_type), fovea_bounded_type("k_type", t->k_type),
                                 fovea_bounded_type("v_type", t->v_type), fovea_bounded_type("y_type", t->y_type),
                                 fovea_bounded_type("feature_type", t->feature_type)};
  fovea_status status = fovea_validate_bounds("graph", &kind, 1, error);
  if (!status) status = fovea_validate_bounds("graph", sizes, 2, error);
  if (!status) status = fovea_validate_bounds("graph", &average, 1, error);
  if (!status) status = fovea_validate_bounds("tensors", counts, 2, error);
  if (!status) status = fovea_validate_bounds("tensors", types, 5, error);
  if (status) return status;
  call->width = g->heads * g->dim;
  if (call->width > FOVEA_DIM_LIMIT) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "heads %jd times dim %jd is more than 2^40", g->heads, g->dim);
  }
  for (call->padded = 1; call->padded < g->heads;) call->padded *= 2;
  return FOVEA_OK;
}

static fovea_status refuse(const char *name, const char *why, fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s is set and would not be used: %s", name, why);
}

/* The vectors a: the kind's are there, the others are not. */
static fovea_status check_vectors(const fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph *g = &call->graph;
  const int gat = g->kind == FOVEA_NN_GRAPH_GAT, gatv2 = g->kind == FOVEA_NN_GRAPH_GATV2;
  const struct {
    const char *name;
    const float *vector;
    int kind;
    int needed;
  } list[] = {{"a_to", g->a_to, gat, gat},
              {"a_from", g->a_from, gat, gat},
              {"a_edge", g->a_edge, gat, gat && call->tensors.features},
              {"a", g->a, gatv2, gatv2}};
  for (int i = 0; i < 4; i++) {
    if (!list[i].vector && list[i].needed)
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is NULL", list[i].name);
    if (list[i].vector && !list[i].kind) return refuse(list[i].name, "kind is another one", error);
    if (list[i].vector && !list[i].needed) return refuse(list[i].name, "there are no features", error);
  }
  return FOVEA_OK;
}

static int is_same(fovea_strides a, fovea_strides b) {
  return a.batch == b.batch && a.head == b.head && a.row == b.row;
}

static fovea_status check_unused(const fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph *g = &call->graph;
  const int transformer = g->kind == FOVEA_NN_GRAPH_TRANSFORMER;
  const fovea_strides rows = contiguous(g->heads, g->dim);
  const fovea_strides features = g->edge ? (fovea_strides){0, 0, call->edge.in} : rows;
  if (!transformer && t->v) return refuse("v", "the values of GAT and GATV2 are the keys", error);
  if (!transformer && (t->v_type != FOVEA_F32 || !is_same(t->v_strides, rows))) {
    return refuse(t->v_type != FOVEA_F32 ? "v_type" : "v_strides", "there are no values", error);
  }
  if (!transformer && g->scale != 0) return refuse("scale", "kind is not FOVEA_NN_GRAPH_TRANSFORMER", error);
  if (transformer && g->leaky_slope != 0) return refuse("leaky_slope", "kind is FOVEA_NN_GRAPH_TRANSFORMER", error);
  if (!t->features && g->edge) return refuse("edge", "there are no features", error);
  if (!t->features && (t->feature_type != FOVEA_F32 || !is_same(t->feature_strides, features))) {
    return refuse(t->feature_type != FOVEA_F32 ? "feature_type" : "feature_strides", "there are no features",
                  error);
  }
  if (!t->weights && t->weight_stride != g->heads) return refuse("weight_stride", "there are no weights", error);
  return FOVEA_OK;
}

/* Constants are computed here once. */
static fovea_status check_numbers(fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph *g = &call->graph;
  const int transformer = g->kind == FOVEA_NN_GRAPH_TRANSFORMER;
  const fovea_float_state caller = fovea_float_begin();
  const int holds = g->leaky_slope >= 0 && g->leaky_slope < 1;
  const double factor = transformer ? g->scale * FOVEA_LOG2E : FOVEA_LOG2E;
  const int finite = factor >= -0x1.fffffefp+127 && factor <= 0x1.fffffefp+127;
  call->slope = holds ? (float)g->leaky_slope : 0;
  call->factor = finite ? (float)factor : 0;
  fovea_float_end(caller);
  if (!finite) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "scale is %g; its product with log2 e must be finite in f32",
                      g->scale);
  }
  if (!holds) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "leaky_slope is %g; it must be at least 0 and below 1",
                      g->leaky_slope);
  }
  return FOVEA_OK;
}

static fovea_status check_layer(fovea_nn_graph_call *call, fovea_error *error) {
  if (!call->graph.edge) return FOVEA_OK;
  fovea_status status = fovea_nn_check_layer("edge", call->graph.edge, error);
  if (!status) status = fovea_nn_read_linear("edge", call->graph.edge, &call->edge, error);
  if (status) return status;
  call->graph.edge = &call->edge;
  fovea_resolve_strides(&call->tensors.feature_strides, (fovea_strides){0, 0, call->edge.in});
  if (call->edge.out == call->width) return FOVEA_OK;
  return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge.out is %jd; heads times dim is %jd", call->edge.out,
                    call->width);
}

int64_t fovea_nn_graph_part_end(const fovea_nn_graph_tensors *t, int64_t first) {
  int64_t end = first + 1;
  while (end < t->nodes && t->edge_starts[end + 1] - t->edge_starts[first] <= FOVEA_NN_GRAPH_PART) end++;
  return end;
}

static fovea_status check_starts(fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  if (!t->edge_starts) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_starts is NULL");
  if ((uintptr_t)t->edge_starts % sizeof(int64_t) || (uintptr_t)t->edge_sources % sizeof(int64_t)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s is not aligned to 8 bytes",
                      (uintptr_t)t->edge_starts % sizeof(int64_t) ? "edge_starts" : "edge_sources");
  }
  for (int64_t i = 0; i <= t->nodes; i++) {
    const int64_t before = i > 0 ? t->edge_starts[i - 1] : 0, count = t->edge_starts[i] - before;
    if (t->edge_starts[i] < before || t->edge_starts[i] > FOVEA_LENGTH_LIMIT) {
      return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_starts[%jd] is %jd; it must be from %jd to 2^48", i,
                        t->edge_starts[i], before);
    }
    if (i > 0 && count > call->most) call->most = count;
  }
  for (int64_t i = 0; call->graph.edge && i < t->nodes;) {
    const int64_t end = fovea_nn_graph_part_end(t, i), count = t->edge_starts[end] - t->edge_starts[i];
    if (count > call->part) call->part = count;
    i = end;
  }
  return FOVEA_OK;
}

static fovea_status check_edges(fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_status status = check_starts(call, error);
  if (status) return status;
  const int64_t first = t->edge_starts[0], end = t->edge_starts[t->nodes];
  if (!t->edge_sources && end > first) return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_sources is NULL");
  for (int64_t i = first; i < end; i++) {
    if (t->edge_sources[i] >= -1 && t->edge_sources[i] < t->sources) continue;
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT, "edge_sources[%jd] is %jd; it must be from -1 to %jd", i,
                      t->edge_sources[i], t->sources - 1);
  }
  return FOVEA_OK;
}

/* A tensor (rows, heads, dim). */
typedef struct tensor {
  const char *name;
  const void *data;
  int bits;
  int64_t rows, heads, dim;
  fovea_strides strides;
} tensor;

static int is_empty(const tensor *t) {
  return t->rows == 0 || t->heads == 0 || t->dim == 0;
}

static fovea_status check_tensor(const tensor *t, int is_output, fovea_error *error) {
  const char *name = fovea_nn_singular(t->name);
  const fovea_shape shape = fovea_make_shape(name, 1, t->heads, t->rows, t->dim, t->strides, t->bits);
  fovea_reach reach;
  if (t->strides.batch != 0) {
    return fovea_fail(error, FOVEA_ERROR_UNUSED, "%s_strides.batch is %jd and would not be used: there is no batch",
                      name, t->strides.batch);
  }
  if (is_empty(t)) return FOVEA_OK;
  const fovea_status status = fovea_validate_strides(&shape, is_output, &reach, error);
  reach.name = t->name;
  return status ? status : fovea_validate_pointer(&reach, t->data, error);
}

static fovea_claim claim_of(const tensor *t) {
  return fovea_claim_rows(t->data, t->bits, t->heads, t->strides.head, t->rows, t->strides.row, t->dim);
}

static fovea_status check_apart(const tensor *output, const tensor *other, fovea_error *error) {
  if (is_empty(output) || is_empty(other)) return FOVEA_OK;
  const fovea_claim a = claim_of(output), b = claim_of(other);
  return fovea_claims_overlap(&a, &b)
             ? fovea_fail(error, FOVEA_ERROR_ARGUMENT, "%s shares memory with %s", output->name, other->name)
             : FOVEA_OK;
}

enum {
  QUERIES,
  KEYS,
  VALUES,
  FEATURES,
  A_TO,
  A_FROM,
  A_EDGE,
  A,
  BIAS,
  LAYER,
  LAYER_BIAS,
  STARTS,
  SOURCES,
  INPUTS,
  Y = INPUTS,
  WEIGHTS,
  LSE,
  TENSORS
};

static tensor list_of(const char *name, const void *data, int bits, int64_t first, int64_t count) {
  const char *begin = count > 0 && data ? (const char *)data + first * (bits / 8) : NULL;
  return (tensor){name, begin, bits, begin ? 1 : 0, 1, count, {0, 0, 0}};
}

/* Rows of edges, from the first edge on. */
static tensor rows_of_edges(const fovea_nn_graph_tensors *t, const char *name, const void *data, fovea_type type,
                            int64_t heads, int64_t dim, fovea_strides strides) {
  const int64_t first = t->edge_starts[0], count = data ? t->edge_starts[t->nodes] - first : 0;
  const void *begin =
      count > 0 ? fovea_element(data, type, (int64_t)((uint64_t)first * (uint64_t)strides.row)) : NULL;
  return (tensor){name, begin, fovea_type_bits(type), count, heads, dim, strides};
}

static void list_tensors(const fovea_nn_graph_call *call, tensor list[TENSORS]) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph *g = &call->graph;
  const int64_t heads = g->heads, dim = g->dim, n = t->nodes, y_heads = g->average_heads ? 1 : heads;
  const int bits = fovea_type_bits(FOVEA_F32);
  const int transformer = g->kind == FOVEA_NN_GRAPH_TRANSFORMER;
  const fovea_nn_matrix none = {0};
  const fovea_nn_matrix layer = g->edge ? fovea_nn_weights_of(g->edge) : none;
  const fovea_nn_matrix layer_bias = g->edge ? fovea_nn_bias_of(g->edge) : none;
  const int64_t features = g->edge ? g->edge->in : dim;
  const tensor all[TENSORS] = {
      {"q", t->q, fovea_type_bits(t->q_type), n, heads, dim, t->q_strides},
      {"k", t->k, fovea_type_bits(t->k_type), t->sources, heads, dim, t->k_strides},
      {"v", t->v, fovea_type_bits(t->v_type), transformer ? t->sources : 0, heads, dim, t->v_strides},
      rows_of_edges(t, "features", t->features, t->feature_type, g->edge ? 1 : heads, features, t->feature_strides),
      list_of("a_to", g->a_to, bits, 0, call->width),
      list_of("a_from", g->a_from, bits, 0, call->width),
      list_of("a_edge", g->a_edge, bits, 0, call->width),
      list_of("a", g->a, bits, 0, call->width),
      list_of("bias", g->bias, bits, 0, y_heads * dim),
      {"weights of edge",
       layer.data,
       g->edge ? fovea_type_bits(layer.type) : bits,
       layer.rows,
       1,
       layer.dim,
       {0, 0, layer.stride}},
      {"bias of edge", layer_bias.data, bits, layer_bias.rows, 1, layer_bias.dim, {0, 0, layer_bias.stride}},
      list_of("edge_starts", t->edge_starts, 64, 0, n + 1),
      list_of("edge_sources", t->edge_sources, 64, t->edge_starts[0], t->edge_starts[n] - t->edge_starts[0]),
      {"y", t->y, fovea_type_bits(t->y_type), n, y_heads, dim, t->y_strides},
      rows_of_edges(t, "weights", t->weights, FOVEA_F32, 1, heads, (fovea_strides){0, 0, t->weight_stride}),
      {"lse", t->lse, bits, t->lse ? n : 0, 1, heads, {0, 0, heads}}};
  memcpy(list, all, sizeof all);
}

/* Rows of edges are counted from edge 0 on, so that rows before the first edge of a node are counted, too. */
static fovea_status check_edge_strides(const fovea_nn_graph_call *call, fovea_error *error) {
  const fovea_nn_graph_tensors *t = &call->tensors;
  const fovea_nn_graph *g = &call->graph;
  const int64_t edges = t->edge_starts[t->nodes];
  const fovea_shape features =
      fovea_make_shape("feature", 1, g->edge ? 1 : g->heads, t->features ? edges : 0,
                       g->edge ? g->edge->in : g->dim, t->feature_strides, fovea_type_bits(t->feature_type));
  const fovea_shape weights = fovea_make_shape("weight", 1, 1, t->weights ? edges : 0, g->heads,
                                               (fovea_strides){0, 0, t->weight_stride}, fovea_type_bits(FOVEA_F32));
  fovea_reach reach;
  int64_t low, high;
  if (!fovea_shape_range(&weights, &low, &high)) {
    return fovea_fail(error, FOVEA_ERROR_ARGUMENT,
                      "weight_stride is %jd; %jd rows of weights reach further than 2^57 from the first",
                      t->weight_stride, edges);
  }
  return fovea_validate_strides(&features, 0, &reach, error);
}

static fovea_status check_tensors(const fovea_nn_graph_call *call, fovea_error *error) {
  tensor list[TENSORS];
  fovea_status status = check_edge_strides(call, error);
  if (status) return status;
  list_tensors(call, list);
  for (int i = 0; i < TENSORS && !status; i++) {
    if (i == LAYER || i == LAYER_BIAS) continue; /* checked with the layer */
    status = check_tensor(&list[i], i >= INPUTS, error);
  }
  for (int i = INPUTS; i < TENSORS && !status; i++) {
    for (int j = 0; j < i && !status; j++) status = check_apart(&list[i], &list[j], error);
  }
  return status;
}

fovea_status fovea_nn_check_graph(const fovea_nn_graph *graph, const fovea_nn_graph_tensors *tensors,
                                  const fovea_execution *execution, fovea_nn_graph_call *call, fovea_error *error) {
  *call = (fovea_nn_graph_call){.most = 0};
  fovea_status status = read_arguments(graph, tensors, call, error);
  if (!status) status = fovea_read_execution(execution, &call->execution, error);
  if (!status) status = check_sizes(call, error);
  if (!status) status = check_layer(call, error);
  if (!status) status = check_vectors(call, error);
  if (!status) status = check_unused(call, error);
  if (!status) status = check_numbers(call, error);
  if (!status) status = check_edges(call, error);
  if (!status) status = check_tensors(call, error);
  return status ? status : fovea_nn_dispatch(call->execution.isa, &call->kernels, error);
}
