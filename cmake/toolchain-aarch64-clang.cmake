# 64-bit ARM by clang, with the C library and the linker of Debian's and Ubuntu's cross compiler. Programs run through
# qemu.

set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
include(${CMAKE_CURRENT_LIST_DIR}/toolchain-aarch64.cmake)
