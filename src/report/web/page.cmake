# Makes page_assets.cc from the files of this folder: the pages, each in one file inside the program.
set(web ${CMAKE_CURRENT_LIST_DIR})
file(GLOB page_sources CONFIGURE_DEPENDS ${web}/*.js ${web}/*.css ${web}/*.html)
set(page_assets ${CMAKE_CURRENT_BINARY_DIR}/page_assets.cc)
add_custom_command(OUTPUT ${page_assets}
  COMMAND ${CMAKE_COMMAND} -DWEB=${web} -DOUT=${page_assets} -P ${web}/embed.cmake
  DEPENDS ${page_sources} ${web}/embed.cmake VERBATIM)
target_sources(tessera_report PRIVATE ${page_assets})

# In a browser, where there is one; the program is built without sanitizers there, so that it keeps its times.
if(TESSERA_TESTS AND NOT TESSERA_SANITIZE)
  add_test(NAME report.ThePageInABrowser
           COMMAND ${web}/test/browser_test.sh $<TARGET_FILE:tessera> ${PROJECT_BINARY_DIR}/web-test)
  set_tests_properties(report.ThePageInABrowser PROPERTIES LABELS report TIMEOUT 240 SKIP_RETURN_CODE 77 COST 30)
  if(TESSERA_LIVE)
    add_test(NAME report.TheFleetInABrowser
             COMMAND ${web}/test/browser_test.sh $<TARGET_FILE:tessera> ${PROJECT_BINARY_DIR}/web-test-fleet fleet)
    set_tests_properties(report.TheFleetInABrowser PROPERTIES LABELS report TIMEOUT 240 SKIP_RETURN_CODE 77 COST 30)
  endif()
endif()
