#include "checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 96 };

/* A matrix of numbers has the tensor `weight`; codes have `qweight`, `qzeros`, `scales`, and of GPTQ `g_idx`. */
static void write_name(char name[NAME_SIZE], int64_t layer, const char *of, const char *tensor) {
  static const struct {
    const char *gguf, *own;
  } names[] = {{"token_embd", "model.embed_tokens"},
               {"output_norm", "model.norm"},
               {"output", "lm_head"},
               {"attn_norm", "input_layernorm"},
               {"attn_q", "self_attn.q_proj"},
               {"attn_k", "self_attn.k_proj"},
               {"attn_v", "self_attn.v_proj"},
               {"attn_output", "self_attn.o_proj"},
               {"ffn_norm", "post_attention_layernorm"},
               {"ffn_gate", "mlp.gate_proj"},
               {"ffn_up", "mlp.up_proj"},
               {"ffn_down", "mlp.down_proj"}};
  const char *own = "";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(names[i].gguf, of) == 0) own = names[i].own;
  if (layer < 0)
    snprintf(name, NAME_SIZE, "%s.%s", own, tensor);
  else
    snprintf(name, NAME_SIZE, "model.layers.%lld.%s.%s", (long long)layer, own, tensor);
}

bool checkpoint_read(struct checkpoint *checkpoint, const char *path, struct failure *failure) {
  *checkpoint = (struct checkpoint){.taken = NULL};
  if (!safetensors_read(&checkpoint->file, path, failure)) return false;
  checkpoint->taken = calloc(checkpoint->file.count + 1, sizeof *checkpoint->taken);
  if (checkpoint->taken) return true;
  checkpoint_free(checkpoint);
  return refuse(failure, "no memory for the names of tensors");
}

void checkpoint_free(struct checkpoint *checkpoint) {
  safetensors_free(&checkpoint->file);
  free(checkpoint->taken);
  *checkpoint = (struct checkpoint){.taken = NULL};
}

/* Marks a tensor as taken. NULL: there is none. */
static const struct stored_tensor *mark(struct checkpoint *checkpoint, const char *name) {
  const struct stored_tensor *found = safetensors_find(&checkpoint->file, name);
  if (found) checkpoint->taken[found - checkpoint->file.tensors] = true;
  return found;
}

/* Whether a tensor is a matrix of that type and shape. */
static bool is(const struct stored_tensor *tensor, const char *type, int64_t rows, int64_t columns) {
  return strcmp(tensor->type, type) == 0 && tensor->rank == 2 && tensor->shape[0] == rows &&
         tensor->shape[1] == columns;
}

/* The group of each dim, of which the library refuses those that are not there. */
static bool take_groups(const struct checkpoint *checkpoint, const struct stored_tensor *groups,
                        fovea_nn_codes *codes, struct failure *failure) {
  if (strcmp(groups->type, "I32") != 0 || groups->rank != 1 || groups->shape[0] != codes->in)
    return refuse(failure, "%s: %s is no I32 of (%lld)", checkpoint->file.path, groups->name, (long long)codes->in);
  codes->g_idx = checkpoint->file.data + groups->begin;
  return true;
}

static bool take_codes(struct checkpoint *checkpoint, int64_t layer, const char *name, struct matrix *matrix,
                       struct failure *failure) {
  static const char *const parts[] = {"qweight", "qzeros", "scales", "g_idx"};
  const struct safetensors *file = &checkpoint->file;
  const struct stored_tensor *found[4];
  const int64_t in = matrix->columns, out = matrix->rows;
  char names[4][NAME_SIZE];
  for (int i = 0; i < 4; i++) {
    write_name(names[i], layer, name, parts[i]);
    found[i] = mark(checkpoint, names[i]);
    if (found[i] || i == 3) continue;
    if (i == 0) write_name(names[i], layer, name, "weight");
    return refuse(failure, "%s: it has no tensor %s", file->path, names[i]);
  }
  const bool is_gptq = is(found[0], "I32", in / 8, out);
  const int64_t groups = found[2]->rank == 2 ? found[2]->shape[0] : 0;
  if (in % 8 != 0 || out % 8 != 0 || (!is_gptq && !is(found[0], "I32", in, out / 8)) || groups < 1 ||
      in % groups != 0 || !is(found[1], "I32", groups, out / 8) || !is(found[2], "F16", groups, out))
    return refuse(failure,
                  "%s: %s, its qzeros and its scales are not the tensors of 4 bits that GPTQ or AWQ make of "
                  "(%lld, %lld)",
                  file->path, names[0], (long long)out, (long long)in);
  matrix->has_codes = true;
  fovea_nn_codes_init(&matrix->codes, is_gptq ? FOVEA_NN_FORMAT_GPTQ : FOVEA_NN_FORMAT_AWQ, in, out,
                      file->data + found[0]->begin);
  matrix->codes.group = in / groups;
  matrix->codes.zeros = file->data + found[1]->begin;
  matrix->codes.scales = file->data + found[2]->begin;
  matrix->codes.zeros_less_one = is_gptq;
  return !found[3] || take_groups(checkpoint, found[3], &matrix->codes, failure);
}

bool checkpoint_has(const struct checkpoint *checkpoint, const char *name) {
  char weight[NAME_SIZE], codes[NAME_SIZE];
  write_name(weight, -1, name, "weight");
  write_name(codes, -1, name, "qweight");
  return safetensors_find(&checkpoint->file, weight) || safetensors_find(&checkpoint->file, codes);
}

bool checkpoint_take(struct checkpoint *checkpoint, int64_t layer, const char *name, int64_t rows, int64_t columns,
                     struct matrix *matrix, struct failure *failure) {
  char weight[NAME_SIZE];
  struct numbers numbers;
  *matrix = (struct matrix){.rows = rows, .columns = columns};
  write_name(weight, layer, name, "weight");
  if (!mark(checkpoint, weight)) return take_codes(checkpoint, layer, name, matrix, failure);
  const bool is_vector = rows == 1;
  if (!safetensors_take(&checkpoint->file, weight, is_vector ? columns : rows, is_vector ? 0 : columns, &numbers,
                        failure))
    return false;
  matrix->data = numbers.data;
  matrix->type = numbers.type;
  matrix->row_bytes = (size_t)columns * (numbers.type == FOVEA_F32 ? 4 : 2);
  return true;
}

/* Biases of zeros, which AutoGPTQ writes, and frequencies, which follow from the sizes. */
static bool says_nothing(const struct safetensors *file, const struct stored_tensor *tensor) {
  if (strstr(tensor->name, ".rotary_emb.inv_freq")) return true;
  bool is_zero = strstr(tensor->name, "_proj.bias") != NULL;
  for (int64_t i = tensor->begin; i < tensor->end && is_zero; i++) is_zero = file->data[i] == 0;
  return is_zero;
}

bool checkpoint_check(const struct checkpoint *checkpoint, struct failure *failure) {
  const struct safetensors *file = &checkpoint->file;
  for (size_t i = 0; i < file->count; i++)
    if (!checkpoint->taken[i] && !says_nothing(file, &file->tensors[i]))
      return refuse(failure, "%s: this program has no use for its tensor %s", file->path, file->tensors[i].name);
  return true;
}
