# The headers that most files take in are parsed once for each library and program, not once for each file. This would hide
# a header that a file forgets to include, so that each folder has one build without it: core/ that of WebAssembly, and
# native/ that of the preset native.
function(headlens_precompile)
  set(standard <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional> <set> <span> <sstream>
    <string> <vector>)
  set(opencl)
  if(TARGET headlens_opencl)
    set(opencl <opencl/runtime/status.h>)
  endif()
  if(NOT EMSCRIPTEN)
    target_precompile_headers(headlens_core PRIVATE ${standard} <nlohmann/json.hpp>)
    # This file has options of its own, with which GCC takes no headers that were precompiled without them.
    get_target_property(kernels headlens_core SOURCES)
    list(FILTER kernels INCLUDE REGEX "/kernels/kernels\\.cc$")
    set_property(SOURCE ${kernels} TARGET_DIRECTORY headlens_core PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    if(TARGET headlens_opencl)
      target_precompile_headers(headlens_opencl PRIVATE ${standard} ${opencl})
    endif()
    if(TARGET headlens)
      target_precompile_headers(headlens PRIVATE ${standard} <nlohmann/json.hpp> <CLI/CLI.hpp>)
    endif()
  endif()
  if(TARGET headlens_cases)
    target_precompile_headers(headlens_cases PRIVATE ${standard} <doctest/doctest.h> ${opencl})
    get_target_property(main headlens_cases SOURCES)
    list(FILTER main INCLUDE REGEX "/main\\.cc$")  # defines what doctest's header does with it
    set_property(SOURCE ${main} TARGET_DIRECTORY headlens_cases PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()
cmake_language(DEFER CALL headlens_precompile)
