#!/bin/bash
# Tests the Debian packages of a build: what they hold and depend on. Then it installs them, uses them as a user would,
# and removes them.
#   debian.sh <build directory>
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
work=$(mktemp -d)
abi=$(sed -n 's/^library fovea: libfovea\.so\.//p' "$root/tests/audit/abi.txt") # the number of the SONAMEs
library=libfovea$abi nn_library=libfovea-nn$abi
packages=("$library" libfovea-dev "$nn_library" libfovea-nn-dev fovea)
# shellcheck disable=SC2016
answer=$(sed -n 's/^It prints `\(.*\)` on every machine.*/\1/p' "$root/README.md")

installed=no

clean_up() {
  [ $installed = no ] || dpkg --purge "${packages[@]}"
  installed=no
  rm -rf "$work"
}
trap clean_up EXIT

fail() {
  echo "$1" >&2
  exit 1
}

file_of() { # package
  find "$build" -maxdepth 1 -name "$1_*.deb"
}

depends() { # package, what it must depend on
  local found
  found=$(dpkg-deb -f "$(file_of "$1")" Depends)
  [[ $found =~ $2 ]] || fail "$1 depends on $found, and not on $2"
}

# A package may install only names that match the pattern, and its licence and change log, which it must have.
holds() { # package, pattern
  local name
  dpkg-deb -c "$(file_of "$1")" | sed 's/ -> .*//; s/.* \.//' | grep -v '/$' >"$work/names"
  while read -r name; do
    [[ $name =~ ^/usr/($2|share/doc/$1/(copyright|changelog.Debian.gz))$ ]] || fail "$1 holds $name"
  done <"$work/names"
  [ "$(grep -c "^/usr/share/doc/$1/" "$work/names")" = 2 ] || fail "$1 lacks its licence or its change log"
  cat "$work/names" >>"$work/all"
}

contents() {
  local version
  version=$(dpkg-deb -f "$(file_of "$library")" Version)
  depends "$library" '^libc6 \('
  depends "$library" 'libgomp1'
  depends libfovea-dev "^$library \(= $version\)$"
  depends "$nn_library" "^$library \(= $version\)"
  depends libfovea-nn-dev "libfovea-dev \(= $version\)"
  depends libfovea-nn-dev "$nn_library \(= $version\)"
  depends fovea "$library \(= $version\)"
  depends fovea "$nn_library \(= $version\)"
  # A cross build finds no cairo.
  if [ "$(dpkg-deb -f "$(file_of fovea)" Architecture)" = "$(dpkg --print-architecture)" ]; then
    depends fovea 'libcairo2 \('
  fi
  holds "$library" 'lib/[^/]*/libfovea\.so\.[0-9.]+'
  holds libfovea-dev 'include/fovea/[a-z_]*\.h|lib/[^/]*/(libfovea\.(a|so)|cmake/fovea/.*|pkgconfig/fovea\.pc)|share/man/man3/.*\.gz'
  holds "$nn_library" 'lib/[^/]*/libfovea_nn\.so\.[0-9.]+'
  holds libfovea-nn-dev 'include/fovea/[a-z_]*\.h|lib/[^/]*/(libfovea_nn\.(a|so)|cmake/fovea_nn/.*|pkgconfig/fovea_nn\.pc)'
  holds fovea 'bin/fovea|share/man/man1/.*\.gz'
  [ "$(sed -n 's|^/usr/include/fovea/||p' "$work/all" | sort)" = "$(cd "$root/include/fovea" && ls)" ] ||
    fail "the packages do not hold each public header once"
  if command -v lintian >/dev/null; then # whoever publishes packages sets the address; CPack causes the rest
    lintian --allow-root --fail-on error,warning --suppress-tags \
      bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs,maintscript-calls-ldconfig \
      "$build"/*.deb
  fi
}

use() {
  fovea info | grep "^version *$(dpkg-deb -f "$(file_of fovea)" Version | sed 's/-.*//')$" >/dev/null || fail "fovea info"
  ldd /usr/bin/fovea | grep "libfovea\.so\.$abi => /" >/dev/null || fail "the command does not use the shared library"
  fovea selftest | tail -n 1
  # shellcheck disable=SC2046
  cc -o "$work/embed" "$root/examples/embed/embed.c" $(pkg-config --cflags --libs fovea)
  [ "$("$work/embed")" = "$answer" ] || fail "the example, by pkg-config"
  cmake -S "$root/examples/embed" -B "$work/cmake"
  cmake --build "$work/cmake"
  [ "$("$work/cmake/embed")" = "$answer" ] || fail "the example, by find_package"
}

# Every public header with the package that it belongs to, in C and C++; the development packages are installed one by
# one, so that no header needs a later package.
use_headers() { # folder of headers.sh
  local source compiler
  for source in "$work/headers/$1"/*.c*; do
    compiler=cc
    if [[ $source == *.cc ]]; then compiler=c++; fi
    # shellcheck disable=SC2046
    $compiler -o "$work/header" "$source" $(pkg-config --cflags --libs "$1")
    "$work/header" || fail "$source does not find all functions"
  done
}

nothing_left() {
  local name
  while read -r name; do
    if [ -e "$name" ] || [ -L "$name" ]; then fail "$name is still there"; fi
  done
}

contents
if [ "$(id -u)" != 0 ]; then
  echo "note: packages not installed, which only root may"
elif dpkg-query -W "${packages[@]}" 2>/dev/null | grep . >/dev/null; then
  echo "note: packages not installed, since this system has some of them"
else
  names=$(cat "$work/all")
  installed=yes
  "$root/tests/install/headers.sh" "$root" "$work/headers"
  for package in "${packages[@]}"; do
    dpkg --install "$(file_of "$package")"
    [ "$package" != libfovea-dev ] || use_headers fovea
    [ "$package" != libfovea-nn-dev ] || use_headers fovea_nn
  done
  use
  clean_up
  nothing_left <<<"$names"
fi
