# The common part of the toolchain files for Debian's and Ubuntu's cross compilers. Before a file includes it, the file
# sets cross_name to the preset, cross_triple to the compiler's target, and cross_qemu to the emulator of programs.
#
# Libraries that are not part of the compiler come from build/<preset>-sysroot. cmake/packages.sh installs them there
# and changes nothing in the system.

set(CMAKE_SYSTEM_NAME Linux)
if(NOT CMAKE_C_COMPILER)
  set(CMAKE_C_COMPILER ${cross_triple}-gcc)
  set(CMAKE_CXX_COMPILER ${cross_triple}-g++)
endif()
set(CMAKE_LIBRARY_ARCHITECTURE ${cross_triple})

set(CMAKE_FIND_ROOT_PATH /usr/${cross_triple} ${CMAKE_CURRENT_LIST_DIR}/../build/${cross_name}-sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR ${cross_qemu} -L /usr/${cross_triple})
