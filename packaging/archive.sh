#!/bin/bash
# Writes the source archive of a commit: the same bytes for the same commit, on any day and from any clone. git sorts the
# files and gives each the time of the commit and the owner root.
#   archive.sh <commit> <version> <file>
set -e -u -o pipefail
git -c tar.umask=0022 archive --format=tar --prefix="fovea-$2/" "$1" | gzip -9n >"$3"
