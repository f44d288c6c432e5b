# fovea_sets(<list> <architecture>...)   sets the list to the instruction sets of arch/registry.h that serve every
# problem and belong to one of these architectures, in the order of the registry

set(fovea_registry ${PROJECT_SOURCE_DIR}/arch/registry.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${fovea_registry})

function(fovea_sets LIST)
  file(READ ${fovea_registry} text)
  string(REGEX MATCHALL "SET\\([a-z0-9_]+, [A-Z0-9_]+,[^,]*,[^,]*, F32," lines "${text}")
  set(names "")
  foreach(line ${lines})
    string(REGEX MATCH "^SET\\(([a-z0-9_]+), ([A-Z0-9_]+)," line "${line}")
    if(CMAKE_MATCH_2 IN_LIST ARGN)
      list(APPEND names ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(${LIST} ${names} PARENT_SCOPE)
endfunction()

# The registry's names of the architectures for which this build has kernels, and the instruction sets of this build.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(fovea_architectures X86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(fovea_architectures AARCH64 AARCH64_EXTENSIONS)
else()
  set(fovea_architectures "")
endif()
fovea_sets(fovea_own_isas ${fovea_architectures})
fovea_sets(fovea_isas ${fovea_architectures} ANY)
