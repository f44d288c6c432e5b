# The compiler options of every target of this project.

add_library(fovea_warnings INTERFACE)
target_compile_options(fovea_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wundef)
if(FOVEA_WERROR)
  target_compile_options(fovea_warnings INTERFACE -Werror)
endif()

if(MINGW) # C99's printf(), with any C library
  target_compile_definitions(fovea_warnings INTERFACE __USE_MINGW_ANSI_STDIO=1)
endif()

# Results depend on these. They come after a parent project's own flags, and undo flags that would change results. A
# compiler gets the options of the libraries that a target is linked with after the target's own options, so that a
# parent's link_libraries() could undo these flags: so the targets are linked with fovea_numeric, whose options come
# last.
set(fovea_numeric_flags -fno-fast-math -ffp-contract=off -fno-math-errno)
add_library(fovea_numeric INTERFACE)
target_compile_options(fovea_numeric INTERFACE ${fovea_numeric_flags})

set(fovea_libm "")
if(UNIX AND NOT APPLE)
  set(fovea_libm m)
endif()

set(fovea_openmp OFF)
if(FOVEA_OPENMP)
  find_package(OpenMP COMPONENTS C)
  set(fovea_openmp ${OpenMP_C_FOUND})
endif()
