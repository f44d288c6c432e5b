#include "layout.h"

#include <math.h>

static int larger(int a, int b) {
  return a > b ? a : b;
}

int text_width(cairo_t *pen, double size, const char *text) {
  cairo_text_extents_t extents;
  cairo_set_font_size(pen, size);
  cairo_text_extents(pen, text, &extents);
  return (int)ceil(extents.x_advance);
}

/* Panels get smaller as they become more; a cell has one unit at least. */
static axis make_axis(const text_span *tokens, int64_t cells, int64_t factor, int panels, cairo_t *pen) {
  static const int64_t grow[] = {2, 5, 10};
  const int64_t room = panels == 1 ? 480 : panels <= 4 ? 320 : 240, side = room / cells;
  const int cell = side < 1 ? 1 : side > WIDEST_CELL ? WIDEST_CELL : (int)side;
  axis axis = {
      .tokens = tokens, .cells = cells, .factor = factor, .cell = cell, .length = cell * (int)cells, .step = 1};
  for (int64_t ten = 1; axis.step * cell < LABEL_STEP; ten *= 10)
    for (int i = 0; i < 3 && axis.step * cell < LABEL_STEP; i++) axis.step = ten * grow[i];
  for (int64_t i = 0; i < cells; i += axis.step)
    axis.labels = larger(axis.labels, text_width(pen, LABEL_SIZE, heatmap_label(tokens, i, factor).text));
  return axis;
}

static void lay_out_panels(const heatmap *map, layout *layout, cairo_t *pen) {
  const panel_set *panels = map->panels;
  const int count = panels->count, name = panels->has_heads ? NAME_HEIGHT : 0;
  layout->rows = make_axis(map->row_tokens, panels->cell_rows, panels->row_factor, count, pen);
  layout->keys = make_axis(map->key_tokens, panels->cell_keys, panels->key_factor, count, pen);
  layout->left = MARGIN + layout->rows.labels + LABEL_GAP;
  layout->top = MARGIN + (map->title ? TITLE_HEIGHT : 0) + name + layout->keys.labels + LABEL_GAP;
  layout->panel_width = layout->rows.labels + LABEL_GAP + layout->keys.length;
  for (int i = 0; i < count && panels->has_heads; i++) {
    const int width = text_width(pen, LABEL_SIZE, heatmap_name(map, i).text) * 6 / 5; /* bold letters are wider */
    layout->panel_width = larger(layout->panel_width, layout->rows.labels + LABEL_GAP + width);
  }
  layout->panel_height = name + layout->keys.labels + LABEL_GAP + layout->rows.length;
  layout->panels_in_line = count <= 4 ? count : count <= 6 ? 3 : 4;
}

layout lay_out(const heatmap *map, cairo_t *pen) {
  layout layout = {.width = 0};
  lay_out_panels(map, &layout, pen);
  const int in_line = layout.panels_in_line, lines = (map->panels->count + in_line - 1) / in_line;
  const int title = map->title ? TITLE_HEIGHT : 0;
  layout.note_count = heatmap_notes(map, "grey", layout.notes);
  layout.bar_left = MARGIN + in_line * (layout.panel_width + PANEL_GAP);
  layout.bar_height = larger(layout.rows.length, BAR_LEAST);
  layout.notes_top = MARGIN + title + lines * (layout.panel_height + PANEL_GAP) - PANEL_GAP;
  layout.notes_top = larger(layout.notes_top, layout.top + layout.bar_height) + NOTE_HEIGHT;
  layout.height = layout.notes_top + layout.note_count * NOTE_HEIGHT + MARGIN;
  layout.width = layout.bar_left + BAR_WIDTH + BAR_LABELS + MARGIN;
  if (map->title) {
    const label text = make_label_of(map->title, TITLE_LIMIT);
    layout.width = larger(layout.width, text_width(pen, TITLE_SIZE, text.text) + 2 * MARGIN);
  }
  for (int i = 0; i < layout.note_count; i++)
    layout.width = larger(layout.width, text_width(pen, LABEL_SIZE, layout.notes[i].text) + 2 * MARGIN);
  return layout;
}
