# 64-bit ARM by Debian's and Ubuntu's gcc; programs run through qemu.

set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(cross_name aarch64)
set(cross_triple aarch64-linux-gnu)
set(cross_qemu qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
