/* Streams a spoken sentence through truncated self-attention.
 *
 *   fovea_speech FILE.wav
 *
 * README.md says how to make a file, and what the lines mean. */
#include "../sentence/output.h"
#include "listen.h"
#include "mel.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

static void report(const struct options *options, const struct wav *wav, const struct heard *heard) {
  const double frame = 1000.0 / MEL_FRAMES_A_SECOND, sound = (double)wav->count / (double)wav->rate;
  const double *seconds = heard->seconds;
  fovea_library_info info;
  fovea_library_info_init(&info);
  if (fovea_info(&info) == FOVEA_OK)
    printf("Fovea %s on %s, %s, threads: %d\n", info.version, info.cpu, options->isa ? options->isa : info.isa,
           options->threads ? (int)options->threads : info.threads);
  printf("%s: %.2f s, %lld frames of %d bands\n", options->file, sound, (long long)heard->frames, MEL_BANDS);
  printf("encoder         %d layers of %d dims, untrained; window %lld left, %lld right\n", (int)options->layers,
         MODEL_DIM, (long long)options->left, (long long)options->right);
  printf("delay           %.0f ms by the window, and up to %.0f ms until a chunk of %lld frames is full\n",
         (double)(options->layers * options->right) * frame, (double)options->chunk * frame,
         (long long)options->chunk);
  printf("latency         %.3f ms a chunk (median of %lld), %.3f ms the worst\n", 1000 * seconds[heard->chunks / 2],
         (long long)heard->chunks, 1000 * seconds[heard->chunks - 1]);
  printf("real-time       %.4f s for each second of sound, of which %.4f s are CPU time\n", heard->all / sound,
         heard->cpu / sound);
  printf("memory          %.1f KB of stream, %.1f KB of scratch, for any length\n",
         (double)heard->stream_bytes / 1024, (double)heard->scratch_bytes / 1024);
  printf("digest          %016llx; the bits of the whole at once: %s\n", (unsigned long long)heard_digest(heard),
         heard->equal ? "equal" : "DIFFERENT");
}

static bool run(const struct options *options, int *exit_status, struct failure *failure) {
  struct wav wav;
  struct model model;
  struct heard heard;
  if (!wav_read(&wav, options->file, failure)) return false;
  bool done = model_create(&model, (int)options->layers, options->left, options->right, options->isa, failure);
  if (done) {
    done = listen(&model, &wav, options->chunk, (int)options->threads, &heard, failure);
    model_free(&model);
  }
  if (done) {
    report(options, &wav, &heard);
    *exit_status = heard.equal ? EXIT_SUCCESS : EXIT_FAILURE;
    heard_free(&heard);
  }
  wav_free(&wav);
  return done;
}

int main(int count, char **arguments) {
  struct options options;
  struct failure failure = {""};
  int exit_status = EXIT_SUCCESS;
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_speech: %s\n", failure.text), 2;
  if (options.help) return fputs(options_help, stdout), output_finish("fovea_speech") ? EXIT_SUCCESS : 2;
  if (run(&options, &exit_status, &failure)) return output_finish("fovea_speech") ? exit_status : 2;
  fprintf(stderr, "fovea_speech: %s\n", failure.text);
  return 2;
}
