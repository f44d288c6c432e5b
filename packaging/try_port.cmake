# Tries the vcpkg port without vcpkg: runs portfile.cmake with functions that do what vcpkg's do with its arguments, for
# one release build. Everything that vcpkg itself checks is left out.
#
#   cmake -DPORT=<folder of the recipe> -DARCHIVE=<source archive> -DWORK=<folder> [-DFEATURES="nn;openmp"] -P try_port.cmake
cmake_minimum_required(VERSION 3.20)
cmake_path(ABSOLUTE_PATH PORT)
file(READ ${PORT}/vcpkg.json manifest)
string(JSON PORT_NAME GET "${manifest}" name)
string(JSON VERSION GET "${manifest}" version)
cmake_path(ABSOLUTE_PATH WORK)
set(CURRENT_PACKAGES_DIR ${WORK}/packages)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_download_distfile VARIABLE)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILENAME;SHA512" "URLS")
  file(SHA512 ${ARCHIVE} sum)
  cmake_path(GET ARCHIVE FILENAME name)
  if(NOT sum STREQUAL arg_SHA512 OR NOT name STREQUAL arg_FILENAME OR NOT arg_URLS)
    message(FATAL_ERROR "The port wants another archive: ${arg_FILENAME} ${arg_SHA512}")
  endif()
  set(${VARIABLE} ${ARCHIVE} PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive VARIABLE)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  file(ARCHIVE_EXTRACT INPUT ${arg_ARCHIVE} DESTINATION ${WORK}/source)
  file(GLOB folder ${WORK}/source/*)
  set(${VARIABLE} ${folder} PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    set(value OFF)
    if(feature IN_LIST FEATURES)
      set(value ON)
    endif()
    string(JSON described GET "${manifest}" features ${feature} description)
    list(APPEND options -D${option}=${value})
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  run(${CMAKE_COMMAND} -G Ninja -S ${arg_SOURCE_PATH} -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS}
  )
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target install)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "DO_NOT_DELETE_PARENT_CONFIG_PATH" "PACKAGE_NAME;CONFIG_PATH" "")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*-config.cmake)
  if(NOT files)
    message(FATAL_ERROR "${arg_CONFIG_PATH} has no package ${arg_PACKAGE_NAME}")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
  foreach(tool IN LISTS arg_TOOL_NAMES)
    run(${CURRENT_PACKAGES_DIR}/bin/${tool} info)
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT_NAME}/copyright)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share/${PORT_NAME})
include(${PORT}/portfile.cmake)
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/conan/test_package -B ${WORK}/first
  -DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR}
)
run(${CMAKE_COMMAND} --build ${WORK}/first)
run(${WORK}/first/first)
