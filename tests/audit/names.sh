#!/bin/bash
# `cc -c src/*/*.c nn/*.c ...` writes all objects into one folder, under the names of the sources alone. So no two
# sources have one name, also where upper and lower case are the same. Nor may the build name a source that is gone:
# CMake's file(GLOB) would leave it out without a word.
#   names.sh <root of the project>
set -e -u -o pipefail
cd "$1"
status=0

sources=$(find src nn arch -name '*.c')
[ -n "$sources" ] || { echo "no source was found" && exit 1; }
while read -r name; do
  echo "two sources have one name: $(grep -i "/$name\$" <<<"$sources" | tr '\n' ' ')"
  status=1
done < <(find src nn arch -name '*.c' | sed 's|.*/||' | tr '[:upper:]' '[:lower:]' | sort | uniq -d)

while read -r named; do
  [ -e "$named" ] || { echo "cmake names $named, which does not exist" && status=1; }
done < <(grep -ohE '\b(src|nn|arch)/[a-z0-9_/]+\.c\b' cmake/*.cmake | sort -u)
exit $status
