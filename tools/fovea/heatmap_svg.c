#include "heatmap_draw.h"

#include "heatmap_layout.h"

#include <string.h>

static void draw_row_labels(FILE *stream, const axis *axis, int left, int top) {
  char buffer[24];
  fputs("<g text-anchor=\"end\">\n", stream);
  for (int64_t cell = 0; cell < axis->cells; cell += axis->step) {
    fprintf(stream, "<text x=\"%d\" y=\"%d\">", left - LABEL_GAP,
            top + (int)cell * axis->cell + axis->cell / 2 + 4);
    svg_write(stream, label_of(axis, cell, buffer, sizeof buffer), LABEL_LIMIT);
    fputs("</text>\n", stream);
  }
  fputs("</g>\n", stream);
}

/* Key labels are turned, so that long ones do not meet. */
static void draw_key_labels(FILE *stream, const axis *axis, int left, int top) {
  char buffer[24];
  for (int64_t cell = 0; cell < axis->cells; cell += axis->step) {
    fprintf(stream, "<text transform=\"translate(%d %d) rotate(-90)\">",
            left + (int)cell * axis->cell + axis->cell / 2 + 4, top - LABEL_GAP);
    svg_write(stream, label_of(axis, cell, buffer, sizeof buffer), LABEL_LIMIT);
    fputs("</text>\n", stream);
  }
}

static void write_colour(FILE *stream, int level) {
  const colour colour = colour_of(level);
  fprintf(stream, "#%02x%02x%02x", (unsigned)colour.channels[0], (unsigned)colour.channels[1],
          (unsigned)colour.channels[2]);
}

static void draw_bar(FILE *stream, const heatmap *map, const layout *layout) {
  const int left = layout->bar_left, height = layout->bar_height, top = layout->top;
  fputs("<linearGradient id=\"scale\" x2=\"0\" y1=\"1\" y2=\"0\">\n", stream);
  for (int i = 0; i <= SPANS; i++) {
    fprintf(stream, "<stop offset=\"%d%%\" stop-color=\"", i * 100 / SPANS);
    write_colour(stream, i * SPAN);
    fputs("\"/>\n", stream);
  }
  fprintf(stream,
          "</linearGradient>\n<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"url(#scale)\" "
          "stroke=\"#888\"/>\n",
          left, top, BAR_WIDTH, height);
  const bool cut = map->panels->largest > map->full;
  for (int tick = 0; tick <= BAR_TICKS; tick++)
    fprintf(stream, "<text x=\"%d\" y=\"%d\">%s%.3g</text>\n", left + BAR_WIDTH + LABEL_GAP,
            top + height - height * tick / BAR_TICKS + 4, cut && tick == BAR_TICKS ? "&#8805; " : "",
            value_of_tick(map, tick));
}

/* ---- Panels -------------------------------------------------------------------------------------------------- */

/* One path for all cells of a level: a stroke for each run of them. */
static void draw_level(FILE *stream, const uint8_t *levels, const panel_set *panels, int level) {
  fputs("<path stroke=\"", stream);
  write_colour(stream, level);
  fputs("\" d=\"", stream);
  for (int64_t row = 0; row < panels->cell_rows; row++) {
    const uint8_t *line = levels + row * panels->cell_keys, *end = line + panels->cell_keys, *at = line;
    while (at < end && (at = memchr(at, level, (size_t)(end - at))) != NULL) {
      const uint8_t *begin = at;
      while (at < end && *at == level) at++;
      fprintf(stream, "M%d %dh%d", (int)(begin - line), (int)row, (int)(at - begin));
    }
  }
  fputs("\"/>\n", stream);
}

static void draw_cells(FILE *stream, const heatmap *map, const layout *layout, int panel, int left, int top) {
  static uint8_t levels[CELL_LIMIT * CELL_LIMIT];
  const panel_set *panels = map->panels;
  const int64_t count = panels->cell_rows * panels->cell_keys;
  bool present[HOLE + 1] = {false};
  levels_of(map, panel, levels);
  for (int64_t i = 0; i < count; i++) present[levels[i]] = true;
  fprintf(stream,
          "<g transform=\"translate(%d %d) scale(%d %d) translate(0 .5)\" shape-rendering=\"crispEdges\">\n", left,
          top, layout->cell_width, layout->cell_height);
  for (int level = 1; level <= HOLE; level++)
    if (present[level]) draw_level(stream, levels, panels, level);
  fputs("</g>\n", stream);
}

static void draw_panel(FILE *stream, const heatmap *map, const layout *layout, int panel) {
  const panel_set *panels = map->panels;
  int left, top;
  panel_corner(layout, panel, &left, &top);
  const axis rows = row_axis(map, layout), keys = key_axis(map, layout);
  if (panels->has_heads) {
    const panel_name name = name_of_panel(map, panel);
    fprintf(stream, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", left,
            top - layout->key_labels - LABEL_GAP - LABEL_GAP - 2);
    svg_write(stream, (svg_text){name.text, strlen(name.text)}, TITLE_LIMIT);
    fputs("</text>\n", stream);
  }
  draw_key_labels(stream, &keys, left, top);
  draw_row_labels(stream, &rows, left, top);
  draw_cells(stream, map, layout, panel, left, top);
  fprintf(stream, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n", left, top,
          layout->grid_width, layout->grid_height);
  if (map->marks)
    fprintf(stream,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#22262e\" "
            "stroke-width=\"2\"/>\n",
            left - 1, top + mark_below(map, layout) - 1, layout->grid_width + 2, layout->cell_height + 2);
}

bool heatmap_draw_svg(const heatmap *map, FILE *stream) {
  const layout layout = lay_out(map);
  fprintf(stream,
          "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
          "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans Mono, monospace\" font-size=\"11\" "
          "fill=\"#22262e\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
          layout.width, layout.height, layout.width, layout.height);
  if (map->title) {
    fprintf(stream, "<text x=\"%d\" y=\"%d\" font-size=\"18\">", MARGIN, MARGIN + 14);
    svg_write(stream, (svg_text){map->title, strlen(map->title)}, TITLE_LIMIT);
    fputs("</text>\n", stream);
  }
  for (int panel = 0; panel < map->panels->count; panel++) draw_panel(stream, map, &layout, panel);
  draw_bar(stream, map, &layout);
  for (int i = 0; i < layout.note_count; i++) {
    const char *text = layout.notes[i].text;
    fprintf(stream, "<text x=\"%d\" y=\"%d\" fill=\"#6b7280\">", MARGIN, layout.notes_top + i * NOTE_HEIGHT + 11);
    svg_write(stream, (svg_text){text, strlen(text)}, NOTE_LETTERS);
    fputs("</text>\n", stream);
  }
  fputs("</svg>\n", stream);
  return !ferror(stream);
}
