/* How often a cache or a mode changes what a model says next. */
#ifndef STORIES_COMPARE_H
#define STORIES_COMPARE_H

#include "session.h"

struct comparison {
  int64_t tokens; /* of the text */
  int64_t others; /* after how many of them the likeliest next token is another than in exact mode with a cache in
                     f32 */
};

/* Two sessions read the same text, token by token: one by the options, and one in exact mode with a contiguous
 * cache in f32.
 */
bool compare_with_f32(const struct model *model, const struct session_options *options, const int32_t *tokens,
                      int64_t count, struct comparison *found, struct failure *failure);

#endif
