# 32-bit ARM with hardware floats by Debian's and Ubuntu's gcc; programs run through qemu.
#
# VFPv4 has the fused multiply-add (Cortex-A7, A15 and later). For older cores (A8, A9) pass
# -DCMAKE_C_FLAGS=-mfpu=vfpv3-d16: the bits are the same, at a fraction of the speed. The NEON of 32-bit ARM flushes
# subnormals, so no kernel uses it.

set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(cross_name armv7)
set(cross_triple arm-linux-gnueabihf)
set(cross_qemu qemu-arm)
set(CMAKE_C_FLAGS_INIT -mfpu=vfpv4)
include(${CMAKE_CURRENT_LIST_DIR}/debian-cross.cmake)
