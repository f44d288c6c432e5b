# fovea_install_pkg_config(<library> <component> <description> <requires> <private library>...)
#
# Makes <library>.pc and installs it. <requires>: other packages whose headers and libraries a program needs, too, or "".
# A pkg-config file finds its prefix from its own place. Absolute directories stay as they are.

if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(pc_prefix "\${pcfiledir}/${pc_prefix}")
endif()
foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    set(pc_${kind} "${CMAKE_INSTALL_${kind}}")
  else()
    set(pc_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()

function(fovea_install_pkg_config LIBRARY COMPONENT DESCRIPTION REQUIRES)
  set(pc_library ${LIBRARY})
  set(pc_description "${DESCRIPTION}")
  set(pc_requires "${REQUIRES}")
  list(TRANSFORM ARGN PREPEND "-l")
  list(JOIN ARGN " " pc_private_libraries)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${PROJECT_BINARY_DIR}/${LIBRARY}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${LIBRARY}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${COMPONENT}
  )
endfunction()
