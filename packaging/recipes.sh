#!/bin/bash
# Fills in the recipes of package managers for a source archive: @VERSION@, @HOME@, @ADDRESS@ and the archive's sums.
#   recipes.sh <archive> <version> <address of the archive> <folder for the recipes>
set -e -u -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=packaging/home.sh
. "$here/home.sh"
sum() { "$1" "$archive" | cut -d ' ' -f 1; }

archive=$1
for recipe in vcpkg conan homebrew; do
  while IFS= read -r file; do
    mkdir -p "$4/$(dirname "$file")"
    sed -e "s|@VERSION@|$2|g; s|@HOME@|$home|g; s|@ADDRESS@|$3|g" \
      -e "s|@SHA256@|$(sum sha256sum)|g; s|@SHA512@|$(sum sha512sum)|g" "$here/$file" >"$4/$file"
  done < <(cd "$here" && find "$recipe" -type f -not -path '*/__pycache__/*' | sort)
done
if grep -rnE '@[A-Z0-9]+@' "$4"; then
  echo "These placeholders are not filled in" >&2
  exit 1
fi
