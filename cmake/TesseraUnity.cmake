# With TESSERA_UNITY on, or set to some folders' names, files of one folder are compiled together: the headers
# they share, and the templates they instantiate alike, are compiled once. The word tests stands for all tests but
# torch/'s. scripts/test.sh takes half the time so; people who change a file and build again are better off without.
#
# Files compiled together see each other's helpers, so two that give one name to different things must not meet.
# In our layout whatever a file declares outside functions begins a line. A file's names are read from those
# lines, and it joins the first group that knows none of them.
set(TESSERA_UNITY OFF CACHE STRING "Folders whose files are compiled together: ON for all, or a list")
set(TESSERA_UNITY_FILES_MAX 16)

# The types, constants and functions a file declares at the beginning of a line.
function(tessera_names_in file names)
  file(READ ${file} text)
  # An attribute goes before the type.
  string(REPLACE "\n[[noreturn]] " "\n" text "${text}")
  string(REPLACE "\n[[nodiscard]] " "\n" text "${text}")
  string(REGEX MATCHALL "\n[A-Za-z_][A-Za-z0-9_:<>,*& ]*[ *&][A-Za-z0-9_]+(::)?" declarations "${text}")
  set(found "")
  foreach(declaration IN LISTS declarations)
    if(declaration MATCHES "^\n(struct|class|enum class|enum) ([A-Za-z0-9_]+)")
      list(APPEND found ${CMAKE_MATCH_2})
    elseif(NOT declaration MATCHES "::$" AND
           NOT declaration MATCHES "^\n(namespace|template|using namespace|extern) " AND
           declaration MATCHES "([A-Za-z0-9_]+)$")
      list(APPEND found ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set(${names} ${found} PARENT_SCOPE)
endfunction()

function(tessera_have_common_name some others result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(name IN LISTS ${some})
    if(name IN_LIST ${others})
      set(${result} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

function(tessera_is_together folder result)
  set(${result} FALSE PARENT_SCOPE)
  if(TESSERA_UNITY STREQUAL "ON" OR folder IN_LIST TESSERA_UNITY)
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# Sorts files of a target into groups. A file that clashes in a way that names do not show is kept out by
# its name in ALONE; kernels that Highway compiles once per instruction set stay out by themselves.
function(tessera_compile_together target)
  cmake_parse_arguments(TOGETHER "" "" "SOURCES;ALONE" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(file IN LISTS TOGETHER_SOURCES)
    get_filename_component(base ${file} NAME)
    file(STRINGS ${file} kernel REGEX "hwy/foreach_target.h")
    if(kernel OR base IN_LIST TOGETHER_ALONE)
      continue()
    endif()
    tessera_names_in(${file} names)
    foreach(candidate RANGE 99)
      list(LENGTH files_${candidate} size)
      tessera_have_common_name(names names_${candidate} clash)
      if(size LESS TESSERA_UNITY_FILES_MAX AND NOT clash)
        set(group ${candidate})
        break()
      endif()
    endforeach()
    list(APPEND files_${group} ${file})
    list(APPEND names_${group} ${names})
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP group_${group})
  endforeach()
endfunction()
