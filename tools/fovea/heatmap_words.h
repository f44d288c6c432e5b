/* A heat map, and its words: names of panels, labels, notes. */
#ifndef FOVEA_TOOLS_HEATMAP_WORDS_H
#define FOVEA_TOOLS_HEATMAP_WORDS_H

#include "heatmap_panels.h"
#include "label.h"

typedef struct heatmap {
  const panel_set *panels;
  const char *title;           /* NULL: none */
  const char *font;            /* NULL: DejaVu Sans; text on a terminal has none */
  const text_span *row_tokens; /* one a row of the file's matrices; NULL: numbers */
  const text_span *key_tokens; /* one a column; NULL: numbers */
  float full;                  /* the weight drawn darkest, positive; larger ones are drawn alike */
  bool of_pairs;               /* cells are shares of pairs that are visible, not weights */
  const char *const *names;    /* of the panels; NULL: the names of their heads */
  const char *note;            /* a line below the panels; NULL: none */
  bool marks;                  /* frames marked_row, a row of the file's matrices */
  int64_t marked_row;
} heatmap;

enum { TITLE_LIMIT = 100, LABEL_LIMIT = 24, NOTE_LIMIT = 160, NOTES = 5 }; /* characters; lines */

/* "head 3", "batch 1, head 3", or the name that the map gives. */
label heatmap_name(const heatmap *map, int panel);

/* Of cell `cell` of an axis, whose cells are `factor` numbers each: the first one's token, or its number. */
label heatmap_label(const text_span *tokens, int64_t cell, int64_t factor);

/* Lines below the panels. `hole`: what cells without a number look like. Returns how many lines. */
int heatmap_notes(const heatmap *map, const char *hole, label notes[NOTES]);

#endif
