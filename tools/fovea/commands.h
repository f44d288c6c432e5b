/* The commands of the program. Each gets the arguments after its name, and its own --help. */
#ifndef FOVEA_TOOLS_COMMANDS_H
#define FOVEA_TOOLS_COMMANDS_H

#include "failure.h"

bool attend_command(int argument_count, char **arguments, failure *why);
bool cache_command(int argument_count, char **arguments, failure *why);
bool explain_command(int argument_count, char **arguments, failure *why);
bool heatmap_command(int argument_count, char **arguments, failure *why);
bool info_command(int argument_count, char **arguments, failure *why);
bool selftest_command(int argument_count, char **arguments, failure *why);

#endif
