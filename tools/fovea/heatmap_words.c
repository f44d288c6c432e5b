#include "heatmap_words.h"

#include "printf_like.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct note_list {
  label *notes;
  int count;
} note_list;

PRINTF_LIKE(2, 3) static void add_note(note_list *list, const char *format, ...) {
  char text[LABEL_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  list->notes[list->count++] = make_label_of(text, NOTE_LIMIT);
}

static void note_mark(const heatmap *map, note_list *list) {
  const long long row = map->marked_row;
  if (map->panels->row_factor > 1)
    add_note(list, "framed: the cells of row %lld", row);
  else if (map->row_tokens)
    add_note(list, "framed: what \"%s\" attends to", make_label(map->row_tokens[row], LABEL_LIMIT).text);
  else
    add_note(list, "framed: what row %lld attends to", row);
}

int heatmap_notes(const heatmap *map, const char *hole, label notes[NOTES]) {
  const panel_set *panels = map->panels;
  const bool averaged = panels->row_factor > 1 || panels->key_factor > 1;
  const long long rows = panels->row_factor, keys = panels->key_factor;
  note_list list = {notes, 0};
  if (map->note) add_note(&list, "%s", map->note);
  if (panels->has_holes)
    add_note(&list, "rows: queries, columns: keys; %s: not a finite number", hole);
  else
    add_note(&list, "rows: queries, columns: keys");
  if (map->marks) note_mark(map, &list);
  if (map->of_pairs && averaged)
    add_note(&list, "averaged: a cell is the share of %lld x %lld pairs (rows x keys) where the row sees the key",
             rows, keys);
  else if (map->of_pairs)
    add_note(&list, "dark: the row sees the key");
  else if (averaged)
    add_note(&list, "averaged: a cell is the mean of %lld x %lld weights (rows x keys)", rows, keys);
  if (panels->count == PANEL_DEFAULT && panels->of_heads > PANEL_DEFAULT)
    add_note(&list, "%d of %lld heads", PANEL_DEFAULT, (long long)panels->of_heads);
  return list.count;
}

label heatmap_name(const heatmap *map, int panel) {
  const panel_set *panels = map->panels;
  const long long batch = panels->batch, head = panels->heads[panel];
  char text[64];
  if (map->names) return make_label_of(map->names[panel], TITLE_LIMIT);
  if (panels->of_batch > 1)
    snprintf(text, sizeof text, "batch %lld, head %lld", batch, head);
  else
    snprintf(text, sizeof text, "head %lld", head);
  return make_label_of(text, TITLE_LIMIT);
}

label heatmap_label(const text_span *tokens, int64_t cell, int64_t factor) {
  char number[24];
  if (tokens) return make_label(tokens[cell * factor], LABEL_LIMIT);
  snprintf(number, sizeof number, "%lld", (long long)(cell * factor));
  return make_label_of(number, LABEL_LIMIT);
}
