# shellcheck shell=bash
# Static analysis, for `./run lint` and the stage `lint`. Each function fails if its tool finds something. Other
# versions of a tool find other things: the sources are kept clean for the versions named here.

lint_versions="clang-tidy 14, cppcheck 2.10, gcc 12"

lint_shell() { shellcheck -x run .ci/run cmake/*.sh packaging/*.sh tests/*/*.sh bench/*/*.sh examples/*/*.sh; }

# .cppcheck lists its false alarms. What stands around the snippets of the pages is no program without them.
# With one job cppcheck 2.10 also follows pointers from file to file, and calls arrays uninitialised that a function fills.
lint_cppcheck() {
  grep -v '^ *\(#\|$\)' .cppcheck >build/cppcheck.suppressions
  cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability -j "$((jobs > 1 ? jobs : 2))" \
    --suppressions-list=build/cppcheck.suppressions --inline-suppr \
    -DFOVEA_OPENMP=1 -D__x86_64__ -D__linux__ -D__GNUC__=12 -Iinclude -I. -Itests \
    -DVECTOR_LAYER='"arch/avx2/vector.h"' -DTILES='"arch/avx2/tiles.h"' \
    -i tests/documents/snippets \
    src nn arch tools/fovea tests bench examples
}

# Checks the library and its command. Tests are left out: the analyzer does not know that a failed assertion ends a
# test. It is not asked for uninitialised values: it misses that a loop fills an array up to its count, or for all
# lanes. The sanitizers' tests and clang-tidy check these.
lint_analyzer() { # "all": kernels too, which takes 90 seconds
  local options=(-std=c11 -O1 -S -o /dev/null -DFOVEA_OPENMP=1 -fopenmp -Iinclude -I. -Werror -fanalyzer
    -Wno-analyzer-use-of-uninitialized-value)
  local sources=(src/*/*.c nn/*.c nn/*/*.c tools/fovea/*.c examples/embed/*.c examples/own_threads/*.c)
  if [ "${1:-}" = all ]; then sources+=(arch/*/*.c arch/*/nn/*.c); fi
  printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -I {} gcc "${options[@]}" {}
}

lint_tidy() { # files
  quietly cmake --preset clang
  printf '%s\n' "$@" | xargs -P "$jobs" -n 1 clang-tidy --quiet -p build/clang
}

# Only files that the preset builds are in its list of compilations.
tidied_sources() {
  c_files | grep '\.c$' | grep -v -e ^examples/embed/ -e ^examples/own_threads/ -e ^examples/pthreadpool/ \
    -e ^examples/ring/ -e ^tests/processes/ -e ^tests/install/ -e ^tests/documents/ -e ^integrations/ \
    -e ^bench/peers/llama_speeds.c
}

installed_lint_versions() {
  echo "clang-tidy $(clang-tidy --version | grep -o 'version [0-9]*' | grep -o '[0-9]*$')," \
    "cppcheck $(cppcheck --version | grep -o '[0-9.]*$'), gcc $(gcc -dumpversion | cut -d. -f1)"
}

# Runs checks that take seconds. `./run lint` also runs clang-tidy, and the analyzer over kernels.
stage_lint() {
  need_packages lint
  mkdir -p build
  lint_shell
  if [ "$(installed_lint_versions)" != "$lint_versions" ]; then
    echo "note: only the scripts were checked, since this is $(installed_lint_versions), not $lint_versions"
    return
  fi
  lint_cppcheck
  lint_analyzer
}

run_lint() {
  local status=0 sources
  need_packages build test lint && mkdir -p build || return 1
  lint_shell || status=1
  lint_cppcheck || status=1
  lint_analyzer all || status=1
  mapfile -t sources < <(tidied_sources)
  lint_tidy "${sources[@]}" || status=1
  return $status
}
