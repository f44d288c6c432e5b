/* What gcc leaves alone between NEON_REGISTERS_FULL and NEON_REGISTERS_END, where inner loops fill the registers.
 *
 * gcc's first scheduling pass moves the loads of all four steps of a score to the front and runs out of registers;
 * its coalescing of variables ties sums to registers that are taken. Either spends FMA slots on moves between
 * registers: 0.88 and 0.92 of the FMA ports of a Neoverse N1 by llvm-mca, 1.00 without both. Elsewhere they do
 * good: a softmax takes a Cortex-A55, which does not reorder, half the time. */
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
