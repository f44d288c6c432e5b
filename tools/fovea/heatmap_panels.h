/* What a heat map draws: the weights of some heads of one batch element, averaged to cells where they are too many.
 */
#ifndef FOVEA_TOOLS_HEATMAP_PANELS_H
#define FOVEA_TOOLS_HEATMAP_PANELS_H

#include "failure.h"
#include "npy.h"
#include "options.h"

enum { PANEL_LIMIT = 64, PANEL_DEFAULT = 16 };

/* The most rows and keys of cells, of a picture and of text. */
enum { CELL_LIMIT = 512, TEXT_LIMIT = 96 };

typedef struct panel_set {
  int count;
  int64_t heads[PANEL_LIMIT]; /* which head each panel shows */
  int64_t batch, of_batch, of_heads;
  bool has_heads;                 /* else the file is one matrix */
  int64_t rows, keys;             /* of the file's matrices */
  int64_t row_factor, key_factor; /* a cell is the mean of so many rows and keys, at the ends of fewer */
  int64_t cell_limit;             /* of cell_rows and cell_keys; 0: CELL_LIMIT, which is the most */
  int64_t cell_rows, cell_keys;
  float *cells;   /* (count, cell_rows, cell_keys); NaN if a weight of the cell is not finite */
  float largest;  /* of the finite cells; 0 if there are none */
  bool has_holes; /* a cell is NaN */
} panel_set;

/* Steps of panels_fill(), for cells that come from elsewhere: sets rows, keys and all that follows from them, at
 * least one of each; chooses heads and the batch element, of of_heads and of_batch, which must be set; makes room
 * for cells. */
void panels_set_size(panel_set *panels, int64_t rows, int64_t keys);
typedef struct panel_names {
  const char *heads, *batch, *of; /* the options, and what has the heads, for texts of failures */
} panel_names;
bool panels_choose(panel_set *panels, const panel_names *names, const number_list *heads, const number_list *batch,
                   failure *why);
bool panels_allocate(panel_set *panels, failure *why);

/* `heads` and `batch` may be empty: then the first PANEL_DEFAULT heads of batch element 0. `panels` must be all
 * zero bytes but for cell_limit before. Refuses ranks but 2, 3 and 4, empty arrays, and negative weights. */
bool panels_fill(panel_set *panels, const npy_array *array, const char *path, const number_list *heads,
                 const number_list *batch, failure *why);
void panels_free(panel_set *panels);

#endif
