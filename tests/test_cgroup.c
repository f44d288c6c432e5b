/* How many CPUs there are, by the files of control groups, whatever they hold, and on machines with very many. */
#include "src/system/cgroup.h"
#include "src/system/platform.h"
#include "support/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* The files that a process sees. A NULL path ends the list. */
struct file {
  const char *path, *text;
};

struct machine {
  const char *what;
  int cpus;
  struct file files[8];
};

static const struct file *files;

static int read_text(const char *path, char *text, size_t size) {
  for (const struct file *file = files; file->path != NULL; file++) {
    if (strcmp(file->path, path) != 0) continue;
    strncpy(text, file->text, size - 1);
    text[size - 1] = '\0';
    return 1;
  }
  return 0;
}

static void check(const struct machine *machine) {
  files = machine->files;
  const int cpus = fovea_cgroup_cpus(read_text);
  if (cpus != machine->cpus) fail_msg("%s: %d CPUs, not %d", machine->what, cpus, machine->cpus);
}

#define SELF    "/proc/self/cgroup"
#define TOP2    "/sys/fs/cgroup/cpu.max"
#define QUOTA1  "/sys/fs/cgroup/cpu/cpu.cfs_quota_us"
#define PERIOD1 "/sys/fs/cgroup/cpu/cpu.cfs_period_us"

static void test_version_2(void **state) {
  (void)state;
  static const struct machine machines[] = {
      {"no file at all", 0, {{NULL, NULL}}},
      {"no limit", 0, {{SELF, "0::/\n"}, {TOP2, "max 100000\n"}}},
      {"two CPUs", 2, {{SELF, "0::/\n"}, {TOP2, "200000 100000\n"}}},
      {"a bit more than two", 3, {{TOP2, "200001 100000\n"}}},
      {"below one", 1, {{TOP2, "1000 100000\n"}}},
      {"the least that there is", 1, {{TOP2, "1 1000000\n"}}},
      {"the file of a container, whose own path is not mounted",
       4,
       {{SELF, "0::/docker/1\n"}, {TOP2, "400000 100000"}}},
      {"a group", 2, {{SELF, "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"}}},
      {"a group within a tighter one",
       2,
       {{SELF, "0::/a.slice/b.service\n"},
        {"/sys/fs/cgroup/a.slice/b.service/cpu.max", "600000 100000\n"},
        {"/sys/fs/cgroup/a.slice/cpu.max", "200000 100000\n"},
        {TOP2, "900000 100000\n"}}},
      {"a group within a wider one",
       3,
       {{SELF, "0::/a/b/c\n"},
        {"/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n"},
        {"/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n"},
        {"/sys/fs/cgroup/a/cpu.max", "500000 100000\n"}}},
      {"a group outside what is mounted", 5, {{SELF, "0::/../other\n"}, {TOP2, "500000 100000\n"}}},
      {"slashes", 2, {{SELF, "0::/a//b/\n"}, {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"}}},
      {"the groups of others", 0, {{SELF, "0::/a\n"}, {"/sys/fs/cgroup/b/cpu.max", "200000 100000\n"}}},
  };
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) check(&machines[i]);
}

static void test_version_1(void **state) {
  (void)state;
  static const struct machine machines[] = {
      {"no limit", 0, {{SELF, "1:cpu:/\n0::/\n"}, {QUOTA1, "-1\n"}, {PERIOD1, "100000\n"}}},
      {"three CPUs", 3, {{SELF, "1:cpu:/\n0::/\n"}, {QUOTA1, "300000\n"}, {PERIOD1, "100000\n"}}},
      {"below one", 1, {{QUOTA1, "5000\n"}, {PERIOD1, "100000\n"}}},
      {"no period", 0, {{QUOTA1, "300000\n"}}},
      {"no quota", 0, {{PERIOD1, "100000\n"}}},
      {"a group of several controllers",
       2,
       {{SELF, "12:memory:/m\n3:cpu,cpuacct:/a\n1:name=systemd:/s\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}}},
      {"the controller comes last",
       2,
       {{SELF, "3:cpuacct,cpu:/a\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}}},
      {"controllers whose names begin or end alike",
       0,
       {{SELF, "4:cpuset:/a\n3:cpuacct:/a\n2:xcpu:/a\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n"}}},
      {"both versions, the first tighter",
       2,
       {{TOP2, "300000 100000\n"}, {QUOTA1, "200000\n"}, {PERIOD1, "100000\n"}}},
      {"both versions, the second tighter",
       1,
       {{TOP2, "10000 100000\n"}, {QUOTA1, "200000\n"}, {PERIOD1, "100000\n"}}},
  };
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) check(&machines[i]);
}

static void test_nonsense(void **state) {
  (void)state;
  static const char *const no_limits[] = {
      "",          "\n",         " ",         "max",       "max max",        "0 100000",
      "100000 0",  "-1 100000",  "100000 -1", "100000",    "100000 max",     "1e5 1e5",
      "0x10 0x10", "NaN 100000", "+5 +1",     "5,000 100", " 200000 100000", "\xff\xfe\x01",
  };
  struct machine machine = {"", 0, {{TOP2, ""}}};
  for (size_t i = 0; i < sizeof no_limits / sizeof *no_limits; i++) {
    machine.what = machine.files[0].text = no_limits[i];
    check(&machine);
  }
  /* A number beyond any integer counts as no limit. */
  machine.cpus = 65536;
  machine.what = machine.files[0].text = "9223372036854775807 1";
  check(&machine);
  machine.what = machine.files[0].text = "99999999999999999999999999999999 100000";
  check(&machine);
  machine.cpus = 1;
  machine.what = machine.files[0].text = "9223372036854775807 9223372036854775807";
  check(&machine);
  machine.what = machine.files[0].text = "100000 9223372036854775807";
  check(&machine);
}

/* Lists of groups that are invalid, cut off, or too long for a path. */
static void test_nonsense_of_groups(void **state) {
  (void)state;
  static const char *const lists[] = {"",  "\n\n\n", ":",      "::",     "0:",         "0::",      "0::/a",
                                      "0", "0\n::",  "0::\n:", "0:x:/y", "1:cpu\n2:,", "1:cpu,,,", "\xff::\xff"};
  struct machine machine = {"", 2, {{SELF, ""}, {TOP2, "200000 100000\n"}}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    machine.what = machine.files[0].text = lists[i];
    check(&machine);
  }
  static char text[6000];
  for (size_t length = 400; length < sizeof text; length += 7) {
    memset(text, 'x', length);
    memcpy(text, "0::/", 4);
    text[length] = '\0';
    machine.what = "a long path";
    machine.files[0].text = text;
    check(&machine);
  }
  for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = "0::/a/"[4 + i % 2];
  memcpy(text, "0::", 3);
  machine.what = "a deep path";
  check(&machine);
}

/* Replaces open() and read() in the library by the linker. They fail as often as a test says. */
static int interruptions, opened;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
ssize_t __real_read(int file, void *memory, size_t size);
ssize_t __wrap_read(int file, void *memory, size_t size);

int __wrap_open(const char *path, int flags, ...) {
  if (interruptions-- > 0) return errno = EINTR, -1;
  opened++;
  return __real_open(path, flags);
}

ssize_t __wrap_read(int file, void *memory, size_t size) {
  if (interruptions-- > 0) return errno = EINTR, -1;
  return __real_read(file, memory, size);
}

static void test_files(void **state) {
  (void)state;
  char text[8] = "before";
  assert_int_equal(fovea_platform_read_text("/proc/self/no such file", text, sizeof text), 0);
  assert_int_equal(fovea_platform_read_text("/proc", text, sizeof text), 0); /* can be opened, but not read */
  for (int signals = 0; signals <= 4; signals++) {
    interruptions = signals;
    opened = 0;
    memset(text, 'x', sizeof text);
    assert_int_equal(fovea_platform_read_text("/proc/version", text, 6), 1);
    assert_string_equal(text, "Linux");
    assert_int_equal(opened, 1);
  }
}

/* CPUs of a machine that has more than a CPU set has room for; 0: this machine. */
static long online;

int __real_sched_getaffinity(pid_t process, size_t size, void *set);
int __wrap_sched_getaffinity(pid_t process, size_t size, void *set);
long __real_sysconf(int name);
long __wrap_sysconf(int name);

int __wrap_sched_getaffinity(pid_t process, size_t size, void *set) {
  if (online != 0) return errno = EINVAL, -1;
  return __real_sched_getaffinity(process, size, set);
}

long __wrap_sysconf(int name) {
  return online != 0 && name == _SC_NPROCESSORS_ONLN ? online : __real_sysconf(name);
}

static void test_very_many_cpus(void **state) {
  (void)state;
  static const struct {
    long online;
    int cpus;
  } machines[] = {{1025, 1025}, {65535, 65535}, {65536, 1}, {-1, 1}};
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    online = machines[i].online;
    assert_int_equal(fovea_platform_cpus(), machines[i].cpus);
  }
  online = 0;
  assert_true(fovea_platform_cpus() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_version_2), cmocka_unit_test(test_version_1),
      cmocka_unit_test(test_nonsense),  cmocka_unit_test(test_nonsense_of_groups),
      cmocka_unit_test(test_files),     cmocka_unit_test(test_very_many_cpus),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
