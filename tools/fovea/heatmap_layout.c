#include "heatmap_layout.h"

#include "printf_like.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- Labels -------------------------------------------------------------------------------------------------- */

static axis make_axis(const svg_text *tokens, int64_t cells, int64_t factor, int cell) {
  static const int64_t grow[] = {2, 5, 10};
  axis axis = {tokens, cells, factor, 1, cell};
  for (int64_t ten = 1; axis.step * cell < LABEL_STEP; ten *= 10)
    for (int i = 0; i < 3 && axis.step * cell < LABEL_STEP; i++) axis.step = ten * grow[i];
  return axis;
}

svg_text label_of(const axis *axis, int64_t cell, char *buffer, size_t size) {
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

/* ---- Layout -------------------------------------------------------------------------------------------------- */

/* Panels get smaller as they become more; a cell has one pixel at least. */
static int cell_side(int64_t cells, int panels) {
  const int64_t room = panels == 1 ? 480 : panels <= 4 ? 320 : 240, side = room / cells;
  return side < 1 ? 1 : side > WIDEST_CELL ? WIDEST_CELL : (int)side;
}

axis row_axis(const heatmap *map, const layout *layout) {
  return make_axis(map->row_tokens, map->panels->cell_rows, map->panels->row_factor, layout->cell_height);
}

axis key_axis(const heatmap *map, const layout *layout) {
  return make_axis(map->key_tokens, map->panels->cell_keys, map->panels->key_factor, layout->cell_width);
}

/* Adds a line. Longer ones are cut. */
PRINTF_LIKE(2, 3) static void add_note(layout *layout, const char *format, ...) {
  note *added = &layout->notes[layout->note_count++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(added->text, sizeof added->text, format, arguments);
  va_end(arguments);
}

/* How many bytes of a token a note has room for: whole letters. */
static int shown_bytes(const svg_text *token) {
  size_t length = token->length < 80 ? token->length : 80;
  while (length > 0 && length < token->length && ((unsigned char)token->bytes[length] & 0xc0) == 0x80) length--;
  return (int)length;
}

static void note_mark(const heatmap *map, layout *layout) {
  const long long row = map->marked_row;
  const svg_text *token = map->row_tokens ? &map->row_tokens[row] : NULL;
  if (map->panels->row_factor > 1)
    add_note(layout, "framed: the cells of row %lld", row);
  else if (token)
    add_note(layout, "framed: what \"%.*s\" attends to", shown_bytes(token), token->bytes);
  else
    add_note(layout, "framed: what row %lld attends to", row);
}

static void make_notes(const heatmap *map, layout *layout) {
  const panel_set *panels = map->panels;
  const bool averaged = panels->row_factor > 1 || panels->key_factor > 1;
  const long long rows = panels->row_factor, keys = panels->key_factor;
  if (map->note) add_note(layout, "%s", map->note);
  add_note(layout, "rows: queries, columns: keys%s", panels->has_holes ? "; grey: not a finite number" : "");
  if (map->marks) note_mark(map, layout);
  if (map->of_pairs && averaged)
    add_note(layout, "averaged: a cell is the share of %lld x %lld pairs (rows x keys) where the row sees the key",
             rows, keys);
  else if (map->of_pairs)
    add_note(layout, "dark: the row sees the key");
  else if (averaged)
    add_note(layout, "averaged: a cell is the mean of %lld x %lld weights (rows x keys)", rows, keys);
  if (panels->count == PANEL_DEFAULT && panels->of_heads > PANEL_DEFAULT)
    add_note(layout, "%d of %lld heads", PANEL_DEFAULT, (long long)panels->of_heads);
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

static int note_width(const note *note) {
  return svg_width((svg_text){note->text, strlen(note->text)}, NOTE_LETTERS) * LABEL_LETTER;
}

layout lay_out(const heatmap *map) {
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
    layout.width = larger(layout.width, note_width(&layout.notes[i]) + MARGIN);
  layout.width += MARGIN;
  return layout;
}

void panel_corner(const layout *layout, int panel, int *left, int *top) {
  const int column = panel % layout->panels_in_line, line = panel / layout->panels_in_line;
  *left = layout->left + column * (layout->panel_width + PANEL_GAP);
  *top = layout->top + line * (layout->panel_height + PANEL_GAP);
}

panel_name name_of_panel(const heatmap *map, int panel) {
  const panel_set *panels = map->panels;
  panel_name name;
  const long long batch = panels->batch, head = panels->heads[panel];
  if (map->names)
    snprintf(name.text, sizeof name.text, "%s", map->names[panel]);
  else if (panels->of_batch > 1)
    snprintf(name.text, sizeof name.text, "batch %lld, head %lld", batch, head);
  else
    snprintf(name.text, sizeof name.text, "head %lld", head);
  return name;
}

int mark_below(const heatmap *map, const layout *layout) {
  return (int)(map->marked_row / map->panels->row_factor) * layout->cell_height;
}

double value_of_tick(const heatmap *map, int tick) {
  return (double)map->full * tick / BAR_TICKS;
}

/* ---- Colours ------------------------------------------------------------------------------------------------- */

/* White to dark blue; the lightness falls evenly. */
static const int stops[SPANS + 1][3] = {
    {255, 255, 255}, {199, 222, 242}, {122, 179, 222}, {48, 122, 189}, {13, 56, 122}};

colour colour_of(int level) {
  colour colour = {{0xb8, 0xb8, 0xb8}};
  if (level == HOLE) return colour;
  const int span = level < LEVELS ? level / SPAN : SPANS - 1, part = level - span * SPAN;
  for (int i = 0; i < 3; i++)
    colour.channels[i] = (stops[span][i] * (SPAN - part) + stops[span + 1][i] * part + SPAN / 2) / SPAN;
  return colour;
}

uint8_t level_of(float weight, float full) {
  if (isnan(weight)) return HOLE;
  if (weight >= full) return LEVELS;
  const double scaled = (double)weight / (double)full * LEVELS;
  return (uint8_t)(scaled + 0.5);
}

void levels_of(const heatmap *map, int panel, uint8_t *levels) {
  const int64_t count = map->panels->cell_rows * map->panels->cell_keys;
  for (int64_t i = 0; i < count; i++) levels[i] = level_of(map->panels->cells[panel * count + i], map->full);
}
