/* Marks memory that must not be read or written for a while, with AddressSanitizer; without it, does nothing. */
#ifndef FOVEA_TESTS_FUZZ_POISON_H
#define FOVEA_TESTS_FUZZ_POISON_H

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAS_ADDRESS_SANITIZER
#endif

#ifdef HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size)   ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

#endif
