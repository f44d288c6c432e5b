#include "heatmap_draw.h"

#include "heatmap_layout.h"
#include "png.h"
#include "raster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Places in the palette; the levels come first. */
enum { COLOUR_HOLE = LEVELS + 1, COLOUR_INK, COLOUR_NOTE, COLOUR_FRAME, COLOURS };

static png_palette make_palette(void) {
  static const uint8_t others[][3] = {{0x22, 0x26, 0x2e}, {0x6b, 0x72, 0x80}, {0x88, 0x88, 0x88}};
  png_palette palette = {.count = COLOURS};
  for (int i = 0; i < COLOURS; i++) {
    const colour colour = colour_of(i < COLOUR_HOLE ? i : HOLE);
    for (int j = 0; j < 3; j++)
      palette.colours[i][j] = i < COLOUR_INK ? (uint8_t)colour.channels[j] : others[i - COLOUR_INK][j];
  }
  return palette;
}

static const raster_style label = {.letter = LABEL_LETTER, .dot = 1, .colour = COLOUR_INK};

static void draw_text(raster *raster, int x, int y, const char *text, raster_style style) {
  raster_text(raster, x, y, (svg_text){text, strlen(text)}, TITLE_LIMIT, style);
}

static void draw_note(raster *raster, int y, const char *text) {
  const raster_style note = {.letter = LABEL_LETTER, .dot = 1, .colour = COLOUR_NOTE};
  raster_text(raster, MARGIN, y, (svg_text){text, strlen(text)}, NOTE_LETTERS, note);
}

static void draw_row_labels(raster *raster, const axis *axis, int left, int top) {
  char buffer[24];
  for (int64_t cell = 0; cell < axis->cells; cell += axis->step) {
    const svg_text text = label_of(axis, cell, buffer, sizeof buffer);
    raster_text(raster, left - LABEL_GAP - svg_width(text, LABEL_LIMIT) * LABEL_LETTER,
                top + (int)cell * axis->cell + axis->cell / 2 + 4, text, LABEL_LIMIT, label);
  }
}

/* Turned, so that long ones do not meet. */
static void draw_key_labels(raster *raster, const axis *axis, int left, int top) {
  char buffer[24];
  raster_style style = label;
  style.upwards = true;
  for (int64_t cell = 0; cell < axis->cells; cell += axis->step)
    raster_text(raster, left + (int)cell * axis->cell + axis->cell / 2 + 4, top - LABEL_GAP,
                label_of(axis, cell, buffer, sizeof buffer), LABEL_LIMIT, style);
}

static void draw_cells(raster *raster, const heatmap *map, const layout *layout, int panel, int left, int top) {
  static uint8_t levels[CELL_LIMIT * CELL_LIMIT];
  const int rows = (int)map->panels->cell_rows, keys = (int)map->panels->cell_keys;
  levels_of(map, panel, levels);
  for (int row = 0; row < rows; row++)
    for (int key = 0; key < keys; key++) {
      const uint8_t level = levels[row * keys + key];
      raster_fill(raster, left + key * layout->cell_width, top + row * layout->cell_height, layout->cell_width,
                  layout->cell_height, level == HOLE ? COLOUR_HOLE : level);
    }
  raster_frame(raster, left, top, layout->grid_width, layout->grid_height, COLOUR_FRAME);
}

static void draw_panel(raster *raster, const heatmap *map, const layout *layout, int panel) {
  const axis rows = row_axis(map, layout), keys = key_axis(map, layout);
  raster_style name = label;
  int left, top;
  name.bold = true;
  panel_corner(layout, panel, &left, &top);
  if (map->panels->has_heads)
    draw_text(raster, left, top - layout->key_labels - LABEL_GAP - LABEL_GAP - 2, name_of_panel(map, panel).text,
              name);
  draw_key_labels(raster, &keys, left, top);
  draw_row_labels(raster, &rows, left, top);
  draw_cells(raster, map, layout, panel, left, top);
  for (int line = 0; line < 2 && map->marks; line++)
    raster_frame(raster, left - line, top + mark_below(map, layout) - line, layout->grid_width + 2 * line,
                 layout->cell_height + 2 * line, COLOUR_INK);
}

static void draw_bar(raster *raster, const heatmap *map, const layout *layout) {
  const int left = layout->bar_left, top = layout->top, height = layout->bar_height;
  const bool cut = map->panels->largest > map->full;
  for (int y = 0; y < height; y++)
    raster_fill(raster, left, top + height - 1 - y, BAR_WIDTH, 1,
                (uint8_t)((y * LEVELS + (height - 1) / 2) / (height - 1)));
  raster_frame(raster, left, top, BAR_WIDTH, height, COLOUR_FRAME);
  for (int tick = 0; tick <= BAR_TICKS; tick++) {
    char text[32];
    snprintf(text, sizeof text, "%s%.3g", cut && tick == BAR_TICKS ? ">= " : "", value_of_tick(map, tick));
    draw_text(raster, left + BAR_WIDTH + LABEL_GAP, top + height - height * tick / BAR_TICKS + 4, text, label);
  }
}

bool heatmap_draw_png(const heatmap *map, FILE *stream) {
  const raster_style title = {.letter = TITLE_LETTER, .dot = 2, .colour = COLOUR_INK};
  const layout layout = lay_out(map);
  const png_palette palette = make_palette();
  raster raster;
  if (!raster_create(&raster, layout.width, layout.height)) {
    errno = ENOMEM;
    return false;
  }
  if (map->title) draw_text(&raster, MARGIN, MARGIN + 14, map->title, title);
  for (int panel = 0; panel < map->panels->count; panel++) draw_panel(&raster, map, &layout, panel);
  draw_bar(&raster, map, &layout);
  for (int i = 0; i < layout.note_count; i++)
    draw_note(&raster, layout.notes_top + i * NOTE_HEIGHT + 11, layout.notes[i].text);
  const bool written = png_write(stream, layout.width, layout.height, raster.pixels, &palette);
  free(raster.pixels);
  return written;
}

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

bool heatmap_draw(const heatmap *map, const char *path, FILE *stream) {
  return (ends_with(path, ".png") ? heatmap_draw_png : heatmap_draw_svg)(map, stream);
}
