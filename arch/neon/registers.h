/* Turns off two of gcc's passes between NEON_REGISTERS_FULL and NEON_REGISTERS_END, where inner loops fill the
 * registers.
 *
 * gcc's first scheduling pass moves the loads of all four steps of a score to the front and runs out of registers.
 * Its coalescing of variables ties sums to registers that are in use. Both spend FMA slots on moves between
 * registers: by llvm-mca, the FMA ports of a Neoverse N1 are used to 0.88 and 0.92, and to 1.00 without both
 * passes. Elsewhere the passes help: a softmax takes half the time on a Cortex-A55, which does not reorder. */
#ifndef FOVEA_ARCH_NEON_REGISTERS_H
#define FOVEA_ARCH_NEON_REGISTERS_H

#if defined(__clang__)
#define NEON_REGISTERS_FULL
#define NEON_REGISTERS_END
#else
#define NEON_REGISTERS_FULL                                                                                        \
  _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-schedule-insns\", \"no-tree-coalesce-vars\")")
#define NEON_REGISTERS_END _Pragma("GCC pop_options")
#endif

#endif
