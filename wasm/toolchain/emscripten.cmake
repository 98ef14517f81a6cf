# The toolchain file of the wasm presets: Emscripten's own, from wherever it was found.
include("${CMAKE_CURRENT_LIST_DIR}/find-emscripten.cmake")
headlens_find_emscripten(headlens_emscripten)
if(NOT headlens_emscripten)
  message(FATAL_ERROR "headlens: no Emscripten ${headlens_emscripten_minimum} or newer in EMSDK, on PATH or in .toolchain. "
    "Run `npm run setup`, or install it (https://emscripten.org) and activate it.")
endif()

# Tests run under node. Before version 21 it has relaxed SIMD only behind a flag, which later ones no longer know.
find_program(headlens_node NAMES node nodejs REQUIRED NO_CMAKE_FIND_ROOT_PATH)
if(NOT DEFINED CMAKE_CROSSCOMPILING_EMULATOR)
  execute_process(COMMAND "${headlens_node}" --version OUTPUT_VARIABLE headlens_node_version)
  string(REGEX MATCH "[0-9]+" headlens_node_version "${headlens_node_version}")
  set(CMAKE_CROSSCOMPILING_EMULATOR "${headlens_node}")
  if(headlens_node_version LESS 21)
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR --experimental-wasm-relaxed-simd)
  endif()
  set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CROSSCOMPILING_EMULATOR}" CACHE STRING "What runs the wasm tests")
endif()

include("${headlens_emscripten}/cmake/Modules/Platform/Emscripten.cmake")
