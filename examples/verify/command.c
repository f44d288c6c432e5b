#define _POSIX_C_SOURCE 200112L /* clock_gettime() */
#include "command.h"

#include "../sentence/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool read_value(const struct command_option *option, const char *word, struct failure *failure) {
  if (option->number) return words_whole(option->name, word, option->least, option->most, option->number, failure);
  if (option->temperature) return words_temperature(word, option->temperature, failure);
  return words_choose(option->name, word, option->choices, option->chosen, failure);
}

/* Reads the option at *i, and moves *i to the last word of it. */
static bool read_option(struct command *command, int *i, int count, char **arguments,
                        const struct command_option *option, struct failure *failure) {
  int64_t threads = 0;
  const struct command_option of_threads = {"--threads", command->which, .number = &threads, .most = 4096};
  const char *name = arguments[*i];
  if (strcmp(name, "--stats") == 0) return command->stats = true;
  while (option->name && (strcmp(option->name, name) != 0 || option->of != command->which)) option++;
  if (option->name && option->flag) return *option->flag = true;
  const bool is_isa = strcmp(name, "--isa") == 0, is_threads = strcmp(name, "--threads") == 0;
  if (!option->name && !is_isa && !is_threads)
    return refuse(failure, "%s is no option of this command; --help lists what there is", name);
  if (++*i == count) return refuse(failure, "%s wants something after it; --help says what", name);
  if (is_isa) command->execution.isa = arguments[*i];
  if (is_isa) return true;
  if (!read_value(is_threads ? &of_threads : option, arguments[*i], failure)) return false;
  if (is_threads) command->execution.threads = (int)threads;
  return true;
}

bool command_read(struct command *command, const struct command_program *program, int count, char **arguments,
                  const struct command_option *options, struct failure *failure) {
  const char *const *names = program->commands;
  int given = 0;
  *command = (struct command){.which = 0};
  fovea_execution_init(&command->execution);
  for (int i = 1; i < count; i++)
    if (strcmp(arguments[i], "--help") == 0) return fputs(program->help, stdout), command->help = true;
  while (command->which < 2 && (count < 2 || strcmp(arguments[1], names[command->which]) != 0)) command->which++;
  if (command->which == 2)
    return refuse(failure, "the first word must be %s or %s; --help tells more", names[0], names[1]);
  const int wanted = program->words[command->which];
  for (int i = 2; i < count; i++) {
    if (strncmp(arguments[i], "--", 2) == 0) {
      if (!read_option(command, &i, count, arguments, options, failure)) return false;
    } else if (given < wanted) {
      command->words[given++] = arguments[i];
    } else {
      return refuse(failure, "'%s' is one word too many; --help says what is wanted", arguments[i]);
    }
  }
  return given == wanted ||
         refuse(failure, "%s needs %d words, and has %d; --help says which", names[command->which], wanted, given);
}

int command_end(const struct command_program *program, bool done, bool answer, const struct failure *failure) {
  if (!done) fprintf(stderr, "%s: %s\n", program->name, failure->text);
  if (!output_finish(program->name) || !done) return 2;
  return answer ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct pieces {
  const void *first, *second;
  size_t first_size, second_size;
};

static const char *write_pieces(const void *what, const char *path) {
  const struct pieces *pieces = what;
  FILE *file = fopen(path, "wb");
  if (!file) return strerror(errno);
  const bool done =
      fwrite(pieces->first, 1, pieces->first_size, file) == pieces->first_size &&
      (pieces->second_size == 0 || fwrite(pieces->second, 1, pieces->second_size, file) == pieces->second_size);
  return fclose(file) != 0 || !done ? "it could not be written" : NULL;
}

bool command_write(const char *path, const void *first, size_t first_size, const void *second, size_t second_size,
                   struct failure *failure) {
  const struct pieces pieces = {first, second, first_size, second_size};
  const char *reason = output_replace(path, write_pieces, &pieces);
  return !reason || refuse(failure, "%s: %s", path, reason);
}

double command_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
