#include "cache_files.h"

#include "convert.h"
#include "inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

bool raw_read(const char *path, char *bytes, int64_t size, failure *why) {
  FILE *stream = input_open(path, why);
  if (!stream) return false;
  errno = 0;
  const size_t got = fread(bytes, 1, (size_t)size, stream);
  bool done = true;
  if (ferror(stream))
    done = fail(why, "%s: cannot read: %s", path, strerror(errno));
  else if ((int64_t)got < size)
    done =
        fail(why, "%s: ends after %zu of the %" PRId64 " bytes that --shape and the format need", path, got, size);
  else if (fgetc(stream) != EOF)
    done = fail(why, "%s: goes on after the %" PRId64 " bytes that --shape and the format need", path, size);
  fclose(stream);
  return done;
}

/* The shape of scales in their file; returns how many axes it has. */
static int scales_shape(const coded_tensor *tensor, int64_t *axes) {
  if (!coded_with_fixed_scales(&tensor->format)) {
    const int64_t all[] = {tensor->shape.batch, tensor->shape.kv_heads, tensor->key_groups, tensor->groups};
    memcpy(axes, all, sizeof all);
    return 4;
  }
  axes[0] = tensor->groups == 1 ? 1 : tensor->shape.kv_heads;
  axes[1] = tensor->groups;
  return tensor->groups == 1 ? 1 : 2;
}

static npy_type npy_of(fovea_type type) {
  return type == FOVEA_F32 ? NPY_F32 : type == FOVEA_F16 ? NPY_F16 : NPY_U16;
}

bool scales_read(const char *path, const coded_tensor *tensor, char *scales, failure *why) {
  npy_array array;
  if (!input_load(path, NPY_SET(npy_of(tensor->format.scale_type)), &array, why)) return false;
  int64_t axes[4];
  const int rank = scales_shape(tensor, axes);
  bool same = array.rank == rank || (array.count == 1 && tensor->scale_count == 1);
  for (int i = 0; i < rank && same && array.count != 1; i++) same = array.shape[i] == axes[i];
  if (same && array.count == tensor->scale_count) {
    memcpy(scales, array.data, (size_t)array.count * npy_type_size(array.type));
  } else {
    char text[96] = "";
    for (int i = 0; i < rank; i++)
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%" PRId64, i ? ", " : "", axes[i]);
    same = fail(why, "%s: has %" PRId64 " numbers in %d axes; the shape (%s) is needed", path, array.count,
                array.rank, text);
  }
  npy_free(&array);
  return same;
}

bool raw_write(output_file *output, const char *bytes, int64_t size, failure *why) {
  errno = 0;
  return output_close(output, fwrite(bytes, 1, (size_t)size, output->stream) == (size_t)size, why);
}

bool scales_write(output_file *output, const coded_tensor *tensor, const char *scales, failure *why) {
  int64_t axes[4];
  const int rank = scales_shape(tensor, axes);
  return output_write(output, npy_of(tensor->format.scale_type), rank, axes, scales, why);
}
