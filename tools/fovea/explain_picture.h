/* Which keys the rows of a problem see, as the cells of a heat map. */
#ifndef FOVEA_TOOLS_EXPLAIN_PICTURE_H
#define FOVEA_TOOLS_EXPLAIN_PICTURE_H

#include "heatmap_panels.h"
#include <fovea/explain.h>

typedef struct pattern_view {
  const fovea_plan *plan;
  const fovea_problem *problem; /* of the plan */
  const void *mask;             /* its mask tensor, if it has one */
} pattern_view;

/* Fills cells with the share of pairs that are visible. `heads` and `entry` may be empty: then head 0 of batch
 * element
 * 0. Free the panels in any case. */
bool explain_picture_fill(panel_set *panels, const pattern_view *view, const number_list *heads,
                          const number_list *entry, failure *why);

#endif
