# Installs BUILD_DIR into an empty folder, then configures, builds and runs an example against it, whose output must
# be as its folder says. The installed tree is moved before it is used: nothing in it may remember where it was
# put first.
set(work ${BUILD_DIR}/install-check)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${work}/first)
file(RENAME ${work}/first ${work}/moved)
set(ENV{CMAKE_PREFIX_PATH} ${work}/moved:${PREFIXES})

file(GLOB_RECURSE headers RELATIVE ${work}/moved/include/tessera ${work}/moved/include/tessera/*.h)
list(LENGTH headers count)
foreach(header IN LISTS headers)
  if(header MATCHES "test|bench|fuzz|toy_world|sample_data")
    message(FATAL_ERROR "${header} was installed: it is for our own tests")
  endif()
endforeach()
run(${CMAKE_COMMAND} -S ${HEADERS_DIR} -B ${work}/headers -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
    -DHEADERS=${HEADERS})
run(${CMAKE_COMMAND} --build ${work}/headers)
message(STATUS "${count} headers installed; those for users were compiled, each by itself")

run(${CMAKE_COMMAND} -S ${EXAMPLE_DIR} -B ${work}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/line)
file(READ ${EXAMPLE_DIR}/expected_output.txt expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "the example printed\n${output}instead of\n${expected}")
endif()
run(${work}/moved/bin/tessera --version)
# What needs LibTorch finds its library in the moved tree.
if(WITH_TORCH)
  run(${work}/moved/bin/tessera train --data=synthetic:samples=40,test=20 --model=logistic --steps=2
      --device=cpu:mode=reference)
endif()
foreach(file share/man/man1/tessera.1.gz share/bash-completion/completions/tessera share/tessera/experiments/toy.toml)
  if(NOT EXISTS ${work}/moved/${file})
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()
