# Removes the files that this build installed last, by CMake's lists of them, and folders named fovea that are then
# empty.
#   cmake -P uninstall.cmake, in the build directory; honours DESTDIR

file(GLOB manifests ${CMAKE_BINARY_DIR}/install_manifest*.txt)
if(NOT manifests)
  message(FATAL_ERROR "Nothing to uninstall: this build has not been installed")
endif()
foreach(manifest IN LISTS manifests)
  file(STRINGS ${manifest} files)
  foreach(file IN LISTS files)
    set(file "$ENV{DESTDIR}${file}")
    message(STATUS "Removing: ${file}")
    file(REMOVE "${file}")
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME name)
    file(GLOB rest LIST_DIRECTORIES true "${folder}/*")
    if(name STREQUAL "fovea" AND NOT rest)
      file(REMOVE_RECURSE "${folder}")
    endif()
  endforeach()
  file(REMOVE ${manifest})
endforeach()
