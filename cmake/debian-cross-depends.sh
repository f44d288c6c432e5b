#!/bin/bash
# dpkg-shlibdeps for a cross compiler's libraries. It does not look where Debian has them, and finds packages under the
# names that they have beside this machine's own, libc6:arm64; a package for arm64 depends on libc6.
set -e -u -o pipefail
triple=$(dpkg-architecture -a "$DEB_HOST_ARCH" -q DEB_HOST_MULTIARCH 2>/dev/null)
dpkg-shlibdeps "-l/usr/$triple/lib" "$@" | sed "s/:$DEB_HOST_ARCH\>//g"
