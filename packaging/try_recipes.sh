#!/bin/bash
# Tries filled-in recipes as far as it goes without the package managers: their syntax. README.md says how each is tried
# with its manager.
#   try_recipes.sh <folder of the recipes>
set -e -u -o pipefail
python3 - "$1" <<'END'
import ast, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
for path in folder.rglob("*.py"):
    ast.parse(path.read_text(encoding="utf-8"))
json.loads((folder / "vcpkg/vcpkg.json").read_text(encoding="utf-8"))
END
if command -v ruby >/dev/null; then
  ruby -c "$1/homebrew/fovea.rb"
else
  echo "note: no ruby, so the Homebrew formula was not parsed"
fi
