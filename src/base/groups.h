/* Groups of kernels that this build leaves out (arch/groups.h), and how they are refused. */
#ifndef FOVEA_SRC_BASE_GROUPS_H
#define FOVEA_SRC_BASE_GROUPS_H

#include "../../arch/groups.h"
#include <fovea/fovea.h>

/* Refuses what needs the group at this place of the list: FOVEA_GROUP_PLACE_LISTS, ... Names its switch. */
fovea_status fovea_fail_left_out(int place, fovea_error *error);

/* Refuses a field that needs groups that this build leaves out: bits, FOVEA_GROUP_LISTS, ... Names the first one's
 * switch. */
fovea_status fovea_refuse_group(const char *field, unsigned missing, fovea_error *error);

/* Fills the groups of the report. */
void fovea_report_groups(fovea_library_info *info);

#endif
