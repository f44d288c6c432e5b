# fovea_pictures: heat maps as text and, where cairo is there, as pictures; for the command and the examples. The
# libraries never use it. A cross build finds no cairo, since pkg-config answers for this machine.

set(tool ${PROJECT_SOURCE_DIR}/tools/fovea)
add_library(fovea_pictures STATIC
  ${tool}/convert.c
  ${tool}/failure.c
  ${tool}/heatmap_draw.c
  ${tool}/heatmap_panels.c
  ${tool}/heatmap_text.c
  ${tool}/heatmap_words.c
  ${tool}/label.c
)
target_include_directories(fovea_pictures PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(fovea_pictures PRIVATE fovea_warnings ${fovea_libm})

if(FOVEA_CAIRO AND NOT CMAKE_CROSSCOMPILING)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(cairo QUIET IMPORTED_TARGET cairo>=1.16 cairo-pdf cairo-png cairo-svg)
  endif()
endif()
if(TARGET PkgConfig::cairo)
  target_sources(fovea_pictures PRIVATE ${tool}/picture/layout.c ${tool}/picture/picture.c)
  target_compile_definitions(fovea_pictures PRIVATE FOVEA_CAIRO)
  target_link_libraries(fovea_pictures PRIVATE PkgConfig::cairo)
else()
  message(STATUS "Pictures: not drawn, since cairo is not there (libcairo2-dev, found by pkg-config)")
endif()
