# fovea_add_test(NAME SOURCES <file>...
#                [ISA all | <isa>...]   run the test once more for each of these instruction sets
#                [LABELS <label>...] [LIBRARIES <library>...] [ARGUMENTS <word>...] [TIMEOUT <seconds>])
#
# Adds a cmocka program with the static library, which may use internal headers and functions. It is registered as NAME
# and, for each of these instruction sets that is one of several in ${fovea_isas} (FoveaRegistry.cmake), as NAME.<isa>
# with the label `peel`, FOVEA_ISA=<isa> and FOVEA_EXPECT_ISA=<isa>. The test then checks that this instruction set ran.
# If the CPU does not have it, the test exits with 77, which ctest reports as skipped.
#
# If tests of another architecture run through an emulator, FOVEA_TEST_EMULATED is set.
#
# Labels: `tsan` is what runs under ThreadSanitizer. The others say why a test need not run everywhere. Presets name
# those that they leave out in FOVEA_TEST_WITHOUT: such tests are neither built nor registered.
#
#   any_cpu     an emulated CPU shows no more than this machine's: bounds of errors and answers of whole models, which
#               follow from bits that other tests compare; threads, whose order of memory is that of this machine
#   any_machine tests what src/ makes of kernels, which is the same for every kernel, system and word. The kernels
#               themselves are compared elsewhere: by masks, tiles, tests of operations and the digests
#   any_kernel  also tests kernels with vectors. Left out where all kernels are portable C
#   any_word    tests kernels, and src/ where it may depend on the size of words. Of the systems where all kernels are
#               portable C, the one with 32 bits runs it
#   any_build   bounds of errors: a sanitizer sees nothing there that it does not see in the tests of the same bits

find_package(Threads REQUIRED)

# Whether tests with these labels are left out.
function(fovea_leaves_out RESULT)
  set(${RESULT} OFF PARENT_SCOPE)
  foreach(label IN LISTS ARGN)
    if(label IN_LIST FOVEA_TEST_WITHOUT)
      set(${RESULT} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# fovea_hasten_contracts(<file>...): in debug builds, compiles contracts, plain C that tests compare the library with, for
# speed and without sanitizers. Sanitizers are there to watch the library, and tests would spend most of their time in
# contracts. On x86-64 fmaf() is an instruction then. Optimised builds call libm, since their test_cpu also runs on CPUs
# without FMA. Call it in the directory of the targets, which alone sees the properties of these files.
function(fovea_hasten_contracts)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    return()
  endif()
  set(options -O2 -fno-sanitize=all)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    list(APPEND options -mfma)
  endif()
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()

# Registers one run of a command as a test.
function(fovea_register_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT")
  fovea_leaves_out(left_out ${arg_LABELS})
  if(left_out)
    return()
  endif()
  add_test(NAME ${NAME} COMMAND ${arg_COMMAND} COMMAND_EXPAND_LISTS)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(CMAKE_CROSSCOMPILING)
    list(APPEND arg_ENVIRONMENT FOVEA_TEST_EMULATED=1)
  endif()
  if(WIN32) # where wine looks for the library
    list(APPEND arg_ENVIRONMENT WINEPATH=Z:${PROJECT_BINARY_DIR})
  endif()
  set_tests_properties(${NAME} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}"
  )
endfunction()

function(fovea_add_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;ISA;LABELS;LIBRARIES;ARGUMENTS")
  fovea_leaves_out(left_out ${arg_LABELS})
  if(left_out)
    return()
  endif()
  set(target test_${NAME})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests ${CMOCKA_INCLUDE_DIR}
  )
  target_compile_options(${target} PRIVATE ${fovea_numeric_flags})
  target_link_libraries(${target} PRIVATE
    fovea_warnings fovea_static ${arg_LIBRARIES} ${CMOCKA_LIBRARY} Threads::Threads ${fovea_libm}
  )
  set(common COMMAND ${target} ${arg_ARGUMENTS} TIMEOUT "${arg_TIMEOUT}")
  fovea_register_test(${NAME} ${common} LABELS ${arg_LABELS})
  list(LENGTH fovea_isas isa_count) # of one, it has just been registered
  foreach(isa ${fovea_isas})
    if(isa_count GREATER 1 AND (isa IN_LIST arg_ISA OR "all" IN_LIST arg_ISA))
      fovea_register_test(${NAME}.${isa} ${common} LABELS ${arg_LABELS} peel
        ENVIRONMENT FOVEA_ISA=${isa} FOVEA_EXPECT_ISA=${isa}
      )
    endif()
  endforeach()
endfunction()
