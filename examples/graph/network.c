#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool take_floats(const struct network *network, const char *layer, const char *part, int64_t rows,
                        int64_t columns, const float **floats, struct failure *failure) {
  char name[64];
  struct numbers numbers;
  snprintf(name, sizeof name, "%s.%s", layer, part);
  if (!safetensors_take(&network->file, name, rows, columns, &numbers, failure)) return false;
  *floats = numbers.data;
  return numbers.type == FOVEA_F32 || refuse(failure, "%s: %s must be F32", network->file.path, name);
}

/* `dim` numbers in each head. */
static bool take_layer(struct network *network, const char *name, int64_t in, int64_t dim, int average,
                       struct network_layer *layer, struct failure *failure) {
  const int64_t out = network->heads * dim;
  char full[64];
  struct numbers weights;
  snprintf(full, sizeof full, "%s.lin.weight", name);
  if (!safetensors_take(&network->file, full, out, in, &weights, failure)) return false;
  fovea_nn_linear_init(&layer->linear, in, out, weights.data);
  layer->linear.weight_type = weights.type;
  fovea_nn_graph_init(&layer->graph, FOVEA_NN_GRAPH_GAT, network->heads, dim);
  layer->graph.average_heads = average;
  return take_floats(network, name, "att_dst", network->heads, dim, &layer->graph.a_to, failure) &&
         take_floats(network, name, "att_src", network->heads, dim, &layer->graph.a_from, failure) &&
         take_floats(network, name, "bias", average ? dim : out, 0, &layer->graph.bias, failure);
}

static bool take_all(struct network *network, struct failure *failure) {
  const struct stored_tensor *weights = safetensors_find(&network->file, "first.lin.weight");
  const struct stored_tensor *a = safetensors_find(&network->file, "first.att_src");
  const bool fits = weights && a && weights->rank == 2 && a->rank == 2 && a->shape[0] >= 1 && a->shape[1] >= 1 &&
                    a->shape[0] <= WIDTH_LIMIT && a->shape[1] <= WIDTH_LIMIT && weights->shape[1] >= 1 &&
                    weights->shape[1] <= NODE_LIMIT;
  if (!fits)
    return refuse(failure, "%s: first.lin.weight or first.att_src is missing or has another shape",
                  network->file.path);
  network->nodes = weights->shape[1];
  network->heads = a->shape[0];
  return take_layer(network, "first", network->nodes, a->shape[1], 0, &network->first, failure) &&
         take_layer(network, "second", network->heads * a->shape[1], PARTS, 1, &network->second, failure);
}

bool network_read(struct network *network, const char *path, struct failure *failure) {
  *network = (struct network){.nodes = 0};
  const bool read = safetensors_read(&network->file, path, failure) && take_all(network, failure);
  if (!read) network_free(network);
  return read;
}

void network_free(struct network *network) {
  safetensors_free(&network->file);
  *network = (struct network){.nodes = 0};
}

static bool holds(fovea_status status, const fovea_error *error, struct failure *failure) {
  return status == FOVEA_OK || refuse(failure, "%s", error->text);
}

/* y from x, with `projected` for what goes between. */
static bool run_layer(struct network_layer *layer, const struct club *club, const fovea_execution *execution,
                      const float *x, float *projected, float *weights, float *y, struct failure *failure) {
  fovea_nn_linear_rows rows;
  fovea_nn_graph_tensors tensors;
  fovea_error error;
  fovea_nn_linear_rows_init(&rows, &layer->linear, club->nodes, x, projected);
  if (!holds(fovea_nn_linear_run(&layer->linear, &rows, execution, &error), &error, failure)) return false;
  fovea_nn_graph_tensors_init(&tensors, &layer->graph, club->nodes, club->nodes, club->edge_starts,
                              club->edge_sources, projected, projected, y);
  tensors.weights = weights;
  return holds(fovea_nn_graph_run(&layer->graph, &tensors, execution, &error), &error, failure);
}

static bool run(struct network *network, const struct club *club, const char *isa, int threads, float *room,
                struct answers *answers, struct failure *failure) {
  const int64_t nodes = club->nodes, width = network->first.linear.out;
  float *x = room, *projected = x + nodes * nodes,
        *hidden = projected + nodes * (width + network->second.linear.out);
  fovea_execution execution;
  fovea_nn_map elu;
  fovea_error error;
  fovea_execution_init(&execution);
  execution.threads = threads;
  execution.isa = isa;
  for (int64_t i = 0; i < nodes; i++) x[i * nodes + i] = 1;
  if (!run_layer(&network->first, club, &execution, x, projected, answers->first, hidden, failure)) return false;
  fovea_nn_map_init(&elu, nodes, width, hidden, hidden);
  if (!holds(fovea_nn_activate(&elu, FOVEA_NN_ACTIVATION_ELU, &execution, &error), &error, failure) ||
      !run_layer(&network->second, club, &execution, hidden, projected, answers->second, answers->logits, failure))
    return false;
  for (int64_t i = 0; i < nodes * PARTS; i++)
    if (!isfinite(answers->logits[i])) return refuse(failure, "a logit is no number; the weights are too large");
  return true;
}

bool network_run(struct network *network, const struct club *club, const char *isa, int threads,
                 struct answers *answers, struct failure *failure) {
  const int64_t nodes = club->nodes, weights = club->edges * network->heads;
  const int64_t width = 2 * network->first.linear.out + network->second.linear.out;
  *answers = (struct answers){.logits = NULL};
  if (nodes != network->nodes)
    return refuse(failure, "%s has %lld nodes, but %s was trained on %lld", club->file.path, (long long)nodes,
                  network->file.path, (long long)network->nodes);
  float *room = calloc((size_t)(nodes * (nodes + width)), sizeof *room);
  answers->logits = malloc((size_t)(nodes * PARTS) * sizeof *answers->logits);
  answers->first = malloc((size_t)(weights + 1) * sizeof *answers->first);
  answers->second = malloc((size_t)(weights + 1) * sizeof *answers->second);
  bool done = room && answers->logits && answers->first && answers->second;
  done = done ? run(network, club, isa, threads, room, answers, failure)
              : refuse(failure, "no memory for %lld nodes", (long long)nodes);
  free(room);
  return done;
}

void answers_free(struct answers *answers) {
  free(answers->logits);
  free(answers->first);
  free(answers->second);
  *answers = (struct answers){.logits = NULL};
}

int answer_of(const struct answers *answers, int64_t node) {
  return answers->logits[node * PARTS + 1] > answers->logits[node * PARTS];
}
