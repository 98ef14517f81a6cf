# What the preset native-debug adds: less work for the compiler, without which its build would take twice as long.
include(${CMAKE_CURRENT_LIST_DIR}/precompile.cmake)

# With GCC 12 Highway has the target SCALAR where with Clang it has EMU128 instead. The same targets are tested with both
# compilers; all of the program has to agree on this, Highway's own library too.
add_compile_definitions(HWY_BROKEN_EMU128=1)

function(headlens_debug_build)
  # Neither the program nor most of the tests compute anything that takes long: they are not optimised. What the tests
  # compare with is.
  target_compile_options(headlens PRIVATE -O0)
  target_compile_options(headlens_cases PRIVATE -O0)
  get_target_property(sources headlens_cases SOURCES)
  set(optimised ${sources})
  list(FILTER optimised INCLUDE REGEX "/(random_problem|support)\\.cc$")
  set_source_files_properties(${optimised} TARGET_DIRECTORY headlens_cases PROPERTIES
    COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  list(FILTER sources INCLUDE REGEX "/main\\.cc$")  # defines what doctest's header does with it
  set_source_files_properties(${sources} TARGET_DIRECTORY headlens_cases PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

  # The kernels of eight SIMD targets are one file. Clang compiles it in half the time when AddressSanitizer's checks are
  # calls instead of instructions in place.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    get_target_property(kernels headlens_core SOURCES)
    list(FILTER kernels INCLUDE REGEX "/kernels/kernels\\.cc$")
    set_property(SOURCE ${kernels} TARGET_DIRECTORY headlens_core APPEND PROPERTY
      COMPILE_OPTIONS -mllvm -asan-instrumentation-with-call-threshold=0)
  endif()
endfunction()
cmake_language(DEFER CALL headlens_debug_build)
