#include "copying.h"

#include "expect.h"

void copy_in_model(struct arena *arena, const struct row_shape *shape, const fovea_sequence *from,
                   const fovea_sequence *to, int64_t begin, int64_t end) {
  for (int64_t p = begin; p < end; p++)
    for (int64_t head = 0; head < shape->kv_heads; head++)
      for (int values = 0; values < 2; values++) {
        const struct row old = segment_row(segment_of(from, p), values, head, p);
        const struct row new = segment_row(segment_of(to, p), values, head, p);
        move_row(arena, &old, &new, values ? shape->v_dim : shape->qk_dim, NULL, 0);
      }
}

enum verdict judge_copy(struct arena *arena, const struct row_shape *shape, const fovea_sequence *from,
                        const fovea_sequence *to, int64_t begin, int64_t end) {
  arena_forget(arena);
  if (begin < 0 || begin > end || !sequence_holds(from, begin, end) || !sequence_holds(to, begin, end))
    return VERDICT_REFUSED;
  if (!sequence_fits(from, shape, begin, end) || !sequence_fits(to, shape, begin, end)) return VERDICT_REFUSED;
  if (end - begin > ROWS_JUDGED) return VERDICT_ELSEWHERE;
  mark_sequence(arena, to, shape, begin, end, ARENA_WRITTEN);
  for (int64_t p = begin; p < end; p++)
    for (int64_t head = 0; head < shape->kv_heads; head++) {
      const struct row key = segment_row(segment_of(from, p), 0, head, p);
      const struct row value = segment_row(segment_of(from, p), 1, head, p);
      mark_row(arena, &key, shape->qk_dim, ARENA_READ);
      mark_row(arena, &value, shape->v_dim, ARENA_READ);
    }
  return judge_marks(arena);
}

void copy(struct scene *scene) {
  const fovea_sequence *from = &scene->sequences[bytes_below(scene->bytes, SCENE_ENTRIES)];
  const fovea_sequence *to = &scene->sequences[bytes_below(scene->bytes, SCENE_ENTRIES)];
  int64_t begin, end;
  fovea_error error;
  scene_positions(scene, bytes_below(scene->bytes, 2) ? from : to, 40, &begin, &end);
  const enum verdict verdict = judge_copy(&scene->arena, &scene->shape, from, to, begin, end);
  if (verdict == VERDICT_ELSEWHERE) return;
  if (verdict == VERDICT_RIGHT) arena_close(&scene->arena);
  const fovea_status status = fovea_sequence_copy(from, to, 1, scene->shape.kv_heads, scene->shape.qk_dim,
                                                  scene->shape.v_dim, begin, end, NULL, &error);
  arena_open(&scene->arena);
  if (verdict == VERDICT_RIGHT && status == FOVEA_OK)
    copy_in_model(&scene->arena, &scene->shape, from, to, begin, end);
  expect_verdict(scene, verdict, status, &error);
}
