#include "heatmap_draw.h"

#ifdef FOVEA_CAIRO
#include "picture/picture.h"

bool heatmap_draws(failure *why) {
  (void)why;
  return true;
}

bool heatmap_draw(const heatmap *map, const char *path, FILE *stream, failure *why) {
  const char *problem = picture_draw(map, path, stream);
  return !problem || fail(why, "%s: cannot write: %s", path, problem);
}
#else
bool heatmap_draws(failure *why) {
  return fail(why, "this program was built without cairo, which draws pictures: install it (Debian: libcairo2-dev, "
                   "Homebrew: cairo), then configure again; fovea heatmap without --out prints text");
}

bool heatmap_draw(const heatmap *map, const char *path, FILE *stream, failure *why) {
  (void)map, (void)path, (void)stream;
  return heatmap_draws(why);
}
#endif
