#include "weights_picture.h"

#include "../../tools/fovea/heatmap_draw.h"
#include "output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sets the weights of all panels, one after the other, as the drawing wants them. Returns false without memory. */
static bool join(const struct weights_picture *picture, panel_set *panels) {
  const size_t count = (size_t)picture->token_count * (size_t)picture->token_count;
  float *cells = malloc((size_t)picture->panel_count * count * sizeof *cells);
  for (int panel = 0; panel < picture->panel_count && cells; panel++)
    for (size_t i = 0; i < count; i++) {
      const float weight = picture->weights[panel][i];
      cells[(size_t)panel * count + i] = isfinite(weight) ? weight : NAN;
      if (!isfinite(weight))
        panels->has_holes = true;
      else if (weight > panels->largest)
        panels->largest = weight;
    }
  panels->cells = cells;
  return cells != NULL;
}

/* A map, and the path whose ending names the kind of picture. */
struct drawing {
  const heatmap *map;
  const char *path;
};

static const char *write_picture(const void *what, const char *path) {
  const struct drawing *drawing = what;
  static failure why;
  FILE *stream = fopen(path, "wb");
  if (!stream) return strerror(errno);
  const bool drawn = heatmap_draw(drawing->map, drawing->path, stream, &why);
  if (fclose(stream) != 0 && drawn) return strerror(errno);
  return drawn ? NULL : why.text;
}

bool weights_picture_draws(void) {
  failure why;
  return heatmap_draws(&why);
}

const char *weights_picture_draw(const struct weights_picture *picture, const char *path) {
  text_span tokens[WEIGHTS_TOKEN_LIMIT];
  panel_set panels = {.count = picture->panel_count, .of_batch = 1};
  if (picture->token_count < 1 || picture->token_count > WEIGHTS_TOKEN_LIMIT) return "too few tokens, or too many";
  for (int i = 0; i < picture->token_count; i++)
    tokens[i] = (text_span){picture->tokens[i], strlen(picture->tokens[i])};
  panels_set_size(&panels, picture->token_count, picture->token_count);
  for (int i = 0; i < picture->panel_count; i++) panels.has_heads |= picture->names[i][0] != '\0';
  if (!join(picture, &panels)) return "out of memory";
  const heatmap map = {.panels = &panels,
                       .title = picture->title,
                       .row_tokens = tokens,
                       .key_tokens = tokens,
                       .full = panels.largest > 0 ? panels.largest : 1,
                       .names = picture->names,
                       .note = picture->note,
                       .marks = picture->marked_row >= 0,
                       .marked_row = picture->marked_row};
  const struct drawing drawing = {&map, path};
  const char *why = output_replace(path, write_picture, &drawing);
  free(panels.cells);
  return why;
}
