#include "groups.h"

#include "error.h"

#define GROUP_REPORT(NAME, name, built, what) {#name, what, "FOVEA_WITHOUT_" #NAME, built},
static const fovea_group_report groups[] = {FOVEA_GROUPS(GROUP_REPORT)};

fovea_status fovea_fail_left_out(int place, fovea_error *error) {
  return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED, "This build has no %s (%s, or a preset)", groups[place].what,
                    groups[place].without);
}

fovea_status fovea_refuse_group(const char *field, unsigned missing, fovea_error *error) {
  const fovea_group_report *group = &groups[__builtin_ctz(missing)];
  return fovea_fail(error, FOVEA_ERROR_UNSUPPORTED, "%s is set, but this build has no %s (%s, or a preset)", field,
                    group->what, group->without);
}

void fovea_report_groups(fovea_library_info *info) {
  info->group_count = FOVEA_GROUP_COUNT;
  info->groups = groups;
}
