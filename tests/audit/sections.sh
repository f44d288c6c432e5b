#!/bin/bash
# No code runs before or after main, and only the files named here have data that a run can change: the CPU and the
# environment as they were found, the choice among the kernels, whether AMX is allowed, and until when calls use no team.
#   sections.sh <objdump> <object>...
set -e -u -o pipefail
objdump=$1
shift
status=0

for object in "$@"; do
  while read -r _ section size _; do
    case $section in
      .init_array* | .preinit_array* | .fini_array* | .ctors* | .dtors*)
        echo "$object runs code before or after main ($section)"
        status=1
        ;;
      .data.rel.ro* | .data.rel.local.ro*) ;;
      .data* | .bss* | .tdata* | .tbss*)
        [[ $object == */src/system/process.c.o* || $object == */src/system/dispatch.c.o* ||
          $object == */src/system/arithmetic.c.o* || $object == */src/system/schedule.c.o* || $size =~ ^0*$ ]] && continue
        echo "$object has data that changes ($section, $((16#$size)) bytes)"
        status=1
        ;;
    esac
  done < <($objdump -h "$object" | grep -E '^ +[0-9]+ +\.')
done
exit $status
