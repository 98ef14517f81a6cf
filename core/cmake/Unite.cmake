# headlens_unite(TARGET [REGEX...]) compiles the files of each folder of a target as one, twenty at a time, which parses
# their headers once and instantiates their templates once: a third to a half of the work. Every build does so, and none can be the
# first to miss a header that a file forgets to include.
#
# The files that match a regular expression stay apart, and so do those with options of their own, which CMake leaves out
# itself. The names that the others declare in anonymous namespaces have to differ within a folder.
function(headlens_unite target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(root ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(apart ${ARGN})
    list(FILTER sources EXCLUDE REGEX "${apart}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${root})
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" group)
    math(EXPR count "${count_${group}} + 1")
    set(count_${group} ${count})
    math(EXPR part "(${count} - 1) / 20")
    set_property(SOURCE ${source} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP "${group}_${part}")
  endforeach()
endfunction()
