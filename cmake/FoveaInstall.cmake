# Installs headers, both libraries, a CMake package (fovea::fovea, fovea::fovea_static) and a pkg-config file.
# Components: programs need `library` to run and `development` to be built; `command` is the tool.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fovea)

install(FILES docs/man/fovea.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
if(FOVEA_BUILD_TOOLS)
  install(FILES docs/man/fovea.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
endif()

# Debian packages have the licence under another name (FoveaDebian.cmake).
if(NOT FOVEA_DEBIAN)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/fovea COMPONENT library)
endif()

install(TARGETS fovea_shared fovea_static EXPORT fovea-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
)
install(FILES ${fovea_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fovea COMPONENT development)
install(EXPORT fovea-targets NAMESPACE fovea:: FILE fovea-config.cmake
  DESTINATION ${package_dir} COMPONENT development
)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fovea-config-version.cmake
  COMPATIBILITY ${fovea_compatibility}
)
install(FILES ${PROJECT_BINARY_DIR}/fovea-config-version.cmake DESTINATION ${package_dir} COMPONENT development)

set(pc_private_libraries ${fovea_libm})
if(fovea_openmp)
  list(APPEND pc_private_libraries ${OpenMP_C_LIB_NAMES})
endif()
fovea_install_pkg_config(fovea development "${PROJECT_DESCRIPTION}" "" ${pc_private_libraries})

if(fovea_top_level)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    VERBATIM
  )
endif()
