#include "moving.h"

#include "appending.h"
#include "contract_rotary.h"
#include "expect.h"
#include "support/execution.h"
#include "support/types.h"
#include "verdicts.h"
#include "wild.h"

#include <math.h>

#define FIELD(kind, name)                                                                                          \
  { FIELD_##kind, offsetof(fovea_move, name) }

static const struct field move_fields[] = {FIELD(LONG, layers), FIELD(LONG, kv_heads), FIELD(LONG, qk_dim),
                                           FIELD(LONG, v_dim),  FIELD(LONG, begin),    FIELD(LONG, end),
                                           FIELD(LONG, to),     FIELD(LONG, rotate_by)};
enum { MOVED = 40 };

/* A call of fovea_sequence_move(). Must not be copied. */
struct move_call {
  const char *isa;
  fovea_move move;
  struct new_rows embedding; /* its rotary only */
};

static void create(struct move_call *call, struct scene *scene) {
  struct bytes *bytes = scene->bytes;
  const fovea_sequence *sequence = &scene->sequences[bytes_below(bytes, SCENE_ENTRIES)];
  int64_t begin, end, to, unused;
  memset(call, 0, sizeof *call);
  scene_positions(scene, sequence, MOVED, &begin, &end);
  scene_positions(scene, sequence, MOVED, &to, &unused);
  fovea_move_init(&call->move, sequence, scene->shape.kv_heads, scene->shape.qk_dim, scene->shape.v_dim, begin, end,
                  to);
  rotary_create(&call->embedding, scene);
  if (call->embedding.rotated) call->move.rotary = &call->embedding.rotary;
  if (call->embedding.rotated && bytes_one_in(bytes, 3)) call->move.rotate_by = bytes_below(bytes, 256) - 128;
  if (scene->wild && bytes_one_in(bytes, 4))
    wild_edit(&call->move, move_fields, sizeof move_fields / sizeof move_fields[0], bytes);
  call->isa = scene_isa(scene);
}

static int64_t turned_by(const fovea_move *move) {
  if (!move->rotary) return 0;
  return move->rotate_by == FOVEA_ROTATE_AS_MOVED ? move->to - move->begin : move->rotate_by;
}

static enum verdict judge(struct scene *scene, const struct move_call *call) {
  const fovea_move *m = &call->move;
  const int64_t most = INT64_C(1) << 48, limit = INT64_C(1) << 40;
  const struct row_shape shape = {m->kv_heads, m->qk_dim, m->v_dim};
  arena_forget(&scene->arena);
  if (m->layers < 1 || m->kv_heads < 1 || m->qk_dim < 1 || m->v_dim < 1) return VERDICT_REFUSED;
  if (m->begin < 0 || m->end < m->begin || m->to < 0 || m->end > most || m->to > most) return VERDICT_REFUSED;
  if (!m->rotary && m->rotate_by != FOVEA_ROTATE_AS_MOVED) return VERDICT_REFUSED;
  if (m->rotary && (!is_sound_rotary(m->rotary, m->qk_dim) || m->rotary->cosines || m->rotary->sines))
    return VERDICT_REFUSED;
  if (turned_by(m) > limit || turned_by(m) < -limit) return VERDICT_REFUSED;
  if (m->begin == m->end) return m->kv_heads > most || m->layers > most ? VERDICT_ELSEWHERE : VERDICT_RIGHT;
  if (m->end - m->begin > MOVED || m->kv_heads > HEADS_JUDGED || m->qk_dim > DIM_LIMIT || m->v_dim > DIM_LIMIT)
    return VERDICT_ELSEWHERE;
  const int64_t rows = m->end - m->begin;
  if (m->layers > 1) return VERDICT_REFUSED; /* the scene's segments have one */
  if (!sequence_holds(m->sequence, m->begin, m->end) || !sequence_holds(m->sequence, m->to, m->to + rows))
    return VERDICT_REFUSED;
  if (!sequence_fits(m->sequence, &shape, m->begin, m->end)) return VERDICT_REFUSED;
  mark_sequence(&scene->arena, m->sequence, &shape, m->to, m->to + rows, ARENA_WRITTEN);
  for (int64_t p = m->begin; p < m->end; p++)
    if (p < m->to || p >= m->to + rows) mark_rows(&scene->arena, m->sequence, &shape, p, ARENA_READ);
  return judge_marks(&scene->arena);
}

/* Rotates a key on, as contract_rotary.c does. What is rotated has one NaN. */
static void rotate(const fovea_rotary *rotary, int64_t by, int64_t dim, float *numbers) {
  struct fraction turns[DIM_LIMIT / 2];
  const int64_t pairs = rotary->dims / 2;
  contract_turns(rotary->base, rotary->frequencies, pairs, turns);
  for (int64_t i = 0; i < pairs; i++) {
    const int interleaved = rotary->layout == FOVEA_ROTARY_INTERLEAVED;
    float *x = numbers + (interleaved ? 2 * i : i), *y = interleaved ? x + 1 : x + pairs, cosine, sine;
    contract_angle(turns[i], by, &cosine, &sine);
    contract_rotate_pair(x, y, cosine, sine);
  }
  for (int64_t d = 0; d < dim; d++) numbers[d] = isnan(numbers[d]) ? NAN : numbers[d];
}

/* In the order in which no row is written before it was read. */
static void move_in_model(const struct scene *scene, const fovea_move *m) {
  const int64_t rows = m->end - m->begin, by = turned_by(m);
  const int turns = m->rotary && m->rotary->dims > 0 && by != 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t from = m->to > m->begin ? m->end - 1 - i : m->begin + i, to = from + (m->to - m->begin);
    for (int64_t head = 0; head < m->kv_heads; head++) {
      const struct row key = segment_row(segment_of(m->sequence, from), 0, head, from);
      const struct row value = segment_row(segment_of(m->sequence, from), 1, head, from);
      const struct row new_key = segment_row(segment_of(m->sequence, to), 0, head, to);
      const struct row new_value = segment_row(segment_of(m->sequence, to), 1, head, to);
      float numbers[DIM_LIMIT];
      load_row(&scene->arena, &key, m->qk_dim, numbers);
      if (turns) rotate(m->rotary, by, m->qk_dim, numbers);
      if (m->to != m->begin || turns)
        move_row(&scene->arena, &key, &new_key, m->qk_dim, numbers, turns ? m->qk_dim : 0);
      if (m->to != m->begin) move_row(&scene->arena, &value, &new_value, m->v_dim, NULL, 0);
    }
  }
}

void move_rows(struct scene *scene) {
  struct move_call call;
  fovea_error error;
  create(&call, scene);
  const enum verdict verdict = judge(scene, &call);
  if (verdict != VERDICT_ELSEWHERE) {
    if (verdict == VERDICT_RIGHT) arena_close(&scene->arena);
    const fovea_status status = fovea_sequence_move(&call.move, on_isa(call.isa), &error);
    arena_open(&scene->arena);
    if (verdict == VERDICT_RIGHT && status == FOVEA_OK) move_in_model(scene, &call.move);
    expect_verdict(scene, verdict, status, &error);
  }
  new_rows_destroy(&call.embedding);
}
