# Makes TESSERA_UPLOT, the folder with uPlot's files, and from it and the files of this folder page_assets.cc.
set(web ${CMAKE_CURRENT_LIST_DIR})
set(web_build ${PROJECT_BINARY_DIR}/web)
set(uplot_files dist/uPlot.iife.min.js dist/uPlot.min.css LICENSE)

# Copies the lists of packages to a folder of the build and lets npm install them there, unless it did so before.
# Says in `problem` why it could not.
function(tessera_npm_install from to problem)
  set(${problem} "" PARENT_SCOPE)
  file(MD5 ${from}/package-lock.json wanted)
  if(EXISTS ${to}/installed)
    file(READ ${to}/installed have)
    if(have STREQUAL wanted)
      return()
    endif()
  endif()
  find_program(TESSERA_NPM npm)
  if(NOT TESSERA_NPM)
    set(${problem} "there is no npm" PARENT_SCOPE)
    return()
  endif()
  file(COPY ${from}/package.json ${from}/package-lock.json DESTINATION ${to})
  # Without network it should give up in seconds.
  execute_process(COMMAND ${TESSERA_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
                  --fetch-retries=1 --fetch-retry-mintimeout=1000 --fetch-timeout=30000
                  WORKING_DIRECTORY ${to} TIMEOUT 120 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    set(${problem} "'npm ci' in ${to} failed; is there a network?" PARENT_SCOPE)
  else()
    file(WRITE ${to}/installed ${wanted})
  endif()
endfunction()

set(uplot "")
find_path(TESSERA_UPLOT dist/uPlot.iife.min.js PATH_SUFFIXES share/uplot NO_DEFAULT_PATH
          PATHS ${CMAKE_PREFIX_PATH} DOC "The folder with uPlot's files")
if(TESSERA_UPLOT)
  set(uplot ${TESSERA_UPLOT})
else()
  tessera_npm_install(${web} ${web_build} why_not)
  if(NOT why_not)
    set(uplot ${web_build}/node_modules/uplot)
  endif()
endif()
if(NOT uplot)
  message(STATUS "No HTML page in this build: uPlot is missing (${why_not}). tessera report will say so; all else works.")
endif()

file(GLOB page_sources CONFIGURE_DEPENDS ${web}/*.js ${web}/*.css ${web}/*.html)
set(page_assets ${CMAKE_CURRENT_BINARY_DIR}/page_assets.cc)
add_custom_command(OUTPUT ${page_assets}
  COMMAND ${CMAKE_COMMAND} -DWEB=${web} -DUPLOT=${uplot} -DOUT=${page_assets} -P ${web}/embed.cmake
  DEPENDS ${page_sources} ${web}/embed.cmake VERBATIM)
target_sources(tessera_report PRIVATE ${page_assets})

# In a browser, where there is one; the program is built without sanitizers there, so that it keeps its times.
if(TESSERA_TESTS AND uplot AND NOT TESSERA_SANITIZE)
  add_test(NAME report.ThePageInABrowser
           COMMAND ${web}/test/browser_test.sh $<TARGET_FILE:tessera> ${PROJECT_BINARY_DIR}/web-test)
  set_tests_properties(report.ThePageInABrowser PROPERTIES LABELS report TIMEOUT 240 SKIP_RETURN_CODE 77)
endif()
