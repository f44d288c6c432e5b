/* The program `fovea`: attention on .npy files, quantised caches, pictures of weights, a report about this machine,
 * and a self test. It uses only the library's public header. Exit status 0, or 2 with one line on stderr. */
#include "commands.h"
#include "inputs.h"
#include <fovea/fovea.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EXIT_FAILED 2

static const char help[] = "Usage: fovea COMMAND [OPTIONS]\n"
                           "\n"
                           "  fovea attend     attention on .npy files\n"
                           "  fovea cache      keys and values in 8 bits or less, and back\n"
                           "  fovea explain    what a problem costs, how it is computed, and why\n"
                           "  fovea heatmap    attention weights as a picture, or as text\n"
                           "  fovea info       what the library chose on this machine, and why\n"
                           "  fovea selftest   compare every kernel this CPU can run with stored digests\n"
                           "\n"
                           "  fovea COMMAND --help   the options of a command\n"
                           "  fovea --version        the version of the library\n"
                           "\n"
                           "Exit status 0, or 2 with one line on stderr that says what was wrong.\n"
                           "FOVEA_ISA=NAME in the environment caps the instruction set.\n";

static const struct command {
  const char *name;
  bool (*run)(int argument_count, char **arguments, failure *why);
} commands[] = {{"attend", attend_command},   {"cache", cache_command}, {"explain", explain_command},
                {"heatmap", heatmap_command}, {"info", info_command},   {"selftest", selftest_command}};

static bool run(int argument_count, char **arguments, const char **name, failure *why) {
  if (argument_count < 1)
    return fail(why, "a command is needed: attend, cache, explain, heatmap, info or selftest (see fovea --help)");
  if (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0) {
    fputs(help, stdout);
    return true;
  }
  if (strcmp(arguments[0], "--version") == 0) {
    printf("fovea %s\n", fovea_version());
    return true;
  }
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
    if (strcmp(arguments[0], commands[i].name) != 0) continue;
    *name = commands[i].name;
    return commands[i].run(argument_count - 1, arguments + 1, why);
  }
  return fail(why, "no command is called '%s' (see fovea --help)", arguments[0]);
}

/* Prints one line, whatever bytes a file name in it holds. */
static void print_failure(const char *name, failure *why) {
  for (char *at = why->text; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
  fprintf(stderr, "fovea%s%s: %s\n", *name ? " " : "", name, why->text);
}

int main(int argument_count, char **arguments) {
  failure why = {""};
  const char *name = "";
  bool done = run(argument_count - 1, arguments + 1, &name, &why);
  inputs_forget();
  errno = 0;
  if (done && (fflush(stdout) != 0 || ferror(stdout))) done = fail(&why, "cannot print: %s", strerror(errno));
  if (!done) print_failure(name, &why);
  return done ? 0 : EXIT_FAILED;
}
