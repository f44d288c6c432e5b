/* Loads a captured sentence and computes its attention with Fovea. */
#include "captured.h"

#include "../../tools/fovea/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_SIZE 1024

/* ---- Loading ------------------------------------------------------------------------------------------------- */

/* Loads a tensor of shape (heads, tokens, last); 0 allows any length. Returns its elements. */
static float *load_tensor(const char *directory, const char *name, int64_t shape[3], char *error,
                          size_t error_size) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/%s.npy", directory, name);
  npy_array array;
  if (!npy_load(path, &array, error, error_size)) return NULL;
  bool fits = array.type == NPY_F32 && array.rank == 3;
  for (int axis = 0; fits && axis < 3; axis++) {
    if (shape[axis] == 0) shape[axis] = array.shape[axis];
    fits = shape[axis] == array.shape[axis] && shape[axis] > 0;
  }
  if (fits) return array.data; /* captured_free() frees it */
  snprintf(error, error_size, "%s: not a float32 tensor (heads, tokens, ...) that fits the others", path);
  npy_free(&array);
  return NULL;
}

static bool load_tokens(const char *directory, struct captured *captured, char *error, size_t error_size) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "%s/tokens.txt", directory);
  FILE *file = fopen(path, "r");
  if (!file) {
    snprintf(error, error_size, "%s: %s", path, strerror(errno));
    return false;
  }
  int64_t count = 0;
  char line[CAPTURED_TOKEN_SIZE + 1]; /* room for the end of the line */
  while (count < CAPTURED_TOKEN_LIMIT && fgets(line, sizeof line, file)) {
    size_t length = strcspn(line, "\n");
    if (length == 0 || length >= CAPTURED_TOKEN_SIZE) break;
    memcpy(captured->token[count], line, length);
    captured->token[count++][length] = '\0';
  }
  bool complete = count == captured->tokens && feof(file);
  fclose(file);
  if (!complete) snprintf(error, error_size, "%s: not one token for each row of the tensors", path);
  return complete;
}

bool captured_load(const char *directory, struct captured *captured, char *error, size_t error_size) {
  *captured = (struct captured){0};
  int64_t shape[3] = {0, 0, 0};
  if (!(captured->q = load_tensor(directory, "q", shape, error, error_size))) goto failed;
  if (!(captured->k = load_tensor(directory, "k", shape, error, error_size))) goto failed;
  if (!(captured->v = load_tensor(directory, "v", shape, error, error_size))) goto failed;
  if (!(captured->context = load_tensor(directory, "context", shape, error, error_size))) goto failed;
  captured->heads = shape[0];
  captured->tokens = shape[1];
  captured->dim = shape[2];
  shape[2] = shape[1];
  if (!(captured->probabilities = load_tensor(directory, "probabilities", shape, error, error_size))) goto failed;
  if (!load_tokens(directory, captured, error, error_size)) goto failed;
  return true;
failed:
  captured_free(captured);
  return false;
}

void captured_free(struct captured *captured) {
  free(captured->q);
  free(captured->k);
  free(captured->v);
  free(captured->context);
  free(captured->probabilities);
  *captured = (struct captured){0};
}

int64_t captured_find(const struct captured *captured, const char *token) {
  for (int64_t i = 0; i < captured->tokens; i++)
    if (strcmp(captured->token[i], token) == 0) return i;
  return -1;
}

/* ---- Attention ----------------------------------------------------------------------------------------------- */

void captured_problem(const struct captured *captured, fovea_problem *problem) {
  fovea_problem_init(problem, 1, captured->heads, captured->heads, captured->tokens, captured->tokens,
                     captured->dim, captured->dim);
}

fovea_status captured_attend(const struct captured *captured, const char *isa, float *o, fovea_error *error) {
  fovea_problem problem;
  captured_problem(captured, &problem);
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = isa;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, captured->q, captured->k, captured->v, o, NULL);
  return fovea_attend(&problem, &tensors, &execution, error);
}

/* Attention never stores its weights. But O = P V, so with the identity matrix in place of V the output is P
 * itself, computed by the same kernel. All heads read one identity: their stride is 0. */
fovea_status captured_weights(const struct captured *captured, const char *isa, float *weights,
                              fovea_error *error) {
  float identity[CAPTURED_TOKEN_LIMIT * CAPTURED_TOKEN_LIMIT] = {0};
  for (int64_t i = 0; i < captured->tokens; i++) identity[i * captured->tokens + i] = 1;
  fovea_problem problem;
  fovea_problem_init(&problem, 1, captured->heads, captured->heads, captured->tokens, captured->tokens,
                     captured->dim, captured->tokens);
  problem.v_strides.head = 0;
  fovea_execution execution;
  fovea_execution_init(&execution);
  execution.isa = isa;
  fovea_tensors tensors;
  fovea_tensors_init(&tensors, captured->q, captured->k, identity, weights, NULL);
  return fovea_attend(&problem, &tensors, &execution, error);
}
