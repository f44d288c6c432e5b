# fovea_nn: layers around attention, a second library and a client of Fovea's public functions. Its shared library also
# has copies of functions of src/ that hold no state (nn/README.md), since Fovea's exports only what is public. With the
# static libraries Fovea's own are linked.

file(GLOB fovea_nn_sources CONFIGURE_DEPENDS nn/*.c nn/variants/*.c arch/*/nn/*.c)
file(GLOB fovea_nn_copied CONFIGURE_DEPENDS src/base/*.c src/rotary/angle.c)

fovea_add_objects(fovea_nn_objects ${fovea_nn_sources})
# As in FoveaLibrary.cmake.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  file(GLOB fovea_nn_run nn/*.c nn/variants/*.c)
  file(GLOB fovea_nn_other nn/check_*.c nn/variants/check_*.c)
  list(REMOVE_ITEM fovea_nn_run ${fovea_nn_other})
  if(fovea_architectures)
    file(GLOB fovea_nn_portable arch/scalar/nn/*.c)
    list(APPEND fovea_nn_other ${fovea_nn_portable})
  endif()
  set_property(SOURCE ${fovea_nn_run} APPEND PROPERTY COMPILE_OPTIONS -O2)
  set_property(SOURCE ${fovea_nn_other} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()
fovea_add_objects(fovea_nn_copies ${fovea_nn_copied})
target_compile_definitions(fovea_nn_objects PRIVATE FOVEA_NN_BUILDING)
target_compile_definitions(fovea_nn_copies PRIVATE FOVEA_API=)
if(WIN32)
  target_compile_definitions(fovea_nn_objects PRIVATE FOVEA_NN_SHARED)
endif()

add_library(fovea_nn_static STATIC $<TARGET_OBJECTS:fovea_nn_objects>)
add_library(fovea_nn_shared SHARED $<TARGET_OBJECTS:fovea_nn_objects> $<TARGET_OBJECTS:fovea_nn_copies>)
add_library(fovea::fovea_nn_static ALIAS fovea_nn_static)
add_library(fovea::fovea_nn ALIAS fovea_nn_shared)
set_target_properties(fovea_nn_static PROPERTIES OUTPUT_NAME fovea_nn LINKER_LANGUAGE C)
set_target_properties(fovea_nn_shared PROPERTIES
  OUTPUT_NAME fovea_nn
  EXPORT_NAME fovea_nn
  LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION}
  SOVERSION ${fovea_abi}
)
if(WIN32)
  target_compile_definitions(fovea_nn_shared INTERFACE FOVEA_NN_SHARED)
elseif(NOT APPLE AND NOT FOVEA_DEBIAN)
  set_target_properties(fovea_nn_shared PROPERTIES INSTALL_RPATH "$ORIGIN") # it finds Fovea beside itself
endif()
target_link_libraries(fovea_nn_static PUBLIC fovea_static)
target_link_libraries(fovea_nn_shared PUBLIC fovea_shared PRIVATE ${fovea_libm})

# Components of their own, and packages of their own, fovea_nn, which find fovea of the same version: with static
# libraries they use functions of it that are not public. Headers and libraries are where Fovea's are.
if(FOVEA_INSTALL)
  set(nn_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fovea_nn)
  install(TARGETS fovea_nn_shared fovea_nn_static EXPORT fovea-nn-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT nn_development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT nn NAMELINK_COMPONENT nn_development
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT nn
  )
  install(FILES ${fovea_nn_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fovea COMPONENT nn_development)
  install(EXPORT fovea-nn-targets NAMESPACE fovea:: FILE fovea_nn-targets.cmake
    DESTINATION ${nn_package_dir} COMPONENT nn_development
  )
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/fovea_nn-config-version.cmake
    COMPATIBILITY ${fovea_compatibility}
  )
  file(WRITE ${PROJECT_BINARY_DIR}/fovea_nn-config.cmake
    "include(CMakeFindDependencyMacro)\nfind_dependency(fovea ${PROJECT_VERSION} EXACT)\ninclude(\${CMAKE_CURRENT_LIST_DIR}/fovea_nn-targets.cmake)\n"
  )
  install(FILES ${PROJECT_BINARY_DIR}/fovea_nn-config.cmake ${PROJECT_BINARY_DIR}/fovea_nn-config-version.cmake
    DESTINATION ${nn_package_dir} COMPONENT nn_development
  )
  fovea_install_pkg_config(fovea_nn nn_development "Layers around attention for CPUs, with one answer"
    "fovea = ${PROJECT_VERSION}"
  )
endif()
