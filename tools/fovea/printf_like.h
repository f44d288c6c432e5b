/* Lets the compiler check the arguments of functions that take formats. The formats are C99's; gcc for Windows must
 * be told so. */
#ifndef FOVEA_TOOLS_PRINTF_LIKE_H
#define FOVEA_TOOLS_PRINTF_LIKE_H

#if defined(_WIN32) && defined(__GNUC__) && !defined(__clang__)
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(gnu_printf, format_at, first_at)))
#elif defined(__GNUC__)
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define PRINTF_LIKE(format_at, first_at)
#endif

#endif
