/* fovea cache: keys or values from an .npy file to the bytes of a quantised cache, and back. */
#include "cache_codes.h"
#include "cache_files.h"
#include "cache_list.h"
#include "commands.h"
#include "convert.h"
#include "inputs.h"
#include "options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: fovea cache --to FORMAT IN.npy OUT.bin [OPTIONS]\n"
    "       fovea cache --from FORMAT --shape H,R,D IN.bin OUT.npy [OPTIONS]\n"
    "       fovea cache --list\n"
    "\n"
    "Quantises keys or values to the bytes of a cache in 8 bits or less, prints what that cost, and dequantises\n"
    "such bytes.\n"
    ".npy files hold float32, float16, or bfloat16 as uint16, in C order, shaped (batch, kv_heads, rows, dim),\n"
    "(kv_heads, rows, dim) or (rows, dim). OUT.bin has the rows of the format without gaps, head by head, batch\n"
    "element by batch element. Where keys share scales or words, the last group of a head is filled up with "
    "zeros.\n"
    "\n"
    "  --to FORMAT            the format that is written\n"
    "  --from FORMAT          the format that is read\n"
    "  --list                 all formats: bits of an element, and bytes of a row of 128, with their scales; "
    "where\n"
    "                         scales lie; the number x of an element, rounded to f32 after each step\n"
    "  --shape a,b,..         with --from: the shape of OUT.npy\n"
    "  --type TYPE            with --from: OUT.npy as f32 (default), f16 or bf16\n"
    "  --scales PATH          an .npy file of scales, if they lie apart, in their type: (batch, kv_heads, groups "
    "of\n"
    "                         keys, groups of dims). --to writes it, --from reads it. Scales that all keys share "
    "are\n"
    "                         one number, or (kv_heads, dim), and --to makes them of the largest magnitude\n"
    "  --zeros PATH           the same for zeros or minima that lie apart\n"
    "  --scale X              in place of --scales, if all keys share scales: each is X\n"
    "\n"
    "The error of elements is given as a part of the root mean square of their row: its root mean square, and the\n"
    "largest. No output may go to a file that is read. On failure no output file is written, and files that "
    "existed\n"
    "before stay as they were.\n";

typedef struct cache_options {
  const char *to, *from, *in, *out, *scales, *zeros;
  bool list;
  number_list shape;
  type_name type;
  real_number scale;
} cache_options;

static const option known[] = {
    {"IN", OPTION_TEXT, offsetof(cache_options, in), 0, "a path"},
    {"OUT", OPTION_TEXT, offsetof(cache_options, out), 0, "a path"},
    {"--to", OPTION_TEXT, offsetof(cache_options, to), 0, "a format"},
    {"--from", OPTION_TEXT, offsetof(cache_options, from), 0, "a format"},
    {"--list", OPTION_FLAG, offsetof(cache_options, list), 0, ""},
    {"--shape", OPTION_LIST, offsetof(cache_options, shape), 0, "numbers a,b,.."},
    {"--type", OPTION_TYPE, offsetof(cache_options, type), 0, "f32, f16 or bf16"},
    {"--scales", OPTION_TEXT, offsetof(cache_options, scales), 0, "a path"},
    {"--zeros", OPTION_TEXT, offsetof(cache_options, zeros), 0, "a path"},
    {"--scale", OPTION_NUMBER, offsetof(cache_options, scale), 0, "a number"},
};

static const option_table table = {"cache", known, sizeof known / sizeof known[0], NULL, 0};

enum { CODES_FILE, SCALES_FILE, ZEROS_FILE, FILES };

typedef struct cache_job {
  cache_options options;
  npy_array numbers;
  coded_tensor tensor;
  float *wide, *read; /* the numbers in f32, before and after */
  output_file outputs[FILES];
} cache_job;

static bool check_paths(const cache_options *options, failure *why) {
  const char *const paths[] = {options->in, options->out, options->scales, options->zeros};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++)
      if (paths[i] && paths[j] && strcmp(paths[i], paths[j]) == 0)
        return fail(why, "two files have the same name '%s'", paths[i]);
  return true;
}

static bool check_options(const cache_options *options, failure *why) {
  if (options->list) {
    const bool more = options->to || options->from || options->in || options->scales || options->zeros ||
                      options->shape.count > 0 || options->type.given || options->scale.given;
    return !more || fail(why, "--list takes no other option");
  }
  if (!options->to == !options->from)
    return fail(why, "one of --to, --from and --list is needed (see fovea cache --help)");
  if (!options->in || !options->out) return fail(why, "two files are needed: what is read, and what is written");
  if (options->to && options->shape.count > 0)
    return fail(why, "--shape is for --from; with --to, IN.npy has a shape");
  if (options->to && options->type.given) return fail(why, "--type is for --from; with --to, IN.npy has a type");
  if (options->from && options->shape.count == 0) return fail(why, "--from needs --shape");
  if (options->scale.given &&
      !(options->scale.value > 0 && isfinite((float)options->scale.value) && (float)options->scale.value > 0))
    return fail(why, "--scale is %g; a positive finite number is needed", options->scale.value);
  return check_paths(options, why);
}

/* Scales that lie apart need files, and others take none. */
static bool check_scales(const cache_options *options, const fovea_format *format, failure *why) {
  const char *name = options->to ? options->to : options->from;
  const bool apart = format->place == FOVEA_SCALES_APART, fixed = coded_with_fixed_scales(format);
  const bool zeros = apart && format->formula != FOVEA_FORMULA_SCALE;
  if (options->scale.given && !fixed) return fail(why, "--scale: %s computes its scales", name);
  if (options->scale.given && options->scales) return fail(why, "--scale stands in place of --scales");
  if (apart && !options->scales && !options->scale.given)
    return fail(why, "%s has its scales apart: --scales%s is needed", name, fixed ? " or --scale" : "");
  if (!apart && options->scales) return fail(why, "--scales: %s has its scales beside the codes", name);
  if (zeros && !options->zeros) return fail(why, "%s has its minima apart: --zeros is needed", name);
  if (!zeros && options->zeros) return fail(why, "--zeros: %s has none apart", name);
  return true;
}

static bool set_shape(tensor_shape *shape, const char *what, int64_t rank, const int64_t *axes, failure *why) {
  if (rank < 2 || rank > 4)
    return fail(why, "%s: has %" PRId64 " axes; 2 to 4 are needed, the last two are rows and dim", what, rank);
  int64_t all[4] = {1, 1, 1, 1};
  for (int64_t i = 0; i < rank; i++) {
    all[4 - rank + i] = axes[i];
    if (axes[i] < (i == rank - 2 ? 0 : 1) || axes[i] > INT64_C(1) << 47)
      return fail(why, "%s: axis %" PRId64 " is %" PRId64 "; at least %d is needed, and at most 2^47", what, i,
                  axes[i], i == rank - 2 ? 0 : 1);
  }
  *shape = (tensor_shape){all[0], all[1], all[2], all[3]};
  return true;
}

static bool allocate_wide(float **numbers, int64_t count, failure *why) {
  *numbers = malloc((size_t)count * sizeof **numbers + 1);
  return *numbers || fail(why, "out of memory for %" PRId64 " numbers", count);
}

static int64_t count_of(const tensor_shape *shape) {
  return shape->batch * shape->kv_heads * shape->rows * shape->dim;
}

static fovea_type type_of(npy_type type) {
  return type == NPY_F32 ? FOVEA_F32 : type == NPY_F16 ? FOVEA_F16 : FOVEA_BF16;
}

static void report(const cache_job *job) {
  const coded_tensor *tensor = &job->tensor;
  const tensor_shape *shape = &tensor->shape;
  const int64_t numbers = count_of(shape);
  const size_t scales =
      (size_t)tensor->scale_count * type_size(tensor->format.scale_type) * (tensor->zeros ? 2 : 1);
  const coding_error error = coded_compare(tensor, job->wide, job->read);
  printf("%s: %" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 " numbers, %.4g bits each\n", job->options.to,
         shape->batch, shape->kv_heads, shape->rows, shape->dim,
         numbers > 0 ? 8.0 * ((double)tensor->size + (double)scales) / (double)numbers : 0);
  printf("codes: %" PRId64 " bytes, %" PRId64 " for each %s of %" PRId64, tensor->size, tensor->unit_bytes,
         tensor->unit_keys > 1 ? "group" : "row", tensor->unit_keys > 1 ? tensor->unit_keys : shape->dim);
  printf("%s; scales apart: %zu bytes\n", tensor->unit_keys > 1 ? " keys" : "", scales);
  printf("error, of a row's rms: rms %.3g, largest %.3g\n", error.rms, error.largest);
  if (error.left_out > 0) printf("%" PRId64 " rows do not count in it: all zero, or not finite\n", error.left_out);
}

static bool write_codes(cache_job *job, failure *why) {
  const coded_tensor *tensor = &job->tensor;
  const cache_options *options = &job->options;
  output_file *codes = &job->outputs[CODES_FILE], *scales = &job->outputs[SCALES_FILE];
  output_file *zeros = &job->outputs[ZEROS_FILE];
  return output_open(codes, options->out, why) && (!options->scales || output_open(scales, options->scales, why)) &&
         (!options->zeros || output_open(zeros, options->zeros, why)) &&
         raw_write(codes, tensor->codes, tensor->size, why) &&
         (!options->scales || scales_write(scales, tensor, tensor->scales, why)) &&
         (!options->zeros || scales_write(zeros, tensor, tensor->zeros, why)) &&
         outputs_commit(job->outputs, FILES, why);
}

static bool narrow(cache_job *job, failure *why) {
  const cache_options *options = &job->options;
  coded_tensor *tensor = &job->tensor;
  const unsigned types = NPY_SET(NPY_F32) | NPY_SET(NPY_F16) | NPY_SET(NPY_U16);
  if (!coded_format(&tensor->format, "--to", options->to, why) || !check_scales(options, &tensor->format, why) ||
      !input_load(options->in, types, &job->numbers, why) ||
      !set_shape(&tensor->shape, options->in, job->numbers.rank, job->numbers.shape, why) ||
      !coded_measure(tensor, options->in, why) || !coded_allocate(tensor, why) ||
      !allocate_wide(&job->wide, job->numbers.count, why) || !allocate_wide(&job->read, job->numbers.count, why))
    return false;
  const fovea_type type = type_of(job->numbers.type);
  convert_numbers(job->wide, FOVEA_F32, job->numbers.data, type, job->numbers.count);
  if (coded_with_fixed_scales(&tensor->format)) coded_fix_scales(tensor, job->wide, (float)options->scale.value);
  if (!coded_write(tensor, job->numbers.data, type, why) || !coded_read(tensor, job->read, FOVEA_F32, why) ||
      !write_codes(job, why))
    return false;
  report(job);
  return true;
}

static bool read_codes(cache_job *job, failure *why) {
  const cache_options *options = &job->options;
  coded_tensor *tensor = &job->tensor;
  if (options->scale.given) coded_fix_scales(tensor, NULL, (float)options->scale.value);
  return raw_read(options->in, tensor->codes, tensor->size, why) &&
         (!options->scales || scales_read(options->scales, tensor, tensor->scales, why)) &&
         (!options->zeros || scales_read(options->zeros, tensor, tensor->zeros, why));
}

static bool widen(cache_job *job, failure *why) {
  static const npy_type types[] = {[FOVEA_F32] = NPY_F32, [FOVEA_F16] = NPY_F16, [FOVEA_BF16] = NPY_U16};
  const cache_options *options = &job->options;
  const fovea_type type = options->type.type;
  coded_tensor *tensor = &job->tensor;
  output_file *output = &job->outputs[CODES_FILE];
  return coded_format(&tensor->format, "--from", options->from, why) &&
         check_scales(options, &tensor->format, why) &&
         set_shape(&tensor->shape, "--shape", options->shape.count, options->shape.numbers, why) &&
         coded_measure(tensor, "--shape", why) && coded_allocate(tensor, why) && read_codes(job, why) &&
         allocate_wide(&job->wide, count_of(&tensor->shape), why) && coded_read(tensor, job->wide, type, why) &&
         output_open(output, options->out, why) &&
         output_write(output, types[type], (int)options->shape.count, options->shape.numbers, job->wide, why) &&
         outputs_commit(job->outputs, FILES, why);
}

static bool run(cache_job *job, failure *why) {
  if (!check_options(&job->options, why)) return false;
  if (!job->options.list) return job->options.to ? narrow(job, why) : widen(job, why);
  cache_list();
  return true;
}

bool cache_command(int argument_count, char **arguments, failure *why) {
  cache_job job = {.wide = NULL};
  bool done = true;
  if (options_ask_help(argument_count, arguments))
    fputs(help, stdout);
  else
    done = options_parse(&table, &job.options, argument_count, arguments, why) && run(&job, why);
  for (int i = 0; i < FILES; i++) output_discard(&job.outputs[i]);
  coded_free(&job.tensor);
  free(job.wide);
  free(job.read);
  npy_free(&job.numbers);
  options_free(&table, &job.options);
  return done;
}
