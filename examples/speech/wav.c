#include "wav.h"

#include "../stories/file.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_RATE = 8000, MOST_RATE = 192000, MOST_CHANNELS = 16, FORMAT_SIZE = 16, PCM = 1, EXTENSIBLE = 0xfffe };

/* What is left of a file. */
struct reader {
  const unsigned char *bytes;
  size_t size;
};

struct format {
  int64_t channels, rate;
};

static uint32_t number_at(const unsigned char *bytes, int size) {
  uint32_t number = 0;
  for (int i = 0; i < size; i++) number |= (uint32_t)bytes[i] << (8 * i);
  return number;
}

static bool has_name(const unsigned char *bytes, const char *name) {
  return memcmp(bytes, name, 4) == 0;
}

/* Takes the next chunk with its 8 bytes of name and size; a chunk of odd size has one more byte after it. */
static bool next_chunk(struct reader *file, const unsigned char **name, struct reader *chunk, const char *path,
                       struct failure *failure) {
  if (file->size < 8) return refuse(failure, "%s ends without a data chunk, or within the head of a chunk", path);
  const size_t size = number_at(file->bytes + 4, 4);
  *name = file->bytes;
  *chunk = (struct reader){file->bytes + 8, size};
  if (size > file->size - 8)
    return refuse(failure, "%s: a chunk says that it has %llu bytes; the file has %llu more", path,
                  (unsigned long long)size, (unsigned long long)(file->size - 8));
  size_t all = 8 + size;
  if (size % 2 == 1 && all < file->size) all++;
  file->bytes += all;
  file->size -= all;
  return true;
}

static bool read_format(const struct reader *chunk, struct format *format, const char *path,
                        struct failure *failure) {
  const unsigned char *b = chunk->bytes;
  if (chunk->size < FORMAT_SIZE) return refuse(failure, "%s: its fmt chunk is too short", path);
  const uint32_t tag = number_at(b, 2), bits = number_at(b + 14, 2), align = number_at(b + 12, 2);
  /* The true tag of the extensible format is the begin of its GUID. */
  const bool is_pcm = tag == PCM || (tag == EXTENSIBLE && chunk->size >= 40 && number_at(b + 24, 2) == PCM);
  *format = (struct format){number_at(b + 2, 2), number_at(b + 4, 4)};
  if (!is_pcm || bits != 16)
    return refuse(failure, "%s has format %u with %u bits; it must be PCM (1) with 16 bits", path, (unsigned)tag,
                  (unsigned)bits);
  if (format->channels < 1 || format->channels > MOST_CHANNELS || align != 2 * (uint32_t)format->channels)
    return refuse(failure, "%s has %d channels in %u bytes; it must be 1 to %d channels of 2 bytes each", path,
                  (int)format->channels, (unsigned)align, MOST_CHANNELS);
  return (format->rate >= LEAST_RATE && format->rate <= MOST_RATE) ||
         refuse(failure, "%s has %lld samples a second; it must be %d to %d", path, (long long)format->rate,
                LEAST_RATE, MOST_RATE);
}

static bool read_samples(const struct reader *chunk, const struct format *format, struct wav *wav, const char *path,
                         struct failure *failure) {
  const size_t step = 2 * (size_t)format->channels;
  if (chunk->size % step != 0) return refuse(failure, "%s ends within a sample", path);
  wav->rate = format->rate;
  wav->count = (int64_t)(chunk->size / step);
  wav->samples = malloc(((size_t)wav->count + 1) * sizeof *wav->samples);
  if (!wav->samples) return refuse(failure, "no memory for %lld samples", (long long)wav->count);
  for (int64_t i = 0; i < wav->count; i++) {
    const int32_t sample = (int32_t)number_at(chunk->bytes + (size_t)i * step, 2);
    wav->samples[i] = (float)(sample >= 0x8000 ? sample - 0x10000 : sample) / 0x8000;
  }
  return true;
}

static bool read_chunks(struct reader file, struct wav *wav, const char *path, struct failure *failure) {
  struct format format = {0, 0};
  struct reader chunk = {NULL, 0};
  const unsigned char *name = file.bytes;
  if (file.size < 12 || !has_name(file.bytes, "RIFF") || !has_name(file.bytes + 8, "WAVE"))
    return refuse(failure, "%s is no WAV file: it does not begin with RIFF and WAVE", path);
  file.bytes += 12;
  file.size -= 12;
  for (;;) {
    if (!next_chunk(&file, &name, &chunk, path, failure)) return false;
    if (has_name(name, "fmt ") && !read_format(&chunk, &format, path, failure)) return false;
    if (!has_name(name, "data")) continue;
    if (format.channels == 0) return refuse(failure, "%s has no fmt chunk before its data", path);
    return read_samples(&chunk, &format, wav, path, failure);
  }
}

bool wav_read(struct wav *wav, const char *path, struct failure *failure) {
  struct file file;
  *wav = (struct wav){0, 0, NULL};
  if (!file_read(&file, path, failure)) return false;
  const struct reader all = {(const unsigned char *)file.bytes, file.size};
  const bool done = read_chunks(all, wav, path, failure);
  file_free(&file);
  return done;
}

void wav_free(struct wav *wav) {
  free(wav->samples);
  *wav = (struct wav){0, 0, NULL};
}
