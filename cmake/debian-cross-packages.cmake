# CPack reads this before it makes packages for another architecture: the libraries that these depend on are those of the
# cross compiler.
set(ENV{DEB_HOST_ARCH} ${CPACK_DEBIAN_PACKAGE_ARCHITECTURE})
set(SHLIBDEPS_EXECUTABLE ${CMAKE_CURRENT_LIST_DIR}/debian-cross-depends.sh)
