# headlens_find_emscripten(VARIABLE): the root folder of an Emscripten that is new enough, or empty. In order: EMSDK, em++ on
# PATH, the project's own. `cmake -P find-emscripten.cmake` prints "root<TAB>version", which is how the set-up step asks.
set(headlens_emscripten_minimum 3.1.69)  # older ones write a relaxed-SIMD opcode that today's engines reject

function(headlens_find_emscripten result)
  find_program(em NAMES em++ NO_CACHE NO_CMAKE_PATH NO_CMAKE_FIND_ROOT_PATH)
  if(em)
    file(REAL_PATH "${em}" em)
    cmake_path(GET em PARENT_PATH beside_em)
    # Packages that put only a launcher on PATH keep the root elsewhere, and em-config knows where.
    if(NOT EXISTS "${beside_em}/emscripten-version.txt" AND EXISTS "${beside_em}/em-config")
      execute_process(COMMAND "${beside_em}/em-config" EMSCRIPTEN_ROOT OUTPUT_VARIABLE beside_em
        OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  set(${result} "" PARENT_SCOPE)
  cmake_path(SET own NORMALIZE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../.toolchain/emscripten/root/usr/share/emscripten")
  foreach(root "$ENV{EMSDK}/upstream/emscripten" "${beside_em}" "${own}")
    if(EXISTS "${root}/emscripten-version.txt" AND EXISTS "${root}/cmake/Modules/Platform/Emscripten.cmake")
      file(STRINGS "${root}/emscripten-version.txt" version LIMIT_COUNT 1)
      string(REGEX MATCH "[0-9.]+" version "${version}")
      if(version VERSION_GREATER_EQUAL headlens_emscripten_minimum)
        set(${result} "${root}" PARENT_SCOPE)
        set(${result}_version "${version}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  headlens_find_emscripten(root)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E echo "${root}\t${root_version}")
endif()
