# What a build leaves out, by the names of arch/groups.h and arch/registry.h:
#
#   FOVEA_PRESET            core, inference, or full (default)
#   FOVEA_WITHOUT_<GROUP>   ON: without this group of kernels and the code around it
#   FOVEA_ISAS              the instruction sets beside portable C, e.g. avx2,avx512; empty (default): the preset's
#
# Each becomes definitions of the same names, which a bare compile gives by hand (docs/building.md).

set(FOVEA_PRESET full CACHE STRING "What the library can do: core, inference or full")
set_property(CACHE FOVEA_PRESET PROPERTY STRINGS core inference full)
set(FOVEA_ISAS "" CACHE STRING "Instruction sets beside portable C, separated by commas; empty: the preset's")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/arch/groups.h ${PROJECT_SOURCE_DIR}/arch/registry.h
)

set(fovea_left_out "")
if(FOVEA_PRESET STREQUAL "core")
  list(APPEND fovea_left_out FOVEA_CORE)
elseif(FOVEA_PRESET STREQUAL "inference")
  list(APPEND fovea_left_out FOVEA_INFERENCE)
elseif(NOT FOVEA_PRESET STREQUAL "full")
  message(FATAL_ERROR "FOVEA_PRESET is ${FOVEA_PRESET}; it must be core, inference or full")
endif()

file(READ ${PROJECT_SOURCE_DIR}/arch/groups.h text)
string(REGEX MATCHALL "GROUP\\([A-Z0-9_]+, [a-z0-9_]+, FOVEA" groups "${text}")
foreach(group ${groups})
  string(REGEX REPLACE "^GROUP\\(([A-Z0-9_]+),.*" "\\1" group "${group}")
  option(FOVEA_WITHOUT_${group} "Leave out a group of kernels (arch/groups.h)" OFF)
  if(FOVEA_WITHOUT_${group})
    list(APPEND fovea_left_out FOVEA_WITHOUT_${group})
  endif()
endforeach()

# The sets and extensions that are not named.
set(fovea_left_out_sets "")
if(FOVEA_ISAS)
  file(READ ${PROJECT_SOURCE_DIR}/arch/registry.h text)
  string(REGEX MATCHALL "(SET|EXTENSION)\\([a-z0-9_]+, [A-Z0-9_]+," lines "${text}")
  string(REPLACE "," ";" wanted "${FOVEA_ISAS}")
  set(known scalar)
  foreach(line ${lines})
    string(REGEX REPLACE "^[A-Z]+\\(([a-z0-9_]+),.*" "\\1" name "${line}")
    list(APPEND known ${name})
    if(NOT name IN_LIST wanted AND NOT name STREQUAL "scalar")
      string(TOUPPER FOVEA_WITHOUT_${name} definition)
      list(APPEND fovea_left_out ${definition})
      list(APPEND fovea_left_out_sets ${name})
    endif()
  endforeach()
  foreach(name ${wanted})
    if(NOT name IN_LIST known)
      list(JOIN known ", " known)
      message(FATAL_ERROR "FOVEA_ISAS names ${name}, which arch/registry.h does not; it has ${known}")
    endif()
  endforeach()
endif()
add_compile_definitions(${fovea_left_out})
