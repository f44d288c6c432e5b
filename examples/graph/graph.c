/* The split of Zachary's karate club, by two layers of graph attention.
 *
 *   fovea_graph --svg club.svg
 *
 * README.md says how the network was trained. */
#include "../sentence/output.h"
#include "network.h"
#include "options.h"
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATH_SIZE = 4096, ZACHARY_RIGHT = 33, ZACHARY_NODES = 34 };

struct inputs {
  struct network network;
  struct club club;
  char network_path[PATH_SIZE], club_path[PATH_SIZE];
};

static bool read_inputs(struct inputs *inputs, const char *folder, struct failure *failure) {
  const int length = snprintf(inputs->network_path, PATH_SIZE, "%s/model.safetensors", folder);
  snprintf(inputs->club_path, PATH_SIZE, "%s/club.safetensors", folder);
  if (length >= PATH_SIZE) return refuse(failure, "the path of the data is too long");
  return network_read(&inputs->network, inputs->network_path, failure) &&
         club_read(&inputs->club, inputs->club_path, failure);
}

static void print_answers(const struct club *club, const struct answers *answers) {
  int64_t right = 0;
  for (int part = 0; part < PARTS; part++) {
    printf("%s:", part == 0 ? "with the instructor" : "with the administrator");
    for (int64_t i = 0; i < club->nodes; i++)
      if (answer_of(answers, i) == part) printf(" %lld", (long long)i);
    putchar('\n');
  }
  for (int64_t i = 0; i < club->nodes; i++) {
    if (answer_of(answers, i) == club->parts[i]) {
      right++;
    } else {
      printf("wrong: member %lld\n", (long long)i);
    }
  }
  printf("%lld of %lld right", (long long)right, (long long)club->nodes);
  if (club->nodes == ZACHARY_NODES) printf("; Zachary's own model (1977): %d", ZACHARY_RIGHT);
  putchar('\n');
}

static bool run(struct inputs *inputs, const struct options *options, struct answers *answers,
                struct failure *failure) {
  if (!read_inputs(inputs, options->data, failure) ||
      !network_run(&inputs->network, &inputs->club, options->isa, (int)options->threads, answers, failure))
    return false;
  if (options->svg &&
      !picture_write(&inputs->club, answers, answers->first, inputs->network.heads, options->svg, failure))
    return false;
  print_answers(&inputs->club, answers);
  return true;
}

int main(int count, char **arguments) {
  struct options options;
  static struct inputs inputs;
  struct answers answers = {NULL, NULL, NULL};
  struct failure failure = {""};
  if (!options_read(&options, count, arguments, &failure))
    return fprintf(stderr, "fovea_graph: %s\n", failure.text), 2;
  if (options.help) return fputs(options_help, stdout), output_finish("fovea_graph") ? EXIT_SUCCESS : 2;
  const bool done = run(&inputs, &options, &answers, &failure);
  answers_free(&answers);
  club_free(&inputs.club);
  network_free(&inputs.network);
  if (!done) fprintf(stderr, "fovea_graph: %s\n", failure.text);
  return done && output_finish("fovea_graph") ? EXIT_SUCCESS : 2;
}
