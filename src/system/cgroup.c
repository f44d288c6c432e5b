#include "cgroup.h"

#include <stdint.h>
#include <string.h>

enum { GROUPS_SIZE = 4096, FOLDER_SIZE = 512, NAME_SIZE = 32, NUMBERS_SIZE = 64, MOST_CPUS = 65536 };

/* Reads the number at *text and moves *text after it and the blank that ends it. Returns -1 if there is no number.
 */
static int64_t read_number(const char **text) {
  const char *at = *text;
  int64_t number = 0;
  if (*at < '0' || *at > '9') return -1;
  for (; *at >= '0' && *at <= '9'; at++) {
    int digit = *at - '0';
    number = number > (INT64_MAX - digit) / 10 ? INT64_MAX : number * 10 + digit;
  }
  if (*at != ' ' && *at != '\n' && *at != '\0') return -1;
  *text = *at ? at + 1 : at;
  return number;
}

static int cpus_of(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return 0; /* "max", -1, or nonsense */
  int64_t cpus = quota / period + (quota % period != 0);
  return cpus < MOST_CPUS ? (int)cpus : MOST_CPUS;
}

/* Reads the beginning of a file in a group's folder; "" if it cannot be read. */
static void read_file(fovea_read_text read_text, const char *folder, const char *name, char text[NUMBERS_SIZE]) {
  char path[FOLDER_SIZE + NAME_SIZE];
  size_t length = strlen(folder);
  memcpy(path, folder, length + 1);
  memcpy(path + length, name, strlen(name) + 1);
  if (!read_text(path, text, NUMBERS_SIZE)) text[0] = '\0';
}

static int limit_of_version_2(fovea_read_text read_text, const char *folder) {
  char text[NUMBERS_SIZE];
  const char *at = text;
  read_file(read_text, folder, "/cpu.max", text);
  int64_t quota = read_number(&at);
  return cpus_of(quota, read_number(&at));
}

static int limit_of_version_1(fovea_read_text read_text, const char *folder) {
  char quota_text[NUMBERS_SIZE], period_text[NUMBERS_SIZE];
  const char *quota_at = quota_text, *period_at = period_text;
  read_file(read_text, folder, "/cpu.cfs_quota_us", quota_text);
  read_file(read_text, folder, "/cpu.cfs_period_us", period_text);
  int64_t quota = read_number(&quota_at);
  return cpus_of(quota, read_number(&period_at));
}

typedef int (*limit_of_folder)(fovea_read_text read_text, const char *folder);

/* The least limit of a group and of the groups around it, up to the mount point. The text of a group ends with its
 * line. */
static int least_limit(fovea_read_text read_text, const char *mount, const char *group, limit_of_folder limit_of) {
  char folder[FOLDER_SIZE];
  size_t top = strlen(mount), length = strcspn(group, "\n");
  if (length >= FOLDER_SIZE - top) length = 0;
  memcpy(folder, mount, top);
  memcpy(folder + top, group, length);
  int least = 0;
  for (size_t end = top + length;;) {
    while (end > top && folder[end - 1] == '/') end--;
    folder[end] = '\0';
    int cpus = limit_of(read_text, folder);
    if (cpus > 0 && (least == 0 || cpus < least)) least = cpus;
    if (end == top) return least;
    while (end > top && folder[end - 1] != '/') end--;
  }
}

/* Whether a list of names, separated by commas and ended by ':', has this name. */
static int has_name(const char *names, const char *name) {
  size_t length = strlen(name);
  while (strncmp(names, name, length) != 0 || (names[length] != ',' && names[length] != ':')) {
    names += strcspn(names, ",:\n");
    if (*names != ',') return 0;
    names++;
  }
  return 1;
}

/* The path of the process's group, from lines "number:controllers:path". In version 2 the names of the controllers
 * are empty. Returns "" if no line has the controller. */
static const char *group_of(const char *lines, const char *controller) {
  while (*lines) {
    const char *names = lines + strcspn(lines, ":\n");
    const char *path = names + (*names == ':');
    if (*names == ':' && has_name(path, controller)) {
      path += strcspn(path, ":\n");
      return path + (*path == ':');
    }
    lines += strcspn(lines, "\n");
    lines += *lines == '\n';
  }
  return "";
}

int fovea_cgroup_cpus(fovea_read_text read_text) {
  char groups[GROUPS_SIZE];
  if (!read_text("/proc/self/cgroup", groups, sizeof groups)) groups[0] = '\0';
  int by_2 = least_limit(read_text, "/sys/fs/cgroup", group_of(groups, ""), limit_of_version_2);
  int by_1 = least_limit(read_text, "/sys/fs/cgroup/cpu", group_of(groups, "cpu"), limit_of_version_1);
  return by_1 == 0 || (by_2 > 0 && by_2 < by_1) ? by_2 : by_1;
}
