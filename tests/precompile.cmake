# Less work for the compiler, for builds of this repository only: other projects compile the library without it.
#
# The headers that most files take in are parsed once for each library and program. That would hide one of them that a
# file forgets to include, so that each folder has one build without: core/ that of tests/consumer, which compiles the
# library as other projects do, and native/ that of the preset native, where GCC gains nothing by it for the program.

# Precompiles the headers in ARGN for the files of `target`, other than those with options of their own, for which
# compilers do not take them.
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
  headlens_precompile_for(headlens_core ${standard} <nlohmann/json.hpp>)
  set(opencl)
  if(TARGET headlens_opencl)
    set(opencl <opencl/runtime/status.h>)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    if(TARGET headlens_opencl)
      headlens_precompile_for(headlens_opencl ${standard} ${opencl})
    endif()
    if(TARGET headlens)
      headlens_precompile_for(headlens_tokenizer ${standard} <nlohmann/json.hpp>)
      target_precompile_headers(headlens PRIVATE ${standard} <nlohmann/json.hpp> <CLI/CLI.hpp>)
    endif()
  endif()
  if(TARGET headlens_cases)
    get_target_property(main headlens_cases SOURCES)
    list(FILTER main INCLUDE REGEX "/main\\.cc$")  # defines what doctest's header does with it
    set_property(SOURCE ${main} TARGET_DIRECTORY headlens_cases PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    headlens_precompile_for(headlens_cases ${standard} <doctest/doctest.h> ${opencl})
  endif()
endfunction()
cmake_language(DEFER CALL headlens_less_work)
