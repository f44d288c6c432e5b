# Makes Debian packages by CPack, from the components of FoveaInstall.cmake and FoveaNN.cmake: libfovea<SONAME's number>,
# libfovea-dev, libfovea-nn<SONAME's number>, libfovea-nn-dev, fovea. `cmake --preset debian && cmake --build --preset
# debian` leaves them in build/debian.

set(FOVEA_PACKAGE_CONTACT "The Fovea authors <fovea@localhost>" CACHE STRING "Who made the packages: name <address>")
set(FOVEA_PACKAGE_RELEASE 1 CACHE STRING "Release of the packages of one version")

set(library_package libfovea${fovea_abi})
set(development_package libfovea-dev)
set(nn_package libfovea-nn${fovea_abi})
set(nn_development_package libfovea-nn-dev)
set(command_package fovea)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${FOVEA_PACKAGE_CONTACT}")
set(CPACK_COMPONENTS_ALL library development nn nn_development command)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${FOVEA_PACKAGE_RELEASE})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE fovea)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
# With SOURCE_DATE_EPOCH set, packages have the same bytes wherever and whenever the same tools make them. So programs have
# no path of the build tree: when CMake installs a program, it overwrites such a path, as long as it was.
set(CMAKE_SKIP_RPATH ON CACHE BOOL "Programs have no path of libraries" FORCE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
)

# Packages depend on the libraries that their programs are linked with, and packages of one build on each other.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_NN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
if(CMAKE_CROSSCOMPILING) # the preset debian-arm64
  execute_process(COMMAND dpkg-architecture -t ${CMAKE_LIBRARY_ARCHITECTURE} -q DEB_HOST_ARCH
    OUTPUT_VARIABLE CPACK_DEBIAN_PACKAGE_ARCHITECTURE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY
  )
  set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/debian-cross-packages.cmake)
endif()
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_NN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_COMPONENT_NN_DEPENDS library)
set(CPACK_COMPONENT_NN_DEVELOPMENT_DEPENDS development nn)
set(CPACK_COMPONENT_COMMAND_DEPENDS library nn)

# Lines have at most 80 columns; the first line is the synopsis.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(description
"Fovea computes attention, softmax(scale * Q K^T) V, tile by tile with AVX2,
AVX-512, NEON or portable C, chosen when a program runs. It gives the same
bits with all of them, for any number of threads, any batch and any layout.
")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"attention kernels for CPUs - shared library
${description}
This package has the library that programs need when they run.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME ${development_package})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"attention kernels for CPUs - development files
${description}
This package has the headers, the static library, and the files that CMake
and pkg-config find the library by.")
set(CPACK_DEBIAN_NN_PACKAGE_NAME ${nn_package})
set(CPACK_DEBIAN_NN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_NN_DESCRIPTION
"layers around attention for CPUs - shared library
${description}
This package has the library of layers: linear layers, norms, multi-head
attention, encoder and decoder layers.")
set(CPACK_DEBIAN_NN_DEVELOPMENT_PACKAGE_NAME ${nn_development_package})
set(CPACK_DEBIAN_NN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_NN_DEVELOPMENT_DESCRIPTION
"layers around attention for CPUs - development files
${description}
This package has the headers and the static library of the layers, and the
files that CMake and pkg-config find them by.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME ${command_package})
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_DESCRIPTION
"attention kernels for CPUs - command
${description}
This package has the command fovea: attention on .npy files, pictures of
weights, what the library chose on this machine, and a test of its bits.")
if(NOT TARGET PkgConfig::cairo) # the shared libraries of the command are its dependencies
  message(STATUS "The package of the command: it draws no pictures, and does not depend on libcairo2")
endif()

# Debian's policy also wants a licence and a change log in each package, and compressed man pages.
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT debian/changelog.Debian @ONLY CONTENT
"fovea (@PROJECT_VERSION@-@FOVEA_PACKAGE_RELEASE@) unstable; urgency=medium

  * Version @PROJECT_VERSION@.

 -- @FOVEA_PACKAGE_CONTACT@  @package_date@
")
find_program(FOVEA_GZIP gzip REQUIRED)
foreach(component library development nn nn_development command)
  set(documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/${${component}_package})
  install(FILES LICENSE DESTINATION ${documents} COMPONENT ${component} RENAME copyright)
  install(FILES ${PROJECT_BINARY_DIR}/debian/changelog.Debian DESTINATION ${documents} COMPONENT ${component})
  install(CODE "
    set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    file(GLOB files \"\${root}/${documents}/changelog.Debian\" \"\${root}/${CMAKE_INSTALL_MANDIR}/man[1-9]/*.[1-9]\")
    foreach(file IN LISTS files)
      execute_process(COMMAND ${FOVEA_GZIP} -9nf \"\${file}\" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    " COMPONENT ${component}
  )
endforeach()

include(CPack)
