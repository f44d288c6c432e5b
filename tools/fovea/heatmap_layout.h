/* Where everything of a heat map lies, and its colours, for every kind of picture. Every length is in pixels, and a
 * whole number, so that nothing is rounded. */
#ifndef FOVEA_TOOLS_HEATMAP_LAYOUT_H
#define FOVEA_TOOLS_HEATMAP_LAYOUT_H

#include "heatmap_draw.h"

enum {
  MARGIN = 16,
  TITLE_HEIGHT = 30,
  TITLE_LETTER = 11, /* the width of a letter */
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
  NOTE_LIMIT = 5,
  NOTE_LETTERS = 160,
  WIDEST_CELL = 24,
  LEVELS = 128, /* of the colour scale, besides 0, which is white and not drawn */
  HOLE = 255    /* the level of cells that hold no number */
};

enum { SPANS = 4, SPAN = LEVELS / SPANS }; /* of the colour scale, which is linear in each */

typedef struct note {
  char text[NOTE_LETTERS];
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

layout lay_out(const heatmap *map);

/* The left and top corner of a panel's grid. */
void panel_corner(const layout *layout, int panel, int *left, int *top);

/* "head 3", "batch 1, head 3", or the name that the map gives. */
typedef struct panel_name {
  char text[64];
} panel_name;
panel_name name_of_panel(const heatmap *map, int panel);

/* The distance from the top of a panel's grid to the top of the marked row. */
int mark_below(const heatmap *map, const layout *layout);

axis row_axis(const heatmap *map, const layout *layout);
axis key_axis(const heatmap *map, const layout *layout);

/* Writes a number into `buffer`, if the axis has no tokens. */
svg_text label_of(const axis *axis, int64_t cell, char *buffer, size_t size);

/* The number at a tick of the colour bar, from 0 to BAR_TICKS. */
double value_of_tick(const heatmap *map, int tick);

/* The level of a cell: 0 is white, LEVELS the darkest, HOLE no number. */
uint8_t level_of(float weight, float full);
/* The levels of a panel's cells; room for CELL_LIMIT * CELL_LIMIT. */
void levels_of(const heatmap *map, int panel, uint8_t *levels);

typedef struct colour {
  int channels[3];
} colour;
colour colour_of(int level);

#endif
