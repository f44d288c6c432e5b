/* What all headers of Fovea share: statuses, errors, strides, types of elements.
 *
 * Structs that a call takes say how large they are, so that a program and a library of different versions never
 * misread each other. `struct_size` is the first field, and the initialiser fovea_<struct>_init() sets it; the
 * size of an array's elements goes beside the array (`segment_size` of fovea_sequence, terms.size of
 * fovea_problem). Later versions may add fields, and groups of fields, at the end of a struct, and none within it. A
 * struct whose size nothing says gets no field.
 * A call refuses a size that its library does not know (FOVEA_ERROR_ARGUMENT), before it reads or writes anything
 * else of the struct. An initialiser writes no byte beyond the size that it is given.
 *
 * Lists of positions, keys, lengths and other integers are int64, unless engines keep them as int32: tables of pages
 * (and the pool whose pages stand in these tables) and cu_seqlens are int32. Ids of tokens may be either. */
#ifndef FOVEA_TYPES_H
#define FOVEA_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(FOVEA_API) /* defined to nothing where parts of this library are built into another one */
#elif defined(_WIN32) && defined(FOVEA_SHARED)
#if defined(FOVEA_BUILDING)
#define FOVEA_API __declspec(dllexport)
#else
#define FOVEA_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define FOVEA_API __attribute__((visibility("default")))
#else
#define FOVEA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status -------------------------------------------------------------------------------------------------- */

/* What a call returns, for a caller to branch on. fovea_error says which argument or field is meant, and why. If a
 * call does not return FOVEA_OK, it has written nothing to the outputs. */
typedef enum fovea_status {
  FOVEA_OK = 0,
  /* An argument, a field, or what it points to is missing, out of range, or does not fit the others. */
  FOVEA_ERROR_ARGUMENT = 1,
  /* Something is set that would not be used: another setting is missing, or excludes it. */
  FOVEA_ERROR_UNUSED = 2,
  /* This build or this CPU does not have what is asked for. Another instruction set or another build may. */
  FOVEA_ERROR_UNSUPPORTED = 3,
  /* The caller's memory is too small or not aligned to FOVEA_SCRATCH_ALIGNMENT: scratch, memory for a plan, a run
   * or a stream, an array of segments, a table of pages. The call succeeds with more. */
  FOVEA_ERROR_SPACE = 4,
  /* An allocation failed, or a pool has too few free pages. */
  FOVEA_ERROR_MEMORY = 5
} fovea_status;

/* Returns a short constant text for a status, never NULL. */
FOVEA_API const char *fovea_status_text(fovea_status status);

/* The caller's buffer for what is wrong. It is written only if the call fails. Every function that takes such a
 * buffer accepts NULL. The text is one line that begins with the name of the argument or field, and gives its
 * value, the limit and what to do. `field` has that name alone, as C would write it: "q", "kv_lens[3]",
 * "mask.strides.row", "cache.sequences[0].segments". It is empty if no argument or field is wrong: an allocation
 * failed, or the CPU or the system lacks something. If two fields do not fit each other, it names one of them.
 * Names that are too long are cut off. */
typedef struct fovea_error {
  fovea_status status; /* what the call returned */
  char field[60];      /* ends with a zero */
  char text[252];      /* ends with a zero */
} fovea_error;

/* ---- Tensors ------------------------------------------------------------------------------------------------- */

/* Distances in elements between neighbours along batch, head and row. These axes may have any order; the last axis
 * (the dimension) is always contiguous. 0 repeats an input along that axis. Strides may be negative: the tensor's
 * pointer always names the element with all indices 0. No two elements of an output may share memory. */
typedef struct fovea_strides {
  int64_t batch, head, row;
} fovea_strides;

/* As a stride: the stride of that axis in a contiguous tensor of the stated shape, for the sizes that the struct
 * has when it is used. Initialisers set it, so sizes may be changed after them, and an axis may keep it while
 * another one is set. Every other number is a stride, 0 as well. */
#define FOVEA_CONTIGUOUS INT64_MIN

/* As a number: the stated default, for the sizes that the struct has when it is used. Initialisers set it. Do not
 * compute with it: a multiple of it is refused. Set 1 / sqrt(qk_dim) times a factor instead, or call
 * fovea_problem_resolve() first. */
#define FOVEA_DEFAULT_NUMBER 1.7976931348623157e308

/* How the elements of a tensor are stored. All arithmetic is f32. Elements of f16 (IEEE binary16) and bf16 are
 * converted exactly, and give the same bits as f32 elements of the same value. Results are rounded once, to
 * nearest even, and keep their subnormals. */
typedef enum fovea_type { FOVEA_F32 = 0, FOVEA_F16 = 1, FOVEA_BF16 = 2 } fovea_type;

/* Indices begin to end - 1 of some axis; FOVEA_UNLIMITED as `end` is the end of the axis. */
typedef struct fovea_range {
  int64_t begin, end;
} fovea_range;

/* As one side of a window or chunk rule, or as the end of a range: no limit on that side. */
#define FOVEA_UNLIMITED ((int64_t)-1)

#ifdef __cplusplus
}
#endif

#endif
