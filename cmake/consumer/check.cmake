# Installs BUILD_DIR into an empty folder, then configures, builds and runs the consumer against it. The
# installed tree is moved before it is used: nothing in it may remember where it was put first.
set(work ${BUILD_DIR}/install-check)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/moved)
set(ENV{CMAKE_PREFIX_PATH} ${work}/moved:${PREFIXES})
run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${work}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)
run(${work}/moved/bin/tessera --version)
