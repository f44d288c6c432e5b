# Fovea makes a static and a shared library in each build, and its CMake package has targets for both.
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)

vcpkg_download_distfile(archive
  URLS "@ADDRESS@"
  FILENAME "fovea-${VERSION}.tar.gz"
  SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    nn FOVEA_NN
    openmp FOVEA_OPENMP
    tools FOVEA_BUILD_TOOLS
)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DFOVEA_BUILD_TESTS=OFF
    -DFOVEA_BUILD_BENCH=OFF
    -DFOVEA_BUILD_EXAMPLES=OFF
    -DFOVEA_CAIRO=OFF
)
vcpkg_cmake_install()
if("nn" IN_LIST FEATURES)
  vcpkg_cmake_config_fixup(PACKAGE_NAME fovea_nn CONFIG_PATH lib/cmake/fovea_nn DO_NOT_DELETE_PARENT_CONFIG_PATH)
endif()
vcpkg_cmake_config_fixup(PACKAGE_NAME fovea CONFIG_PATH lib/cmake/fovea)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES fovea AUTO_CLEAN)
endif()
file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc"
)
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
