/* fovea info: the report of fovea_info() as a table. */
#include "commands.h"
#include <fovea/fovea.h>

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: fovea info\n"
    "\n"
    "Prints the library's version, the CPU, the chosen instruction set, and for each other set\n"
    "whether it could be used and why it was not chosen.\n";

static void print_info(const fovea_library_info *info) {
  int width = (int)strlen("instruction set");
  printf("%-*s  %s\n", width, "version", info->version);
  printf("%-*s  %s\n", width, "cpu", info->cpu);
  printf("%-*s  %s\n", width, "instruction set", info->isa);
  printf("%-*s  %s, %d by default\n", width, "threads", info->threading, info->threads);
  printf("%-*s  %s\n\n", width, "environment", *info->environment ? info->environment : "FOVEA_ISA is not set");

  printf("%-*s  usable  chosen  reason\n", width, "");
  for (int i = 0; i < info->isa_count; i++) {
    const fovea_isa_report *isa = info->isas[i];
    printf("%-*s  %-6s  %-6s  %s\n", width, isa->name, isa->usable ? "yes" : "no", isa->chosen ? "yes" : "no",
           isa->reason);
  }
}

bool info_command(int argument_count, char **arguments, failure *why) {
  if (argument_count == 1 && (strcmp(arguments[0], "--help") == 0 || strcmp(arguments[0], "-h") == 0)) {
    fputs(help, stdout);
    return true;
  }
  if (argument_count > 0) return fail(why, "unexpected argument '%s' (see fovea info --help)", arguments[0]);

  fovea_library_info info = {.struct_size = sizeof info};
  fovea_status status = fovea_info(&info);
  if (status != FOVEA_OK) return fail(why, "%s", fovea_status_text(status));
  print_info(&info);
  return true;
}
