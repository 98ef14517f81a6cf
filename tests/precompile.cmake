# Less work for the compiler, for builds of this repository only: other projects compile the library without it.
#
# The headers that most files take in are parsed once for each library and program. The files of one folder are compiled
# as one, which parses their headers once and instantiates their templates once. Both would hide a header that a file
# forgets to include, so that each folder has one build with neither: core/ that of tests/consumer, which compiles the
# library as other projects do, and native/ that of the preset native.

# Compiles the files of each folder of `target` as one, other than those that match a regular expression in ARGN: files
# that give equal names to different things, such as the rules of masks, and those whose public classes hold types of an
# anonymous namespace, of which GCC warns. CMake itself leaves out files with options of their own.
function(headlens_unite target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(apart ${ARGN})
    list(FILTER sources EXCLUDE REGEX "${apart}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    string(REPLACE "/" "_" folder "${folder}")
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${folder}")
  endforeach()
endfunction()

# Precompiles the headers in ARGN for the files of `target`, other than those with options of their own, for which compilers do not
# take them.
function(headlens_precompile_for target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_property(options SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY COMPILE_OPTIONS)
    if(options)
      set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

function(headlens_less_work)
  set(standard <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional> <set> <span> <sstream>
    <string> <vector>)
  # The files with loops over elements stay apart, so that they are optimised here as they are elsewhere.
  headlens_precompile_for(headlens_core ${standard} <nlohmann/json.hpp>)
  headlens_unite(headlens_core /backends/ "/attention/(masks|normalizers|positions)/" /heads/circuits /by_name/names
    /heads/head_finder "/operations/(embedding|scaled_dot_product)" /models/families/ /models/checkpoint)
  set(opencl)
  if(TARGET headlens_opencl)
    set(opencl <opencl/runtime/status.h>)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    if(TARGET headlens_opencl)
      headlens_precompile_for(headlens_opencl ${standard} ${opencl})
    endif()
    if(TARGET headlens)
      target_precompile_headers(headlens PRIVATE ${standard} <nlohmann/json.hpp> <CLI/CLI.hpp>)
    endif()
  endif()
  if(TARGET headlens_cases)
    get_target_property(main headlens_cases SOURCES)
    list(FILTER main INCLUDE REGEX "/main\\.cc$")  # defines what doctest's header does with it
    set_property(SOURCE ${main} TARGET_DIRECTORY headlens_cases PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    headlens_precompile_for(headlens_cases ${standard} <doctest/doctest.h> ${opencl})
    headlens_unite(headlens_cases "/(main|random_problem|support)\\.cc$" "/(circuits|metrics|problem|lessons)_test"
      "/attention/" "/opencl_(matrix|mma)_test")
  endif()
endfunction()
cmake_language(DEFER CALL headlens_less_work)
