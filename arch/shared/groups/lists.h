/* Rows that see keys of a list. */
#include "../../groups.h"
#if FOVEA_BUILDS_LISTS
#include "../gather_rows.h"
#endif
