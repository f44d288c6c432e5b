#!/bin/bash
# Makes a release of the commit that is checked out, in build/release-<version>: the source archive, Debian packages for
# amd64 and arm64, recipes for package managers, a bill of materials, and sums of all of these. The same commit gives the
# same bytes, wherever and whenever it is made by the same tools, which <name>.buildinfo lists.
#   release.sh                 runs ./run test first
#   release.sh --skip-tests    if ./run test has passed for this commit
#   release.sh --twice         makes it again, of a clone in another folder, without tests, and compares every byte
#   release.sh --draft         tries what is quick with the tree as it is, changes and all, in build/release-draft
# It publishes nothing, and sets no tag: at the end it prints the commands.
set -e -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# shellcheck source=packaging/home.sh
. packaging/home.sh

draft=no tests=yes twice=no
for option in "$@"; do
  case $option in
    --draft) draft=yes tests=no ;;
    --skip-tests) tests=no ;;
    --twice) twice=yes ;;
    *) sed -n '2,9s/^# \{0,1\}//p' packaging/release.sh && exit 2 ;;
  esac
done

say() { printf '%4d s  %s\n' "$SECONDS" "$1"; }

fail() {
  echo "$1" >&2
  exit 1
}

# Runs a command, whose output is in a file of its own, and shows the file's end if the command fails.
logged() { # name of the log, command
  local status
  set +e # in a condition a function would go on after what fails in it
  (
    set -e
    "${@:2}"
  ) >"$work/$1.log" 2>&1
  status=$?
  set -e
  if [ $status -ne 0 ]; then
    tail -n 40 "$work/$1.log" >&2
    fail "$1 failed: $work/$1.log has everything"
  fi
}

# What is checked before anything is made, which sets the commit and the version.
check() {
  local day tagged
  git rev-parse --git-dir >/dev/null 2>&1 || fail "A release is made of a commit, so it needs a clone of the repository"
  [ "$(dpkg --print-architecture)" = amd64 ] || fail "The packages of a release are made on amd64"
  if [ $draft = yes ]; then
    commit=$(git stash create) # a commit of the changes, which touches neither the tree nor a branch
    commit=${commit:-$(git rev-parse HEAD)}
    version=$(packaging/versions.py .)
    return
  fi
  [ -z "$(git status --porcelain)" ] || fail "The tree has changes: commit them, or try them with --draft"
  commit=$(git rev-parse HEAD)
  day=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%d --format=%cd)
  version=$(packaging/versions.py . --day "$day")
  tagged=$(git rev-parse -q --verify "refs/tags/v$version^{commit}" || true)
  [ -z "$tagged" ] || [ "$tagged" = "$commit" ] || fail "The tag v$version is another commit, $tagged: raise the version"
}

# What could get into the bytes does not come from the caller.
settle_environment() {
  umask 022
  unset CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS FOVEA_ISA
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
  export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
  [ $draft = yes ] || export CCACHE_DISABLE=1
}

# Packages are made of what is in the archive; of a draft in the tree, where most is compiled already.
unpack_source() {
  source=$root
  [ $draft = no ] || return 0
  tar -xzf "$out/$name.tar.gz" -C "$work"
  source=$work/$name
}

build_packages() { # preset; prints the folder of the build
  local build=$work/$1 flags=-ffile-prefix-map=$source=.
  if [ $draft = yes ]; then build=$root/build/$1 flags=""; fi
  rm -f "$build"/*.deb
  (cd "$source" && CFLAGS=$flags cmake --preset "$1" -B "$build") >&2
  cmake --build "$build" --target package >&2
  echo "$build"
}

# A draft is not compiled twice: its packages are made again of what is compiled.
same_packages_again() { # folder of the build
  local package
  mkdir "$work/first"
  cp "$1"/*.deb "$work/first"
  cmake --build "$1" --target package
  for package in "$1"/*.deb; do cmp "$package" "$work/first/${package##*/}"; done
  rm -r "$work/first"
}

# Packages hold no path of this machine, and nothing for debuggers, which would have such paths. What is built has no path,
# either: when it is installed, its path is overwritten, and programs stay as long as the path made them.
check_contents() { # folder of the build, with the packages; folder for what they hold
  local package program
  for package in "$1"/*.deb; do dpkg-deb -x "$package" "$2"; done
  if grep -rlaF -e "$work/" -e "$root/build/" -e "$source/src/" -e "$source/arch/" -e "$source/include/" "$2"; then
    fail "These files name folders of this machine"
  fi
  for program in "$2"/usr/bin/* "$2"/usr/lib/*/*.so.* "$1"/fovea "$1"/*.so; do
    if readelf -SdW "$program" | grep -E '\.debug_|RPATH|RUNPATH'; then fail "$program has paths"; fi
  done
}

# The archive alone: by one call of a compiler, and by CMake, of which the packages were made.
try_source_bare() { (cd "$source" && tests/install/bare.sh "cc -O2" "$work/bare"); }
try_source_cmake() { # folder of the build
  cmake --install "$1" --prefix "$work/prefix"
  cmake -G Ninja -S "$source/examples/embed" -B "$work/embed" -DCMAKE_PREFIX_PATH="$work/prefix"
  cmake --build "$work/embed"
  # shellcheck disable=SC2016
  [ "$("$work/embed/embed")" = "$(sed -n 's/^It prints `\(.*\)` on every machine.*/\1/p' "$source/README.md")" ]
}

make_packages() {
  local build
  logged amd64 build_packages debian
  build=$(tail -n 1 "$work/amd64.log")
  [ $draft = no ] || logged amd64-again same_packages_again "$build"
  logged amd64-contents check_contents "$build" "$work/amd64"
  logged amd64-tried "$source/tests/install/debian.sh" "$build"
  grep '^note: ' "$work/amd64-tried.log" || true
  [ $draft = yes ] || logged cmake try_source_cmake "$build"
  mv "$build"/*.deb "$out"
  say "Debian packages for amd64"
  logged arm64 build_packages debian-arm64
  build=$(tail -n 1 "$work/arm64.log")
  logged arm64-contents check_contents "$build" "$work/arm64"
  logged arm64-tried packaging/try_arm64.sh "$work/arm64" "$([ $draft = yes ] || echo selftest)"
  mv "$build"/*.deb "$out"
  say "Debian packages for arm64"
}

# The tools that the bytes depend on.
tools() {
  local tool
  for tool in git gzip cmake gcc ld ar aarch64-linux-gnu-gcc aarch64-linux-gnu-ld dpkg-deb; do
    printf '%s: %s\n' "$tool" "$($tool --version | head -n 1)"
  done
}

describe() {
  logged recipes packaging/recipes.sh "$out/$name.tar.gz" "$version" "$(archive_address "$version")" "$out/recipes"
  logged recipes-tried packaging/try_recipes.sh "$out/recipes"
  grep '^note: ' "$work/recipes-tried.log" || true
  packaging/sbom.py --version "$version" --epoch "$SOURCE_DATE_EPOCH" --home "$home" \
    --address "$(archive_address "$version")" "$out/$name.tar.gz" "$out"/*.deb >"$out/$name.spdx.json"
  tools >"$out/$name.buildinfo"
  (cd "$out" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum >"$work/sums" && mv "$work/sums" SHA256SUMS)
  say "recipes, bill of materials, sums"
}

make_again() {
  local other
  temporary=$(mktemp -d)
  other=$temporary/a/folder/whose/name/is/longer
  git clone -q "$root" "$other"
  git -C "$other" checkout -q --detach "$commit"
  (umask 077 && "$other/packaging/release.sh" --skip-tests >"$work/again.log" 2>&1) || {
    tail -n 40 "$work/again.log" >&2
    fail "The release was not made again in $other"
  }
  diff -r "$out" "$other/build/release-$version"
  rm -rf "$temporary"
  say "made again in another folder: the same bytes"
}

publish() {
  echo
  (cd "$out" && find . -type f -printf '%10s  %P\n' | sort -k 2)
  [ $draft = no ] || return 0
  if [[ $home == *.invalid ]]; then echo "packaging/home.sh has no address yet, and so have the recipes and the SBOM."; fi
  cat <<-END

	To publish it, sign the tag and push it. Then upload what is in ${out#"$root/"}, and send the recipes:
	    git tag -s v$version -m "Fovea $version" $commit
	    git push origin v$version
	END
}

check
name=fovea-$version
out=$root/build/release-$version work=$root/build/release-work
if [ $draft = yes ]; then out=$root/build/release-draft work=$root/build/release-draft-work; fi
rm -rf "$out" "$work"
mkdir -p "$out" "$work"
say "$name of ${commit:0:12}: version, tree, change log"
if [ $tests = yes ]; then ./run test; fi
settle_environment
packaging/archive.sh "$commit" "$version" "$out/$name.tar.gz"
packaging/archive.sh "$commit" "$version" "$work/again.tar.gz"
cmp "$out/$name.tar.gz" "$work/again.tar.gz"
unpack_source
say "source archive"
if [ $draft = no ]; then
  logged bare try_source_bare
  say "the archive compiled by one call of cc"
fi
make_packages
describe
[ $twice = no ] || make_again
publish
rm -rf "$work"
