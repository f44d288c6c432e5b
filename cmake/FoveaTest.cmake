# fovea_add_test(NAME SOURCES <file>...
#                [ISA all | <isa>...]   run the test once more for each of these instruction sets
#                [EVERYWHERE] [RELEASED] [LABELS <label>...] [LIBRARIES <library>...] [DEFINITIONS <definition>...]
#                [ARGUMENTS <word>...] [TIMEOUT <seconds>])
#
# Adds a cmocka program with the static library, which may use internal headers and functions. It is registered as NAME
# and, for each of these instruction sets that is one of several in ${fovea_isas} (FoveaRegistry.cmake), as NAME.<isa>
# with FOVEA_ISA=<isa> and FOVEA_EXPECT_ISA=<isa>. The test then checks that this instruction set ran.
# If the CPU does not have it, the test exits with 77, which ctest reports as skipped.
#
# If tests of another architecture run through an emulator, FOVEA_TEST_EMULATED is set. Then, and in debug builds, which
# have sanitizers, FOVEA_TEST_SLOW is set, too: tests take fewer sizes (USUAL_OR_SLOW in a source).
#
# A test runs on this machine. Tests that say EVERYWHERE run on other targets, too: they compare kernels with contracts,
# or ask the compiler, the system or the size of words. What src/ makes of kernels is the same everywhere, and is tested
# once. Presets of other targets set FOVEA_TEST_EVERYWHERE: other tests are neither built nor registered.
#
# Tests that say RELEASED measure what a compiler makes of released code (stacks, accuracy). Debug builds, whose
# sanitizers watch memory, leave these tests out.
#
# Labels: `long` is what has long sizes (USUAL_OR_LONG in a source), `tsan` what runs under ThreadSanitizer.

find_package(Threads REQUIRED)

# fovea_hasten_contracts(<file>...): compiles contracts, plain C that tests compare the library with, for speed: tests would
# spend most of their time in contracts. On an x86-64 CPU with FMA, fmaf() is an instruction then. In debug builds contracts
# have no sanitizers, which are there to watch the library. Call it in the directory of the targets: only there do the
# properties of these files count.
function(fovea_hasten_contracts)
  set(options "")
  set(flags "")
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(APPEND options -O2 -fno-sanitize=all)
  endif()
  if(NOT CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND EXISTS /proc/cpuinfo)
    file(STRINGS /proc/cpuinfo flags LIMIT_COUNT 1 REGEX "^flags.* fma ")
  endif()
  if(flags)
    list(APPEND options -mfma)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

# Registers one run of a command as a test.
function(fovea_register_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EVERYWHERE" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  if(FOVEA_TEST_EVERYWHERE AND NOT arg_EVERYWHERE)
    return()
  endif()
  add_test(NAME ${NAME} COMMAND ${arg_COMMAND} COMMAND_EXPAND_LISTS)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(CMAKE_CROSSCOMPILING)
    list(APPEND arg_ENVIRONMENT FOVEA_TEST_EMULATED=1)
  endif()
  if(CMAKE_CROSSCOMPILING OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(APPEND arg_ENVIRONMENT FOVEA_TEST_SLOW=1)
  endif()
  if(WIN32) # where wine looks for the library
    list(APPEND arg_ENVIRONMENT WINEPATH=Z:${PROJECT_BINARY_DIR})
  endif()
  set_tests_properties(${NAME} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}"
  )
endfunction()

# Whether a source has long sizes.
function(fovea_has_long_sizes RESULT)
  set(${RESULT} OFF PARENT_SCOPE)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.c$")
      file(STRINGS ${source} lines REGEX "USUAL_OR_LONG")
      if(lines)
        set(${RESULT} ON PARENT_SCOPE)
      endif()
    endif()
  endforeach()
endfunction()

function(fovea_add_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EVERYWHERE;RELEASED" "TIMEOUT"
    "SOURCES;ISA;LABELS;LIBRARIES;DEFINITIONS;ARGUMENTS"
  )
  if(FOVEA_TEST_EVERYWHERE AND NOT arg_EVERYWHERE OR arg_RELEASED AND CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  set(target test_${NAME})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests ${CMOCKA_INCLUDE_DIR}
  )
  target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
  target_compile_options(${target} PRIVATE ${fovea_numeric_flags})
  target_link_libraries(${target} PRIVATE
    fovea_warnings fovea_static ${arg_LIBRARIES} ${CMOCKA_LIBRARY} Threads::Threads ${fovea_libm}
  )
  fovea_has_long_sizes(long ${arg_SOURCES})
  if(long)
    list(APPEND arg_LABELS long)
  endif()
  set(common EVERYWHERE COMMAND ${target} ${arg_ARGUMENTS} TIMEOUT "${arg_TIMEOUT}" LABELS ${arg_LABELS})
  fovea_register_test(${NAME} ${common})
  list(LENGTH fovea_isas isa_count) # of one, it has just been registered
  foreach(isa ${fovea_isas})
    if(isa_count GREATER 1 AND (isa IN_LIST arg_ISA OR "all" IN_LIST arg_ISA))
      fovea_register_test(${NAME}.${isa} ${common} ENVIRONMENT FOVEA_ISA=${isa} FOVEA_EXPECT_ISA=${isa})
    endif()
  endforeach()
endfunction()

# fovea_add_numpy_test(NAME SCRIPT <file> PROGRAM <target> [EVERYWHERE] [LABELS <label>...])
#
# A Python script runs a program and compares it with NumPy. In a cross build the script runs on this machine's Python,
# and the program through the emulator: words of its command before the program. Without NumPy, or an emulator, the test
# says why it is skipped.
function(fovea_find_numpy RESULT)
  find_package(Python3 COMPONENTS Interpreter)
  foreach(candidate IN ITEMS ${Python3_EXECUTABLE} /usr/bin/python3)
    if(EXISTS ${candidate})
      execute_process(COMMAND ${candidate} -c "import numpy" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(status EQUAL 0)
        set(${RESULT} ${candidate} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${RESULT} "" PARENT_SCOPE)
endfunction()

function(fovea_add_numpy_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EVERYWHERE" "SCRIPT;PROGRAM" "LABELS")
  fovea_find_numpy(python)
  if(NOT TARGET ${arg_PROGRAM})
    set(missing "the program is not built")
  elseif(NOT python)
    set(missing "Python 3 with NumPy is not there (python3-numpy)")
  elseif(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    set(missing "no emulator runs the program here (CMAKE_CROSSCOMPILING_EMULATOR)")
  else()
    set(emulator "")
    if(CMAKE_CROSSCOMPILING)
      set(emulator ${CMAKE_CROSSCOMPILING_EMULATOR})
    endif()
    set(everywhere "")
    if(arg_EVERYWHERE)
      set(everywhere EVERYWHERE)
    endif()
    fovea_register_test(${NAME} ${everywhere}
      COMMAND ${python} -B ${arg_SCRIPT} ${emulator} $<TARGET_FILE:${arg_PROGRAM}> LABELS ${arg_LABELS}
    )
    return()
  endif()
  message(STATUS "Test ${NAME}: skipped, ${missing}")
  add_test(NAME ${NAME} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${missing}")
  set_tests_properties(${NAME} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()
