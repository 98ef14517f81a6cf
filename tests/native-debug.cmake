# The preset native-debug: less work for the compiler, without which its build would take twice as long.
include(${CMAKE_CURRENT_LIST_DIR}/precompile.cmake)

# One SIMD target for each width of vectors and each branch of the kernels: EMU128, SSE2, AVX2 and AVX3. The others have the
# same kernels, with more instructions for Highway to choose from; the preset native tests them, and SCALAR, which Highway
# has in the place of EMU128 with GCC. All of the program has to agree on the targets, Highway's own library too.
add_compile_definitions("HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL|HWY_AVX3_ZEN4|HWY_AVX3_SPR)")

function(headlens_debug_build)
  # Neither the program nor most of the tests compute anything that takes long: they are not optimised. What the tests
  # compare with is.
  target_compile_options(headlens PRIVATE -O0)
  target_compile_options(headlens_tokenizer PRIVATE -O0)
  target_compile_options(headlens_cases PRIVATE -O0)
  get_target_property(sources headlens_cases SOURCES)
  set(optimised ${sources})
  list(FILTER optimised INCLUDE REGEX "/(random_problem|support)\\.cc$")
  set_source_files_properties(${optimised} TARGET_DIRECTORY headlens_cases PROPERTIES
    COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)

  # Of functions that headers define, the linker takes the first copy that it meets. It meets those of the library first,
  # which are optimised: the tests then take little more than half the time.
  if(TARGET headlens_tests AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(headlens_tests PRIVATE
      "LINKER:--whole-archive" $<TARGET_FILE:headlens_core> "LINKER:--no-whole-archive")
  endif()

  # The kernels, and the decompositions of Eigen, take the compiler longest. Clang compiles them in half the time when
  # AddressSanitizer's checks are calls instead of instructions in place.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    get_target_property(slowest headlens_core SOURCES)
    list(FILTER slowest INCLUDE REGEX "/(kernels/kernels|heads/circuits)\\.cc$")
    set_property(SOURCE ${slowest} TARGET_DIRECTORY headlens_core APPEND PROPERTY
      COMPILE_OPTIONS -mllvm -asan-instrumentation-with-call-threshold=0)
  endif()
endfunction()
cmake_language(DEFER CALL headlens_debug_build)
