# Prints whether find_package(<package> <WANTED>) takes the package whose version file is FILE.
#   cmake -DFILE=<package>-config-version.cmake -DWANTED=0.1.0 -P compatible.cmake

string(REPLACE "." ";" parts ${WANTED})
list(LENGTH parts PACKAGE_FIND_VERSION_COUNT)
list(GET parts 0 PACKAGE_FIND_VERSION_MAJOR)
list(GET parts 1 PACKAGE_FIND_VERSION_MINOR)
set(PACKAGE_FIND_VERSION ${WANTED})
set(CMAKE_SIZEOF_VOID_P "") # a script has no compiler
include(${FILE})
if(PACKAGE_VERSION_COMPATIBLE)
  message(NOTICE "yes")
else()
  message(NOTICE "no")
endif()
