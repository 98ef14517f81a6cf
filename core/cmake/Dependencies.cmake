# headlens_dependency(NAME) provides the target of one library, and prints where it came from:
#   1. the target, when the enclosing project already has it;
#   2. an installed package that is new enough (not for wasm: the system's packages are for another machine; nor with
#      HEADLENS_SOURCES_ONLY);
#   3. its source in the folder that HEADLENS_TOOLCHAIN names: the project's .toolchain, where `npm start` and `npm test`
#      put some, or one that `native/opencl/figures.py --steps pack` has filled;
#   4. its pinned release, which is downloaded.
#
# In the table below, PACKAGE, VERSION and TARGET are those of find_package. An installed C library without a package
# file has LIBRARY and HEADER instead of PACKAGE, and its version is read from the header. For a build from source,
# INCLUDE is the folder of a header-only library, and BUILD is the target of the library's own CMake project, which is
# configured with OPTIONS.
include(FetchContent)

option(HEADLENS_SOURCES_ONLY "Build the libraries from source, even those that are installed" OFF)
cmake_path(SET headlens_toolchain NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../.toolchain")
set(HEADLENS_TOOLCHAIN "${headlens_toolchain}" CACHE PATH "The folder whose src/NAME has the source of a library")

set(headlens_highway PACKAGE hwy VERSION 1.2 TARGET hwy::hwy BUILD hwy
  OPTIONS HWY_ENABLE_CONTRIB=OFF HWY_ENABLE_EXAMPLES=OFF HWY_ENABLE_INSTALL=OFF HWY_ENABLE_TESTS=OFF
          HWY_FORCE_STATIC_LIBS=ON
  URL https://github.com/google/highway/archive/refs/tags/1.2.0.tar.gz
  SHA256 7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343)
set(headlens_eigen PACKAGE Eigen3 VERSION 3.4 TARGET Eigen3::Eigen INCLUDE .
  URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.bz2
  SHA256 b4c198460eba6f28d34894e3a5710998818515104d6e74e5cc331ce31e46e626)
set(headlens_nlohmann-json PACKAGE nlohmann_json VERSION 3.11 TARGET nlohmann_json::nlohmann_json INCLUDE include
  URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
  SHA256 0d8ef5af7f9794e3263480193c491549b2ba6cc74bb018906202ada498a79406)
set(headlens_doctest PACKAGE doctest VERSION 2.4.9 TARGET doctest::doctest INCLUDE .
  URL https://github.com/doctest/doctest/archive/refs/tags/v2.4.11.tar.gz
  SHA256 632ed2c05a7f53fa961381497bf8069093f0d6628c5f26286161fbd32a560186)
set(headlens_cli11 PACKAGE CLI11 VERSION 2.1 TARGET CLI11::CLI11 INCLUDE include
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  SHA256 f2d893a65c3b1324c50d4e682c0cdc021dd0477ae2c048544f39eed6654b699a)
set(headlens_benchmark PACKAGE benchmark VERSION 1.7 TARGET benchmark::benchmark BUILD benchmark
  OPTIONS BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_INSTALL=OFF BENCHMARK_ENABLE_WERROR=OFF
  URL https://github.com/google/benchmark/archive/refs/tags/v1.9.1.tar.gz
  SHA256 32131c08ee31eeff2c8968d7e874f3cb648034377dfc32a4c377fa8796d84981)
set(headlens_zlib PACKAGE ZLIB VERSION 1.2 TARGET ZLIB::ZLIB BUILD zlibstatic
  OPTIONS ZLIB_BUILD_EXAMPLES=OFF SKIP_INSTALL_ALL=ON
  URL https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz
  SHA256 9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23)
set(headlens_png PACKAGE PNG VERSION 1.6 TARGET PNG::PNG BUILD png_static
  OPTIONS PNG_SHARED=OFF PNG_TESTS=OFF PNG_TOOLS=OFF SKIP_INSTALL_ALL=ON
  URL https://github.com/pnggroup/libpng/archive/refs/tags/v1.6.48.tar.gz
  SHA256 b17e99026055727e8cba99160c3a9a7f9af788e9f786daeadded5a42243f1dd0)

set(headlens_pcre2 LIBRARY pcre2-8 HEADER pcre2.h VERSION 10.40 TARGET PCRE2::8BIT BUILD pcre2-8-static
  OPTIONS BUILD_STATIC_LIBS=ON PCRE2_BUILD_PCRE2GREP=OFF PCRE2_BUILD_TESTS=OFF PCRE2_SHOW_REPORT=OFF
  URL https://github.com/PCRE2Project/pcre2/releases/download/pcre2-10.42/pcre2-10.42.tar.gz
  SHA256 c33b418e3b936ee3153de2c61cc638e7e4fe3156022a5c77d0711bcbb9d64f1f)
set(headlens_utf8proc LIBRARY utf8proc HEADER utf8proc.h VERSION 2.5 TARGET utf8proc::utf8proc BUILD utf8proc
  OPTIONS UTF8PROC_INSTALL=OFF BUILD_SHARED_LIBS=OFF
  URL https://github.com/JuliaStrings/utf8proc/archive/refs/tags/v2.8.0.tar.gz
  SHA256 a0a60a79fe6f6d54e7d411facbfcc867a6e198608f2cd992490e46f04b1bcecc)

function(headlens_dependency name)
  cmake_parse_arguments(arg "" "PACKAGE;LIBRARY;HEADER;VERSION;TARGET;INCLUDE;BUILD;URL;SHA256" "OPTIONS"
    ${headlens_${name}})
  if(TARGET ${arg_TARGET})
    return()
  endif()
  if(NOT EMSCRIPTEN AND NOT HEADLENS_SOURCES_ONLY)
    if(arg_LIBRARY)
      headlens_find_library(${arg_TARGET} ${arg_LIBRARY} ${arg_HEADER} ${arg_VERSION})
      set(found ${version})
    else()
      find_package(${arg_PACKAGE} ${arg_VERSION} QUIET GLOBAL)
      set(found ${${arg_PACKAGE}_VERSION}${${arg_PACKAGE}_VERSION_STRING})
    endif()
    if(TARGET ${arg_TARGET})
      message(STATUS "headlens: ${name} ${found} is installed")
      return()
    endif()
  endif()
  headlens_source(${name} "${arg_URL}" ${arg_SHA256})
  if(arg_INCLUDE)
    add_library(${arg_TARGET} INTERFACE IMPORTED GLOBAL)
    target_include_directories(${arg_TARGET} SYSTEM INTERFACE "${source}/${arg_INCLUDE}")
  else()
    headlens_build(${arg_TARGET} ${arg_BUILD} "${source}" ${arg_OPTIONS})
  endif()
endfunction()

# Makes `target` for an installed C library that is new enough, and sets `version` in the caller.
function(headlens_find_library target library header minimum)
  find_library(headlens_lib${library} ${library})
  find_path(headlens_lib${library}_include ${header})
  mark_as_advanced(headlens_lib${library} headlens_lib${library}_include)
  if(NOT headlens_lib${library} OR NOT headlens_lib${library}_include)
    return()
  endif()
  file(READ ${headlens_lib${library}_include}/${header} text)
  foreach(part MAJOR MINOR)
    string(REGEX MATCH "#define [A-Z0-9_]+_${part} +([0-9]+)" _ "${text}")
    set(${part} ${CMAKE_MATCH_1})
  endforeach()
  if("${MAJOR}.${MINOR}" VERSION_LESS ${minimum})
    return()
  endif()
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${headlens_lib${library}}
    INTERFACE_INCLUDE_DIRECTORIES ${headlens_lib${library}_include})
  set(version ${MAJOR}.${MINOR} PARENT_SCOPE)
endfunction()

# Sets `source` in the caller to the folder of the library's source.
function(headlens_source name url sha256)
  set(folder "${HEADLENS_TOOLCHAIN}/src/${name}")
  if(EXISTS "${folder}")
    cmake_path(ABSOLUTE_PATH folder NORMALIZE OUTPUT_VARIABLE source)
    message(STATUS "headlens: ${name} from ${source}")
    set(source "${source}" PARENT_SCOPE)
    return()
  endif()
  message(STATUS "headlens: ${name} is neither installed (or too old) nor in ${HEADLENS_TOOLCHAIN}: from ${url}")
  # SOURCE_SUBDIR names no existing folder, so the source is only downloaded. Header-only libraries need no build.
  FetchContent_Declare(headlens_${name} URL "${url}" URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON
    SOURCE_SUBDIR none)
  FetchContent_MakeAvailable(headlens_${name})
  set(source "${headlens_${name}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

# Adds the CMake project in `source` with the options NAME=VALUE. Its warnings are off, and only linked targets are
# built.
function(headlens_build target built source)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # option() keeps the variables that are set here
  set(CMAKE_POLICY_DEFAULT_CMP0126 NEW)  # and so does set(CACHE)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)  # CMake 4 refuses projects that ask for an older version
  foreach(option ${ARGN})
    string(REPLACE "=" ";" option "${option}")
    list(GET option 0 key)
    list(GET option 1 value)
    set(${key} ${value})
  endforeach()
  string(APPEND CMAKE_C_FLAGS " -w")
  string(APPEND CMAKE_CXX_FLAGS " -w")
  add_subdirectory("${source}" "${PROJECT_BINARY_DIR}/_deps/${built}" EXCLUDE_FROM_ALL)
  # Its headers count as system headers, as those of an installed package do, so they give no warnings.
  get_target_property(include ${built} INTERFACE_INCLUDE_DIRECTORIES)
  set_target_properties(${built} PROPERTIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${include}")
  if(NOT TARGET ${target})
    add_library(${target} ALIAS ${built})
  endif()
endfunction()
