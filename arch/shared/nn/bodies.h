/* All operations of nn and their table, in one translation unit. arch/<isa>/nn/<isa>.c includes it after the vector
 * layer and its tile sizes. */

#include "../types.h"

#include "activate.h"
#include "additive.h"
#include "average.h"
#include "dot.h"
#include "dot_few.h"
#include "edges.h"
#include "embed.h"
#include "finish.h"
#include "functions.h"
#include "gates.h"
#include "graph_scores.h"
#include "graph_states.h"
#include "graph_values.h"
#include "graph_weights.h"
#include "norm.h"
#include "softmax.h"
#include "weights.h"

#include "table.h"
