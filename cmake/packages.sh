# shellcheck shell=bash
# The system's packages that this project needs, for `run`. need_packages <group>... installs them on Debian and Ubuntu,
# as root or by sudo without a password; elsewhere it says what is missing. The group `build` is for the libraries, the
# command and examples, which all other groups need as well; `test` is for `./run test`, `matrix` for all of its stages but
# those with a group of their own.

has_command() { command -v "$1" >/dev/null; }
has_header() { echo "#include <$1>" | ${2:-cc} -E -x c - >/dev/null 2>&1; }
has_cxx_header() { echo "#include <$1>" | c++ -E -x c++ - >/dev/null 2>&1; }
has_library() { pkg-config --exists "$1" 2>/dev/null; }
has_python_header() { python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; }
has_python_module() { python3 -c "import $1" >/dev/null 2>&1 || /usr/bin/python3 -c "import $1" >/dev/null 2>&1; }
clang_builds() { echo 'int main(void) { return 0; }' | clang "$@" -x c -o /dev/null - >/dev/null 2>&1; }
no_clang_yet_or_it_builds() { ! has_command clang || clang_builds "$@"; } # for packages that clang's version names
clang_version() { clang -dumpversion 2>/dev/null | cut -d. -f1; }
# Not every release has the package. If it is missing, what needs it says so and does not run.
cannot_have() { ! apt-cache show "$1" >/dev/null 2>&1; }
has_or_cannot_have() { has_command "$1" || cannot_have "$2"; }
has_header_or_cannot_have() { has_header "$1" || cannot_have "$2"; }

# group | Debian package | a command that succeeds if it is installed
package_table='
demo  | gcc                   | has_command cc
demo  | libc6-dev             | has_header stdio.h
build | gcc                   | has_command cc
build | libc6-dev             | has_header stdio.h
build | cmake                 | has_command cmake
build | ninja-build           | has_command ninja
build | pkg-config            | has_command pkg-config
build | libcairo2-dev         | has_library cairo
build | libssl-dev            | has_library libcrypto
build | libpthreadpool-dev    | has_header_or_cannot_have pthreadpool.h libpthreadpool-dev
test  | ccache                | has_command ccache
test  | libcmocka-dev         | has_header cmocka.h
test  | python3-numpy         | has_python_module numpy
bench | g++                   | has_command c++
bench | libbenchmark-dev      | has_cxx_header benchmark/benchmark.h
bench | libopenblas-dev       | has_library openblas
bench | zstd                  | has_command zstd
matrix | clang                 | has_command clang
matrix | clang-format          | has_command clang-format
matrix | llvm                  | has_command llvm-symbolizer
matrix | libomp-dev            | clang_builds -fopenmp
matrix | libclang-rt-%-dev     | no_clang_yet_or_it_builds -fsanitize=thread
matrix | libclang-rt-%-dev     | no_clang_yet_or_it_builds -fsanitize=fuzzer -Dmain=LLVMFuzzerTestOneInput
matrix | gcc-aarch64-linux-gnu | has_command aarch64-linux-gnu-gcc
matrix | libc6-dev-arm64-cross | has_header stdio.h aarch64-linux-gnu-gcc
matrix | qemu-user             | has_command qemu-aarch64
matrix | libopenmpi-dev       | has_command mpicc
matrix | llvm-19               | has_or_cannot_have llvm-mca-19 llvm-19
armv7 | gcc-arm-linux-gnueabihf   | has_command arm-linux-gnueabihf-gcc
armv7 | libc6-dev-armhf-cross     | has_header stdio.h arm-linux-gnueabihf-gcc
armv7 | qemu-user                 | has_command qemu-arm
riscv64 | gcc-riscv64-linux-gnu   | has_command riscv64-linux-gnu-gcc
riscv64 | libc6-dev-riscv64-cross | has_header stdio.h riscv64-linux-gnu-gcc
riscv64 | qemu-user               | has_command qemu-riscv64
mingw | gcc-mingw-w64-x86-64-posix | has_command x86_64-w64-mingw32-gcc-posix
mingw | g++-mingw-w64-x86-64-posix | has_command x86_64-w64-mingw32-g++-posix
mingw | wine                  | has_command wine
bare  | clang-16              | has_or_cannot_have clang-16 clang-16
plot  | python3-matplotlib    | has_python_module matplotlib
peers | python3-venv          | has_python_module ensurepip
python | g++                 | has_command c++
python | python3-dev         | has_python_header
python | python3-venv        | has_python_module ensurepip
docs  | mkdocs                | has_command mkdocs
debian | dpkg-dev             | has_command dpkg-shlibdeps
debian | file                 | has_command file
debian | g++                  | has_command c++
debian | pkg-config           | has_command pkg-config
debian | python3              | has_command python3
debian | gcc-aarch64-linux-gnu | has_command aarch64-linux-gnu-gcc
debian | libc6-dev-arm64-cross | has_header stdio.h aarch64-linux-gnu-gcc
debian | qemu-user            | has_command qemu-aarch64
lint  | clang-tidy            | has_command clang-tidy
coverage | gcovr              | has_command gcovr
lint  | cppcheck              | has_command cppcheck
lint  | shellcheck            | has_command shellcheck
'

missing_packages() {
  local group package probe
  while IFS='|' read -r group package probe; do
    package=${package// /}
    [[ -n $package && " $* " == *" ${group// /} "* ]] || continue
    $probe || echo "${package/\%/$(clang_version)}"
  done <<<"$package_table" | sort -u
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n --preserve-env=DEBIAN_FRONTEND "$@"; fi
}

need_packages() {
  local missing round group
  for round in 1 2 3; do # some probes need a compiler
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || break
    if ! has_command apt-get || ! as_root true 2>/dev/null; then
      echo "Missing, by the names of Debian's packages: ${missing[*]}" >&2
      if has_command apt-get; then echo "Install them with: sudo apt-get install ${missing[*]}" >&2; fi
      return 1
    fi
    if [ $round = 1 ]; then
      echo "Looking for ${missing[*]}"
      as_root apt-get -qq update || return 1
      mapfile -t missing < <(missing_packages "$@")
    fi
    echo "Installing ${missing[*]}"
    as_root apt-get -qq install --no-install-recommends "${missing[@]}" >/dev/null || return 1
  done
  mapfile -t missing < <(missing_packages "$@")
  if [ ${#missing[@]} -gt 0 ]; then
    echo "Installed, but still not usable: ${missing[*]}" >&2
    return 1
  fi
  for group in "$@"; do
    case $group in
      matrix)
        need_cmocka_for aarch64 || return 1
        need_libcrypto_for aarch64 arm64 || echo "note: no libcrypto for aarch64, so two examples are not tested there"
        ;;
      armv7 | riscv64 | mingw) need_cmocka_for "$group" || return 1 ;;
    esac
  done
}

# Builds cmocka for another architecture: the distribution's source, verified by apt, is cross-compiled below build/.
# The system's lists of sources, architectures and packages do not change.
need_cmocka_for() { # architecture: the name of its preset
  [ -e "build/$1-sysroot/usr/include/cmocka.h" ] || make_for "$1" cmocka build_cmocka "deb-src $(server_of libcmocka-dev)"
}

# Unpacks libcrypto for another architecture, a static library, from the distribution's package.
need_libcrypto_for() { # architecture: the name of its preset, and Debian's
  [ -e "build/$1-sysroot/usr/include/openssl" ] ||
    make_for "$1" libcrypto unpack_libcrypto "deb $(server_of libssl-dev)" \
      -o "APT::Architecture=$2" -o "APT::Architectures=$2"
}

# Calls a function with the preset, a folder, the root of the preset's libraries and options for apt.
make_for() { # preset, what, function, line for apt's list of sources, options for apt
  local root=$PWD/build/$1-sysroot apt=$PWD/build/$1-apt options
  if ! has_command apt-get; then
    echo "Missing: $2 for $1, installed into $root/usr" >&2
    return 1
  fi
  echo "Making $2 for $1"
  rm -rf "$apt"
  mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/status"
  echo "$4" >"$apt/sources.list"
  options=(-qq -o APT::Sandbox::User= -o Dir::State="$apt/state" -o Dir::State::status="$apt/status"
    -o Dir::Cache="$apt/cache" -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null "${@:5}")
  if ! { apt-get "${options[@]}" update && "$3" "$1" "$apt" "$root" "${options[@]}"; } >"$apt/log" 2>&1; then
    tail -n 20 "$apt/log" >&2
    return 1
  fi
  rm -rf "$apt"
}

build_cmocka() { # preset, apt's folder, root, options for apt
  (cd "$2" && apt-get "${@:4}" source --download-only cmocka && cmake -E tar xf cmocka_*.orig.tar.?z) &&
    cmake -G Ninja -S "$2"/cmocka-* -B "$2/build" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchain-$1.cmake" \
      -DCMAKE_POLICY_VERSION_MINIMUM=3.5 -DCMAKE_INSTALL_PREFIX="$3/usr" -DWITH_EXAMPLES=OFF &&
    cmake --build "$2/build" --target install
}

unpack_libcrypto() { # preset, apt's folder, root, options for apt
  (cd "$2" && apt-get "${@:4}" download libssl-dev && dpkg-deb -x libssl-dev_*.deb "$3")
}

# Prints the server that this system has a package from, or the distribution's own, as apt's list of sources has it.
server_of() { # package
  local where server suite=main keyring
  # shellcheck disable=SC1091
  . /etc/os-release
  where=$(apt-cache policy "$1" | awk '/ Packages$/ { sub("/", " ", $3); print $2, $3; exit }')
  case $ID in
    ubuntu) server=http://archive.ubuntu.com/ubuntu suite=universe keyring=ubuntu ;;
    *) server=http://deb.debian.org/debian keyring=debian ;;
  esac
  echo "[signed-by=/usr/share/keyrings/$keyring-archive-keyring.gpg] ${where:-$server ${VERSION_CODENAME:-sid} $suite}"
}
