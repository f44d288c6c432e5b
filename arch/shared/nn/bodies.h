/* All operations of nn and their table, in one translation unit. arch/<isa>/nn/<isa>.c includes it after the vector
 * layer and its tile sizes. */

#include "../types.h"

#include "activate.h"
#include "additive.h"
#include "average.h"
#include "differ.h"
#include "dot.h"
#include "dot_few.h"
#include "edges.h"
#include "embed.h"
#include "finish.h"
#include "functions.h"
#include "gates.h"
#include "lsh.h"
#include "norm.h"
#include "performer.h"
#include "prefix.h"
#include "recurrence.h"
#include "recurrence_rows.h"
#include "outer.h"
#include "select.h"
#include "softmax.h"
#include "weights.h"

#include "table.h"
