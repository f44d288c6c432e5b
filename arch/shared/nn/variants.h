/* The operations of the variants of attention, in one translation unit. arch/<isa>/nn/variants_<isa>.c includes it
 * after the vector layer and its tile sizes. */

#include "../types.h"

#include "differ.h"
#include "graph_scores.h"
#include "graph_states.h"
#include "graph_values.h"
#include "graph_weights.h"
#include "lsh.h"
#include "outer.h"
#include "performer.h"
#include "prefix.h"
#include "recurrence.h"
#include "recurrence_rows.h"
#include "select.h"
