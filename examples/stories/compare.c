#include "compare.h"

#include "sample.h"

static bool feed_both(struct session *sessions, const int32_t *tokens, int64_t count, struct comparison *found,
                      struct failure *failure) {
  const int64_t vocabulary = sessions->model->vocabulary;
  for (found->tokens = 0; found->tokens < count; found->tokens++) {
    for (int i = 0; i < 2; i++)
      if (!session_feed(&sessions[i], &tokens[found->tokens], 1, failure)) return false;
    found->others +=
        sample_greedily(sessions[0].logits, vocabulary) != sample_greedily(sessions[1].logits, vocabulary);
  }
  return true;
}

bool compare_with_f32(const struct model *model, const struct session_options *options, const int32_t *tokens,
                      int64_t count, struct comparison *found, struct failure *failure) {
  struct session_options both[2] = {*options, *options};
  struct session sessions[2];
  *found = (struct comparison){.tokens = 0};
  both[0].chunk = both[1].chunk = 1;
  both[1].cache = CACHE_CONTIGUOUS;
  both[1].type = FOVEA_F32;
  both[1].key_layout = FOVEA_KEYS_IN_ROWS;
  both[1].narrow = (struct narrow_choice){.k = NULL};
  both[1].mode = FOVEA_MODE_EXACT;
  if (!session_open(&sessions[0], model, &both[0], failure)) return false;
  bool done = session_open(&sessions[1], model, &both[1], failure);
  if (done) {
    done = feed_both(sessions, tokens, count, found, failure);
    session_close(&sessions[1]);
  }
  session_close(&sessions[0]);
  return done;
}
