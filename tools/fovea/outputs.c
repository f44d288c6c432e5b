#include "outputs.h"

#include "inputs.h"
#include "system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool output_open(output_file *output, const char *path, failure *why) {
  /* The target of a link is replaced, so the link stays. */
  output->target = system_resolve(path);
  if (!output->target) return fail(why, "out of memory");
  system_file kind = system_file_kind(output->target);
  if (kind == SYSTEM_FILE_DIRECTORY) return fail(why, "%s: cannot write: it is a directory", path);
  if (input_has(output->target)) return fail(why, "%s: cannot write: the command reads this file, too", path);
  if (kind == SYSTEM_FILE_OTHER) {
    output->stream = fopen(output->target, "wb");
  } else {
    output->temporary = system_temporary_name(output->target);
    if (!output->temporary) return fail(why, "out of memory");
    output->stream = system_create(output->temporary);
  }
  if (output->stream) return true;

  int reason = errno;
  free(output->temporary); /* not created here, so not removed */
  output->temporary = NULL;
  return fail(why, "%s: cannot write: %s", path, strerror(reason));
}

bool output_close(output_file *output, bool written, failure *why) {
  int reason = errno;
  if (fclose(output->stream) != 0 && written) {
    written = false;
    reason = errno;
  }
  output->stream = NULL;
  return written || fail(why, "%s: cannot write: %s", output->target, strerror(reason));
}

bool output_write(output_file *output, npy_type type, int rank, const int64_t *shape, const void *data,
                  failure *why) {
  return output_close(output, npy_write(output->stream, type, rank, shape, data), why);
}

bool outputs_commit(output_file *outputs, int count, failure *why) {
  for (int i = 0; i < count; i++) {
    output_file *output = &outputs[i];
    if (!output->temporary) continue;
    if (system_rename(output->temporary, output->target) != 0) {
      fail(why, "%s: cannot write: %s", output->target, strerror(errno));
      for (int done = 0; done < i; done++) /* all or none */
        if (outputs[done].committed) remove(outputs[done].target);
      return false;
    }
    free(output->temporary);
    output->temporary = NULL;
    output->committed = true;
  }
  return true;
}

void output_discard(output_file *output) {
  if (output->stream) fclose(output->stream);
  if (output->temporary) remove(output->temporary);
  free(output->temporary);
  free(output->target);
  *output = (output_file){.target = NULL};
}
