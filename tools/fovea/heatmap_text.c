#include "heatmap_text.h"

#include <math.h>

/* From no ink to the most. */
static const char inks[] = " .:-=+*#%@";
enum { DARKEST = sizeof inks - 2 };

static char ink_of(float weight, float full) {
  if (isnan(weight)) return '?';
  return inks[weight >= full ? DARKEST : (int)((double)weight / (double)full * DARKEST + 0.5)];
}

static int row_label_columns(const heatmap *map) {
  int most = 0;
  for (int64_t row = 0; row < map->panels->cell_rows; row++) {
    const int columns = heatmap_label(map->row_tokens, row, map->panels->row_factor).columns;
    if (columns > most) most = columns;
  }
  return most;
}

static void print_panel(const heatmap *map, int panel, int margin, FILE *stream) {
  const panel_set *panels = map->panels;
  const float *cell = panels->cells + panel * panels->cell_rows * panels->cell_keys;
  if (panels->has_heads) fprintf(stream, "%s\n", heatmap_name(map, panel).text);
  for (int64_t row = 0; row < panels->cell_rows; row++) {
    const label label = heatmap_label(map->row_tokens, row, panels->row_factor);
    const bool marked = map->marks && map->marked_row / panels->row_factor == row;
    fprintf(stream, "%*s%s %c", margin - label.columns, "", label.text, marked ? '>' : '|');
    for (int64_t key = 0; key < panels->cell_keys; key++) fputc(ink_of(*cell++, map->full), stream);
    fputs(marked ? "<\n" : "|\n", stream);
  }
  fputc('\n', stream);
}

void heatmap_print(const heatmap *map, FILE *stream) {
  label notes[NOTES];
  const int margin = row_label_columns(map), count = heatmap_notes(map, "?", notes);
  if (map->title) fprintf(stream, "%s\n\n", make_label_of(map->title, TITLE_LIMIT).text);
  for (int panel = 0; panel < map->panels->count; panel++) print_panel(map, panel, margin, stream);
  fprintf(stream, "'%c' is 0, '%c' is %.3g%s\n", inks[0], inks[DARKEST], (double)map->full,
          map->panels->largest > map->full ? " or more" : "");
  for (int i = 0; i < count; i++) fprintf(stream, "%s\n", notes[i].text);
}
