#include "../base/groups.h"
#include "../system/dispatch.h"
#include "../system/process.h"
#include "../system/schedule.h"

#define FOVEA_TEXT_(x) #x
#define FOVEA_TEXT(x)  FOVEA_TEXT_(x)

const char *fovea_version(void) {
  return FOVEA_TEXT(FOVEA_VERSION_MAJOR) "." FOVEA_TEXT(FOVEA_VERSION_MINOR) "." FOVEA_TEXT(FOVEA_VERSION_PATCH);
}

fovea_status fovea_info(fovea_library_info *info) {
  if (!info || info->struct_size != sizeof *info) return FOVEA_ERROR_ARGUMENT;
  *info = (fovea_library_info){
      .struct_size = sizeof *info,
      .version = fovea_version(),
      .cpu = fovea_process_record()->cpu_name,
      .threading = fovea_schedule_threading(),
      .threads = fovea_default_threads(),
  };
  fovea_dispatch_report(info);
  fovea_report_groups(info);
  return FOVEA_OK;
}
