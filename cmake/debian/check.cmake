# Makes the Debian packages, has lintian look at them and Python use its one, where PYTHON names it. Warnings are printed
# and allowed.
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
if(PYTHON)
  file(GLOB module ${folder}/python3-tessera_*.deb)
  execute_process(COMMAND dpkg-deb -x ${module} ${folder}/unpacked COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${folder}/unpacked/usr/lib/python3/dist-packages
    ${PYTHON} -B -c "import tessera; tessera.Simulation(model='quadratic', nodes=3, protocol='dpsgd:rounds=2', topology='ring').run()"
    WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
endif()
