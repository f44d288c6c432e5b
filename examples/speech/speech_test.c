/* A tone that the test makes: read, as frames, and streamed on every instruction set with one digest. Malformed
 * files and options are refused. */
#include "listen.h"
#include "mel.h"
#include "options.h"
#include "support/check.h"
#include "support/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000, SAMPLES = 12000, HEAD = 44, ROOM = HEAD + 2 * SAMPLES };

static const char path[] = "speech_test.wav", other[] = "speech_test_other.wav";
static unsigned char sound[ROOM];

static void put(unsigned char *at, uint32_t number, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(number >> (8 * i));
}

static void put_name(unsigned char *at, const char *name) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)name[i];
}

static void write_file(const char *name, const unsigned char *bytes, size_t size) {
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* A tone of 1000 Hz that grows louder. */
static int make_sound(void **state) {
  (void)state;
  put_name(sound, "RIFF");
  put_name(sound + 8, "WAVE");
  put_name(sound + 12, "fmt ");
  put(sound + 4, ROOM - 8, 4);
  put(sound + 16, 16, 4);
  put(sound + 20, 1, 2);
  put(sound + 22, 1, 2);
  put(sound + 24, RATE, 4);
  put(sound + 28, 2 * RATE, 4);
  put(sound + 32, 2, 2);
  put(sound + 34, 16, 2);
  put_name(sound + 36, "data");
  put(sound + 40, 2 * SAMPLES, 4);
  for (int i = 0; i < SAMPLES; i++) {
    const double sample = sin(6.283185307179586 * 1000 * i / RATE) * i * (32767.0 / SAMPLES);
    put(sound + HEAD + 2 * i, (uint32_t)(int32_t)lrint(sample), 2);
  }
  write_file(path, sound, ROOM);
  return 0;
}

static void test_read(void **state) {
  (void)state;
  struct wav wav;
  struct failure failure = {""};
  if (!wav_read(&wav, path, &failure)) fail_msg("%s", failure.text);
  assert_int_equal(wav.rate, RATE);
  assert_int_equal(wav.count, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    const int bits = sound[HEAD + 2 * i] | sound[HEAD + 2 * i + 1] << 8;
    assert_true(wav.samples[i] == (float)(bits >= 32768 ? bits - 65536 : bits) / 32768);
  }
  wav_free(&wav);
}

/* Two channels, another chunk of odd size before the data, and a chunk after it. */
static void test_read_chunks(void **state) {
  (void)state;
  static const unsigned char samples[8] = {1, 0, 2, 0, 0, 0x80, 0xff, 0xff};
  unsigned char bytes[74] = {0};
  struct wav wav;
  struct failure failure = {""};
  memcpy(bytes, sound, 36);
  put(bytes + 22, 2, 2);
  put(bytes + 32, 4, 2);
  put_name(bytes + 36, "LIST");
  put(bytes + 40, 3, 4);
  put_name(bytes + 48, "data");
  put(bytes + 52, sizeof samples, 4);
  memcpy(bytes + 56, samples, sizeof samples);
  put_name(bytes + 64, "id3 ");
  put(bytes + 68, 2, 4);
  write_file(other, bytes, sizeof bytes);
  if (!wav_read(&wav, other, &failure)) fail_msg("%s", failure.text);
  assert_int_equal(wav.count, 2);
  assert_true(wav.samples[0] == 0x1p-15f);
  assert_true(wav.samples[1] == -1);
  wav_free(&wav);
}

#define REFUSED(change, size, word)                                                                                \
  do {                                                                                                             \
    static unsigned char bytes[ROOM];                                                                              \
    struct wav wav;                                                                                                \
    struct failure failure = {""};                                                                                 \
    memcpy(bytes, sound, ROOM);                                                                                    \
    change;                                                                                                        \
    write_file(other, bytes, size);                                                                                \
    assert_false(wav_read(&wav, other, &failure));                                                                 \
    assert_null(wav.samples);                                                                                      \
    if (!strstr(failure.text, word)) fail_msg("'%s' does not say '%s'", failure.text, word);                       \
  } while (0)

static void test_malformed(void **state) {
  (void)state;
  struct wav wav;
  struct failure failure = {""};
  assert_false(wav_read(&wav, "no_such_file.wav", &failure));
  REFUSED((void)0, 0, "RIFF");
  REFUSED((void)0, 11, "RIFF");
  REFUSED((void)0, 12, "without a data chunk");
  REFUSED((void)0, 30, "a chunk says");
  REFUSED((void)0, 36, "without a data chunk");
  REFUSED((void)0, ROOM - 1, "a chunk says");
  REFUSED(bytes[0] = 'X', ROOM, "RIFF");
  REFUSED(bytes[8] = 'X', ROOM, "WAVE");
  REFUSED(bytes[12] = 'X', ROOM, "no fmt chunk");
  REFUSED(put(bytes + 16, 0xffffffff, 4), ROOM, "a chunk says");
  REFUSED((put(bytes + 16, 2, 4), memcpy(bytes + 22, sound + 36, 8)), ROOM, "too short");
  REFUSED(bytes[20] = 3, ROOM, "format 3");
  REFUSED(bytes[34] = 8, ROOM, "8 bits");
  REFUSED(bytes[22] = 0, ROOM, "0 channels");
  REFUSED(bytes[22] = 17, ROOM, "17 channels");
  REFUSED(bytes[32] = 4, ROOM, "4 bytes");
  REFUSED(put(bytes + 24, 7999, 4), ROOM, "7999");
  REFUSED(put(bytes + 24, 0xffffffff, 4), ROOM, "4294967295");
  REFUSED(put(bytes + 40, 2 * SAMPLES - 1, 4), ROOM, "within a sample");
}

/* Any change of the head is read or refused, and nothing is read beyond the file. */
static void test_changed(void **state) {
  (void)state;
  for (int i = 0; i < HEAD; i++) {
    for (int change = 1; change < 256; change = 2 * change + 1) {
      unsigned char bytes[HEAD + 20];
      struct wav wav;
      struct failure failure = {""};
      memcpy(bytes, sound, sizeof bytes);
      put(bytes + 40, 20, 4);
      bytes[i] = (unsigned char)(bytes[i] ^ change);
      write_file(other, bytes, sizeof bytes);
      if (wav_read(&wav, other, &failure)) wav_free(&wav);
    }
  }
}

/* The band of a tone has the most energy; a frame is the discrete Fourier transform's. */
static void test_frames(void **state) {
  (void)state;
  struct wav wav;
  struct mel mel;
  struct failure failure = {""};
  float bands[MEL_BANDS];
  assert_true(wav_read(&wav, path, &failure));
  assert_true(mel_create(&mel, RATE, &failure));
  assert_int_equal(mel_frames(&mel, 399), 0);
  assert_int_equal(mel_frames(&mel, 400), 1);
  assert_int_equal(mel_frames(&mel, 559), 1);
  assert_int_equal(mel_frames(&mel, 560), 2);
  mel_frame(&mel, wav.samples, 40, bands);
  int best = 0;
  for (int i = 1; i < MEL_BANDS; i++) best = bands[i] > bands[best] ? i : best;
  assert_true(mel.edges[best] < 32 && mel.edges[best + 2] > 32); /* 1000 Hz is line 32 of 512 */
  for (int line = 0; line < 512; line += 31) {
    double re = 0, im = 0;
    for (int i = 0; i < 400; i++) {
      const double sample = (double)wav.samples[40 * 160 + i] * mel.hann[i];
      re += sample * cos(6.283185307179586 * line * i / 512);
      im -= sample * sin(6.283185307179586 * line * i / 512);
    }
    assert_true(fabs(re - mel.re[line]) < 1e-10 && fabs(im - mel.im[line]) < 1e-10);
  }
  mel_free(&mel);
  assert_true(mel_create(&mel, 22050, &failure)); /* a hop of 220.5 samples */
  assert_int_equal(mel_frames(&mel, 551 + 220), 2);
  assert_int_equal(mel_frames(&mel, 551 + 440), 2);
  assert_int_equal(mel_frames(&mel, 551 + 441), 3);
  mel_free(&mel);
  wav_free(&wav);
}

static uint64_t digest_of(const struct wav *wav, int64_t chunk, int threads, const char *isa) {
  struct model model;
  struct heard heard;
  struct failure failure = {""};
  if (!model_create(&model, 2, 20, 3, isa, &failure)) fail_msg("%s", failure.text);
  if (!listen(&model, wav, chunk, threads, &heard, &failure)) fail_msg("%s", failure.text);
  assert_true(heard.equal);
  const uint64_t digest = heard_digest(&heard);
  heard_free(&heard);
  model_free(&model);
  return digest;
}

static void test_one_digest(void **state) {
  (void)state;
  struct wav wav;
  struct failure failure = {""};
  assert_true(wav_read(&wav, path, &failure));
  const uint64_t digest = digest_of(&wav, 16, 1, NULL);
  assert_true(digest_of(&wav, 1, 1, NULL) == digest);
  assert_true(digest_of(&wav, 5, 3, NULL) == digest);
  assert_true(digest_of(&wav, 1000, 2, NULL) == digest);
  for (const char *const *isa = whole_isas(); *isa; isa++) {
    assert_true(digest_of(&wav, 16, 1, *isa) == digest);
  }
  wav.samples[6000] += 0x1p-15f;
  assert_true(digest_of(&wav, 16, 1, NULL) != digest);
  wav_free(&wav);
}

static void assert_option(const char *first, const char *second, const char *third, const char *word) {
  char words[4][64] = {"fovea_speech"};
  char *arguments[4] = {words[0], words[1], words[2], words[3]};
  const char *given[] = {first, second, third};
  struct options options;
  struct failure failure = {""};
  int count = 1;
  for (int i = 0; i < 3 && given[i]; i++) snprintf(words[count++], sizeof words[0], "%s", given[i]);
  assert_int_equal(options_read(&options, count, arguments, &failure), word == NULL);
  if (word && !strstr(failure.text, word)) fail_msg("'%s' does not say '%s'", failure.text, word);
}

static void test_options(void **state) {
  (void)state;
  assert_option("--help", NULL, NULL, NULL);
  assert_option("a.wav", "--chunk", "1", NULL);
  assert_option(NULL, NULL, NULL, "needs a FILE");
  assert_option("a.wav", "b.wav", NULL, "one word too many");
  assert_option("a.wav", "--left", NULL, "wants something");
  assert_option("a.wav", "--left", "-1", "--left is '-1'");
  assert_option("a.wav", "--right", "2x", "--right is '2x'");
  assert_option("a.wav", "--chunk", "0", "from 1");
  assert_option("a.wav", "--layers", "25", "to 24");
  assert_option("a.wav", "--threads", "", "--threads");
  assert_option("a.wav", "--speed", "1", "no option --speed");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_read),    cmocka_unit_test(test_read_chunks), cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_changed), cmocka_unit_test(test_frames),      cmocka_unit_test(test_one_digest),
      cmocka_unit_test(test_options),
  };
  const int failed = cmocka_run_group_tests(tests, make_sound, NULL);
  remove(other);
  return failed;
}
