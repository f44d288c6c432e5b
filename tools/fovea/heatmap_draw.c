/* Every length is in pixels, and a whole number, so that nothing is rounded. */
#include "heatmap_draw.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
  MARGIN = 16,
  TITLE_HEIGHT = 30,
  TITLE_LETTER = 11, /* the width of its letters, likewise below */
  TITLE_LIMIT = 100, /* letters */
  NAME_HEIGHT = 20,  /* a panel's name */
  NAME_WIDTH = 150,
  LABEL_LETTER = 7,
  LABEL_LIMIT = 24,
  LABEL_STEP = 12, /* least distance of labels beside each other */
  LABEL_GAP = 5,
  PANEL_GAP = 24,
  BAR_WIDTH = 14,
  BAR_LEAST = 100, /* height */
  BAR_TICKS = 4,
  BAR_LABELS = 70, /* their width */
  NOTE_HEIGHT = 16,
  NOTE_LIMIT = 3,
  WIDEST_CELL = 24,
  LEVELS = 128, /* of the colour scale, besides 0, which is white and not drawn */
  HOLE = 255    /* the level of cells that hold no number */
};

typedef struct note {
  char text[128];
} note;

typedef struct layout {
  int cell_width, cell_height, grid_width, grid_height;
  int row_labels, key_labels;    /* how long the longest is */
  int panel_width, panel_height; /* with labels and name */
  int panels_in_line, name_height;
  int top; /* of the first panel's grid */
  int left;
  int bar_left, bar_height;
  int notes_top, note_count;
  note notes[NOTE_LIMIT];
  int width, height;
} layout;

typedef struct axis {
  const svg_text *tokens; /* NULL: numbers */
  int64_t cells, factor;  /* cell i is labelled by what the file has at i * factor */
  int64_t step;           /* every so many cells have a label */
  int cell;               /* a cell's side */
} axis;

/* ---- Labels -------------------------------------------------------------------------------------------------- */

static axis make_axis(const svg_text *tokens, int64_t cells, int64_t factor, int cell) {
  static const int64_t grow[] = {2, 5, 10};
  axis axis = {tokens, cells, factor, 1, cell};
  for (int64_t ten = 1; axis.step * cell < LABEL_STEP; ten *= 10)
    for (int i = 0; i < 3 && axis.step * cell < LABEL_STEP; i++) axis.step = ten * grow[i];
  return axis;
}

/* Writes a number into `buffer`, if the axis has no tokens. */
static svg_text label_of(const axis *axis, int64_t cell, char *buffer, size_t size) {
  const int64_t place = cell * axis->factor;
  if (axis->tokens) return axis->tokens[place];
  const int length = snprintf(buffer, size, "%lld", (long long)place);
  return (svg_text){buffer, (size_t)length};
}

static int longest_label(const axis *axis) {
  char buffer[24];
  int longest = 0;
  for (int64_t cell = 0; cell < axis->cells; cell += axis->step) {
    const int width = svg_width(label_of(axis, cell, buffer, sizeof buffer), LABEL_LIMIT);
    if (width > longest) longest = width;
  }
  return longest * LABEL_LETTER;
}

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

/* ---- Layout -------------------------------------------------------------------------------------------------- */

/* Panels get smaller as they become more; a cell has one pixel at least. */
static int cell_side(int64_t cells, int panels) {
  const int64_t room = panels == 1 ? 480 : panels <= 4 ? 320 : 240, side = room / cells;
  return side < 1 ? 1 : side > WIDEST_CELL ? WIDEST_CELL : (int)side;
}

static axis row_axis(const heatmap *map, const layout *layout) {
  return make_axis(map->row_tokens, map->panels->cell_rows, map->panels->row_factor, layout->cell_height);
}

static axis key_axis(const heatmap *map, const layout *layout) {
  return make_axis(map->key_tokens, map->panels->cell_keys, map->panels->key_factor, layout->cell_width);
}

static void make_notes(const heatmap *map, layout *layout) {
  const panel_set *panels = map->panels;
  int count = 1;
  snprintf(layout->notes[0].text, sizeof layout->notes[0].text, "rows: queries, columns: keys%s",
           panels->has_holes ? "; grey: not a finite number" : "");
  if (panels->row_factor > 1 || panels->key_factor > 1)
    snprintf(layout->notes[count++].text, sizeof layout->notes[0].text,
             "averaged: a cell is the mean of %lld x %lld weights (rows x keys)", (long long)panels->row_factor,
             (long long)panels->key_factor);
  if (panels->count == PANEL_DEFAULT && panels->of_heads > PANEL_DEFAULT)
    snprintf(layout->notes[count++].text, sizeof layout->notes[0].text, "%d of %lld heads", PANEL_DEFAULT,
             (long long)panels->of_heads);
  layout->note_count = count;
}

static int larger(int a, int b) {
  return a > b ? a : b;
}

static void lay_out_panels(const heatmap *map, layout *layout) {
  const panel_set *panels = map->panels;
  layout->cell_width = cell_side(panels->cell_keys, panels->count);
  layout->cell_height = cell_side(panels->cell_rows, panels->count);
  layout->grid_width = layout->cell_width * (int)panels->cell_keys;
  layout->grid_height = layout->cell_height * (int)panels->cell_rows;
  const axis rows = row_axis(map, layout), keys = key_axis(map, layout);
  layout->row_labels = longest_label(&rows);
  layout->key_labels = longest_label(&keys);
  layout->name_height = panels->has_heads ? NAME_HEIGHT : 0;
  layout->panel_width = layout->row_labels + LABEL_GAP + layout->grid_width;
  if (panels->has_heads) layout->panel_width = larger(layout->panel_width, NAME_WIDTH);
  layout->panel_height = layout->name_height + layout->key_labels + LABEL_GAP + layout->grid_height;
  layout->panels_in_line = panels->count <= 4 ? panels->count : panels->count <= 6 ? 3 : 4;
}

static layout lay_out(const heatmap *map) {
  layout layout = {.width = 0};
  lay_out_panels(map, &layout);
  make_notes(map, &layout);
  const int title = map->title ? TITLE_HEIGHT : 0, in_line = layout.panels_in_line;
  const int lines = (map->panels->count + in_line - 1) / in_line;
  layout.left = MARGIN + layout.row_labels + LABEL_GAP;
  layout.top = MARGIN + title + layout.name_height + layout.key_labels + LABEL_GAP;
  layout.bar_left = MARGIN + in_line * (layout.panel_width + PANEL_GAP);
  layout.bar_height = larger(layout.grid_height, BAR_LEAST);
  layout.notes_top = MARGIN + title + lines * (layout.panel_height + PANEL_GAP) - PANEL_GAP;
  layout.notes_top = larger(layout.notes_top, layout.top + layout.bar_height) + NOTE_HEIGHT;
  layout.height = layout.notes_top + layout.note_count * NOTE_HEIGHT + MARGIN;
  layout.width = layout.bar_left + BAR_WIDTH + BAR_LABELS;
  if (map->title) {
    const svg_text text = {map->title, strlen(map->title)};
    layout.width = larger(layout.width, svg_width(text, TITLE_LIMIT) * TITLE_LETTER + MARGIN);
  }
  for (int i = 0; i < layout.note_count; i++)
    layout.width = larger(layout.width, (int)strlen(layout.notes[i].text) * LABEL_LETTER + MARGIN);
  layout.width += MARGIN;
  return layout;
}

/* ---- Colours ------------------------------------------------------------------------------------------------- */

/* White to dark blue; the lightness falls evenly. */
static const int stops[][3] = {{255, 255, 255}, {199, 222, 242}, {122, 179, 222}, {48, 122, 189}, {13, 56, 122}};
enum { SPANS = sizeof stops / sizeof stops[0] - 1, SPAN = LEVELS / SPANS };

static void write_colour(FILE *stream, int level) {
  if (level == HOLE) {
    fputs("#b8b8b8", stream);
    return;
  }
  const int span = level < LEVELS ? level / SPAN : SPANS - 1, part = level - span * SPAN;
  fputc('#', stream);
  for (int i = 0; i < 3; i++)
    fprintf(stream, "%02x", (stops[span][i] * (SPAN - part) + stops[span + 1][i] * part + SPAN / 2) / SPAN);
}

static uint8_t level_of(float weight, float full) {
  if (isnan(weight)) return HOLE;
  if (weight >= full) return LEVELS;
  const double scaled = (double)weight / (double)full * LEVELS;
  return (uint8_t)(scaled + 0.5);
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
            (double)map->full * tick / BAR_TICKS);
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
  for (int64_t i = 0; i < count; i++) {
    levels[i] = level_of(panels->cells[panel * count + i], map->full);
    present[levels[i]] = true;
  }
  fprintf(stream,
          "<g transform=\"translate(%d %d) scale(%d %d) translate(0 .5)\" shape-rendering=\"crispEdges\">\n", left,
          top, layout->cell_width, layout->cell_height);
  for (int level = 1; level <= HOLE; level++)
    if (present[level]) draw_level(stream, levels, panels, level);
  fputs("</g>\n", stream);
}

static void draw_panel(FILE *stream, const heatmap *map, const layout *layout, int panel) {
  const panel_set *panels = map->panels;
  const int column = panel % layout->panels_in_line, line = panel / layout->panels_in_line;
  const int left = layout->left + column * (layout->panel_width + PANEL_GAP);
  const int top = layout->top + line * (layout->panel_height + PANEL_GAP);
  const axis rows = row_axis(map, layout), keys = key_axis(map, layout);
  if (panels->has_heads) {
    fprintf(stream, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", left,
            top - layout->key_labels - LABEL_GAP - LABEL_GAP - 2);
    if (panels->of_batch > 1) fprintf(stream, "batch %lld, ", (long long)panels->batch);
    fprintf(stream, "head %lld</text>\n", (long long)panels->heads[panel]);
  }
  draw_key_labels(stream, &keys, left, top);
  draw_row_labels(stream, &rows, left, top);
  draw_cells(stream, map, layout, panel, left, top);
  fprintf(stream, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n", left, top,
          layout->grid_width, layout->grid_height);
}

bool heatmap_draw(const heatmap *map, FILE *stream) {
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
  for (int i = 0; i < layout.note_count; i++)
    fprintf(stream, "<text x=\"%d\" y=\"%d\" fill=\"#6b7280\">%s</text>\n", MARGIN,
            layout.notes_top + i * NOTE_HEIGHT + 11, layout.notes[i].text);
  fputs("</svg>\n", stream);
  return !ferror(stream);
}
