# shellcheck shell=bash
# Static analysis, for `./run lint` and the stage `lint`. Each function fails when its tool finds something.
# Tools of other versions find other things: those named here are what the sources are kept clean for.

lint_versions="clang-tidy 14, cppcheck 2.10, gcc 12"

lint_shell() { shellcheck -x run .ci/run tests/*/*.sh bench/*/*.sh; }

# What it is wrong about is in .cppcheck.
lint_cppcheck() {
  grep -v '^ *\(#\|$\)' .cppcheck >build/cppcheck.suppressions
  cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability -j "$jobs" \
    --suppressions-list=build/cppcheck.suppressions --inline-suppr \
    -DFOVEA_OPENMP=1 -D__x86_64__ -D__linux__ -D__GNUC__=12 -Iinclude -I. -Itests \
    -DVECTOR_LAYER='"arch/avx2/vector.h"' -DTILES='"arch/avx2/tiles.h"' \
    src arch tools/fovea tests bench examples
}

# The library and its command. Tests are left out: they end where an assertion fails, which the analyzer does not know.
# It takes an array that is filled as far as it is counted, or by a loop over all lanes, for one that is not, so it is
# not asked what is uninitialised; the sanitizers' tests and clang-tidy look at that.
lint_analyzer() { # "all": kernels too, which takes a minute and a half
  local options=(-std=c11 -O1 -S -o /dev/null -DFOVEA_OPENMP=1 -fopenmp -Iinclude -I. -Werror -fanalyzer
    -Wno-analyzer-use-of-uninitialized-value)
  local sources=(src/*/*.c tools/fovea/*.c examples/embed/*.c examples/own_threads/*.c)
  if [ "${1:-}" = all ]; then sources+=(arch/*/*.c); fi
  printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -I {} gcc "${options[@]}" {}
}

lint_tidy() { # files
  quietly cmake --preset clang
  printf '%s\n' "$@" | xargs -P "$jobs" -n 1 clang-tidy --quiet -p build/clang
}

# Only what the preset builds is in its list of compilations.
tidied_sources() {
  c_files | grep '\.c$' | grep -v -e ^examples/embed/ -e ^examples/own_threads/ -e ^tests/processes/ -e ^tests/install/
}

installed_lint_versions() {
  echo "clang-tidy $(clang-tidy --version | grep -o 'version [0-9]*' | grep -o '[0-9]*$')," \
    "cppcheck $(cppcheck --version | grep -o '[0-9.]*$'), gcc $(gcc -dumpversion | cut -d. -f1)"
}

# What takes seconds; kernels by the analyzer and clang-tidy are left to `./run lint`.
stage_lint() {
  need_packages lint
  mkdir -p build
  lint_shell
  if [ "$(installed_lint_versions)" != "$lint_versions" ]; then
    echo "note: only the scripts were looked at, since this is $(installed_lint_versions), not $lint_versions"
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
