#include "rules.h"

int64_t problem_q_batches(const fovea_problem *problem) {
  return problem->cu_seqlens_q != NULL ? 1 : problem->batch;
}

int64_t problem_kv_batches(const fovea_problem *problem) {
  return problem->cu_seqlens_kv != NULL ? 1 : problem->batch;
}

static int64_t longest(const int32_t *cumulative, int64_t batch, int64_t otherwise) {
  if (cumulative == NULL) return otherwise;
  int64_t most = 0;
  for (int64_t b = 0; b < batch; b++)
    if (cumulative[b + 1] - cumulative[b] > most) most = cumulative[b + 1] - cumulative[b];
  return most;
}

int64_t problem_mask_rows(const fovea_problem *problem) {
  return longest(problem->cu_seqlens_q, problem->batch, problem->q_len);
}

int64_t problem_mask_keys(const fovea_problem *problem) {
  int64_t keys = longest(problem->cu_seqlens_kv, problem->batch, problem->kv_len) - problem->mask.begin, most = 0;
  for (int64_t b = 0; problem->mask.begins != NULL && b < problem->batch; b++) {
    const int64_t elements = problem_entry(problem, b).kv_len - problem->mask.begins[b];
    if (elements > most) most = elements;
  }
  if (problem->mask.begins != NULL) keys = most;
  if (keys < 0) keys = 0;
  return problem->mask.keys == FOVEA_UNLIMITED || keys < problem->mask.keys ? keys : problem->mask.keys;
}

int64_t problem_score_keys(const fovea_problem *problem) {
  return longest(problem->cu_seqlens_kv, problem->batch, problem->kv_len);
}

struct score_part problem_score_part(const fovea_problem *problem) {
  const fovea_range heads = problem->scores.heads, rows = problem->scores.rows, keys = problem->scores.keys;
  struct score_part part = {.first_head = heads.begin, .first_row = rows.begin, .first_key = keys.begin};
  part.by_entry = problem->cu_seqlens_q != NULL && (rows.begin != 0 || rows.end != FOVEA_UNLIMITED);
  part.batches = part.by_entry ? problem->batch : problem_q_batches(problem);
  part.heads = (heads.end == FOVEA_UNLIMITED ? problem->heads : heads.end) - heads.begin;
  part.rows = (rows.end == FOVEA_UNLIMITED ? problem->q_len : rows.end) - rows.begin;
  part.keys = (keys.end == FOVEA_UNLIMITED ? problem_score_keys(problem) : keys.end) - keys.begin;
  return part;
}

int64_t problem_mask_begin(const fovea_problem *problem, int64_t batch) {
  return problem->mask.begins != NULL ? problem->mask.begins[batch] : problem->mask.begin;
}

struct entry problem_entry(const fovea_problem *problem, int64_t batch) {
  struct entry entry = {.q_batch = batch, .kv_batch = batch};
  entry.rows = entry.q_len = problem->q_len;
  entry.kv_len = problem->kv_len;
  if (problem->q_lens != NULL) entry.q_len = problem->q_lens[batch];
  if (problem->kv_lens != NULL) entry.kv_len = problem->kv_lens[batch];
  if (problem->cu_seqlens_q != NULL) {
    entry.q_batch = 0;
    entry.q_first = problem->cu_seqlens_q[batch];
    entry.rows = entry.q_len = problem->cu_seqlens_q[batch + 1] - entry.q_first;
  }
  if (problem->cu_seqlens_kv != NULL) {
    entry.kv_batch = 0;
    entry.kv_first = problem->cu_seqlens_kv[batch];
    entry.kv_len = problem->cu_seqlens_kv[batch + 1] - entry.kv_first;
  }
  if (problem->kv_begins != NULL) entry.kv_begin = problem->kv_begins[batch];
  entry.offset = problem->offsets != NULL ? problem->offsets[batch] : problem->offset;
  if (problem->offsets == NULL && problem->offset == FOVEA_OFFSET_BOTTOM_RIGHT)
    entry.offset = entry.kv_len - entry.q_len;
  return entry;
}

static int64_t floor_division(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

int row_sees(const fovea_problem *problem, const struct entry *entry, int64_t row, int64_t key) {
  if (row >= entry->q_len || key >= entry->kv_len || key < entry->kv_begin) return 0;
  if (key < problem->keys.begin || (problem->keys.end != FOVEA_UNLIMITED && key >= problem->keys.end)) return 0;
  const int64_t own_key = row + entry->offset;
  if (problem->causal && key > own_key) return 0;
  if (problem->window_left != FOVEA_UNLIMITED && own_key - key > problem->window_left) return 0;
  if (problem->window_right != FOVEA_UNLIMITED && key - own_key > problem->window_right) return 0;
  if (problem->chunks.size > 0) {
    const int64_t first = floor_division(own_key, problem->chunks.size) * problem->chunks.size;
    const int64_t last = first + problem->chunks.size - 1;
    if (problem->chunks.left != FOVEA_UNLIMITED && first - key > problem->chunks.left) return 0;
    if (problem->chunks.right != FOVEA_UNLIMITED && key - last > problem->chunks.right) return 0;
  }
  return 1;
}

int64_t problem_pairs_seen(const fovea_problem *problem) {
  int64_t pairs = 0;
  for (int64_t b = 0; b < problem->batch; b++) {
    const struct entry entry = problem_entry(problem, b);
    for (int64_t i = 0; i < entry.q_len; i++)
      for (int64_t j = 0; j < entry.kv_len; j++) pairs += row_sees(problem, &entry, i, j);
  }
  return pairs * problem->heads;
}
