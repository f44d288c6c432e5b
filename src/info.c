#include "dispatch.h"
#include "process.h"
#include "schedule.h"

#define FOVEA_TEXT_(x) #x
#define FOVEA_TEXT(x)  FOVEA_TEXT_(x)

const char *fovea_version(void) {
  return FOVEA_TEXT(FOVEA_VERSION_MAJOR) "." FOVEA_TEXT(FOVEA_VERSION_MINOR) "." FOVEA_TEXT(FOVEA_VERSION_PATCH);
}

fovea_status fovea_info(fovea_library_info *info) {
  if (!info) return FOVEA_ERROR_NULL;
  if (info->struct_size != sizeof *info) return FOVEA_ERROR_STRUCT_SIZE;
  *info = (fovea_library_info){
      .struct_size = sizeof *info,
      .version = fovea_version(),
      .cpu = fovea_process_record()->cpu_name,
      .threading = fovea_schedule_threading(),
      .threads = fovea_default_threads(),
  };
  fovea_dispatch_report(info);
  return FOVEA_OK;
}
