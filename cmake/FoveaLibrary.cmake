# The library, static and shared, from one set of objects.
#
# Sources are found, not listed: every .c file belongs to the library on every machine. A file guards itself by
# architecture macros and switches its own instruction set on. So no file needs flags of its own, and
# `cc -O2 src/*/*.c arch/*/*.c` makes the same library.

file(GLOB fovea_sources CONFIGURE_DEPENDS src/*/*.c arch/*/*.c)
if(NOT fovea_sources) # if there are no sources yet
  file(WRITE ${PROJECT_BINARY_DIR}/placeholder.c "typedef int fovea_placeholder;\n")
  set(fovea_sources ${PROJECT_BINARY_DIR}/placeholder.c)
endif()

function(fovea_add_objects NAME)
  add_library(${NAME} OBJECT ${ARGN})
  target_include_directories(${NAME} PRIVATE include .)
  target_compile_definitions(${NAME} PRIVATE FOVEA_BUILDING)
  # Without -O3 gcc keeps the accumulators of kernels in memory. Link-time optimisation could move code of one
  # instruction set into functions that run before the CPU is known.
  target_compile_options(${NAME} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -fno-lto)
  # gcc copies and clears structs of some hundred bytes by string instructions. To start one takes longer than the
  # whole copy takes in the C library.
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|i.86)$")
    target_compile_options(${NAME} PRIVATE -mstringop-strategy=libcall)
  endif()
  target_link_libraries(${NAME} PRIVATE fovea_warnings fovea_numeric)
  set_target_properties(${NAME} PROPERTIES
    C_VISIBILITY_PRESET hidden
    POSITION_INDEPENDENT_CODE ON
    INTERPROCEDURAL_OPTIMIZATION OFF
  )
  if(fovea_openmp)
    target_compile_definitions(${NAME} PRIVATE FOVEA_OPENMP=1)
    target_include_directories(${NAME} PRIVATE ${OpenMP_C_INCLUDE_DIRS})
    separate_arguments(openmp_flags UNIX_COMMAND "${OpenMP_C_FLAGS}")
    target_compile_options(${NAME} PRIVATE ${openmp_flags})
  endif()
endfunction()

fovea_add_objects(fovea_objects ${fovea_sources})
set(fovea_shared_objects $<TARGET_OBJECTS:fovea_objects>)
# A function is compiled to be exported from a DLL. In the static library it would be exported from every program, too.
# So the DLL has objects of its own for src/, where all exported functions are.
if(WIN32)
  file(GLOB fovea_entry_sources CONFIGURE_DEPENDS src/*/*.c)
  fovea_add_objects(fovea_exported_objects ${fovea_entry_sources})
  target_compile_definitions(fovea_exported_objects PRIVATE FOVEA_SHARED)
  set(fovea_shared_objects
    $<FILTER:${fovea_shared_objects},INCLUDE,/arch/> $<TARGET_OBJECTS:fovea_exported_objects>
  )
endif()
# Levels of optimisation: -O3 for the kernels of exact attention and of decoding; -O2 for other kernels, and for C that small
# calls spend time in; -Os for all other C, also for portable kernels where they are only the fallback.
# The compiler aligns only loops of -O3. Nothing here throws, so nothing needs tables to unwind it; but Windows wants such
# tables for every function. Debuggers read the tables of -g.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  file(GLOB kernel_sources arch/*/*.c)
  file(GLOB other_sources src/*/*.c)
  # Files that take 1.5 % or more of a call's instructions if it is small: decoding over pages, one new row, entries of plans.
  set(quick_sources ${other_sources})
  list(FILTER quick_sources INCLUDE REGEX "/src/(visible/[a-z_]+|state/row_states|base/validate|rotary/(angle|rotary)\
|run/(block|code_rows|decode|decode_codes|decode_exact|fetch|gather|position_numbers|page_rows|row_list|rows|scores\
|shaw_keys|tile|tile_scores|tile_values|walk|wide_rows)\
|plan/(entries|parts|regions)|pattern/(intervals|lists|query)\
|cache/(alike|append|cached_rows|coded_parts|coded_rows|formats|row_maker|sequences))\\.c$")
  list(REMOVE_ITEM other_sources ${quick_sources})
  if(fovea_architectures)
    file(GLOB portable_sources arch/scalar/*.c)
    list(APPEND other_sources ${portable_sources})
    list(REMOVE_ITEM kernel_sources ${portable_sources})
  endif()
  set(second_sources ${kernel_sources})
  list(FILTER second_sources INCLUDE REGEX "/(formats|lists|outputs|terms|bf16|int8|holds)[a-z0-9_]*\\.c$")
  set_property(SOURCE ${second_sources} ${quick_sources} APPEND PROPERTY COMPILE_OPTIONS -O2)
  set_property(SOURCE ${other_sources} APPEND PROPERTY COMPILE_OPTIONS -Os)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_property(SOURCE ${kernel_sources} ${quick_sources}
      APPEND PROPERTY COMPILE_OPTIONS -falign-functions=1 -falign-jumps=1
    )
    set_property(SOURCE ${second_sources} ${quick_sources} APPEND PROPERTY COMPILE_OPTIONS -falign-loops=1)
  endif()
  if(NOT WIN32 AND NOT APPLE)
    file(GLOB plain_sources arch/*/*.c arch/*/nn/*.c src/*/*.c)
    set_property(SOURCE ${plain_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-asynchronous-unwind-tables)
  endif()
endif()
# clang 14 does not end, or takes minutes, if it checks the sums and addresses in unrolled loops. gcc's sanitizer checks
# them.
if(FOVEA_FUZZ)
  file(GLOB kernel_sources arch/*/*.c arch/*/nn/*.c)
  set_property(SOURCE ${kernel_sources} PROPERTY
    COMPILE_OPTIONS -fno-sanitize=signed-integer-overflow,pointer-overflow
  )
endif()
# For `./run coverage`: counts the lines of src/ as they are written. Kernels stay optimised.
if(FOVEA_COVERAGE)
  file(GLOB measured_sources src/*/*.c)
  set_property(SOURCE ${measured_sources} PROPERTY COMPILE_OPTIONS -O0 --coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

add_library(fovea_static STATIC $<TARGET_OBJECTS:fovea_objects>)
add_library(fovea_shared SHARED ${fovea_shared_objects})
add_library(fovea::fovea_static ALIAS fovea_static)
add_library(fovea::fovea ALIAS fovea_shared)
set_target_properties(fovea_static PROPERTIES OUTPUT_NAME fovea LINKER_LANGUAGE C)
set_target_properties(fovea_shared PROPERTIES
  OUTPUT_NAME fovea
  EXPORT_NAME fovea
  LINKER_LANGUAGE C
  VERSION ${PROJECT_VERSION}
  SOVERSION ${fovea_abi}
)
if(WIN32)
  target_compile_definitions(fovea_shared INTERFACE FOVEA_SHARED)
elseif(NOT APPLE) # calls within the library take no detour, and no other library's function of the same name
  target_link_options(fovea_shared PRIVATE -Wl,-Bsymbolic-functions)
endif()
foreach(library fovea_static fovea_shared)
  target_include_directories(${library} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  )
  target_link_libraries(${library} PRIVATE ${fovea_libm})
endforeach()

# The OpenMP runtime is always linked dynamically, since two copies of it in one process do not work. Inside the build
# tree its path is given; users of the installed static library get its name (-lgomp, -lomp).
if(fovea_openmp)
  target_link_libraries(fovea_shared PRIVATE ${OpenMP_C_LIBRARIES})
  target_link_libraries(fovea_static
    PRIVATE $<BUILD_INTERFACE:${OpenMP_C_LIBRARIES}> $<INSTALL_INTERFACE:${OpenMP_C_LIB_NAMES}>
  )
endif()
