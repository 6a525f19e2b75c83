# Makes the Debian package and has lintian look at it. Warnings are printed and allowed.
if(NOT LINTIAN)
  message("skipped: no lintian here")
  return()
endif()
set(folder ${BUILD_DIR}/package)
file(REMOVE_RECURSE ${folder})
execute_process(COMMAND ${CPACK} -B ${folder} WORKING_DIRECTORY ${BUILD_DIR}
                OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "cpack: ${output}")
endif()
file(GLOB package ${folder}/*.deb)
execute_process(COMMAND ${LINTIAN} --allow-root --fail-on error ${package} COMMAND_ERROR_IS_FATAL ANY)
