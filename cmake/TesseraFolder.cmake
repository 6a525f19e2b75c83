# tessera_folder(codec USES math PACKAGES zstd::zstd) makes, from the files of one folder:
#   tessera_codec   the library: every x.cc that is neither a test, a fuzzer, nor the entry of a program (main.cc) or of a shared library (library.cc)
#   codec_test      every x_test.cc, when TESSERA_TESTS is on
#   fuzz_x          one libFuzzer program per x_fuzz.cc, when TESSERA_FUZZ is on
# A folder inside another, tessera_folder(live/link ...), is a layer of its own: tessera_live_link, live_link_test.
# USES names the folders below that this one may see, USES_IF_BUILT those of them that an option can leave
# out; PACKAGES what it needs from outside, visible to those above; PRIVATE_PACKAGES the same, hidden from
# them; TEST_PACKAGES what only its tests need, TEST_USES folders above that only its tests see.
# SUBFOLDERS names folders in it whose files belong to the same library.
# Benchmarks (x_bench.cc) belong to the library, so that `tessera bench` carries them.
# ONE_PROCESS makes the folder's tests one ctest entry, for folders whose programs are slow to start.
# GLUE is for folders that read text and call others: they are compiled with little optimisation, which takes two thirds of
# the time and which nobody notices; under sanitizers with none.
# ALONE names files that TESSERA_UNITY must not compile together with others (see TesseraUnity.cmake).
function(tessera_folder folder)
  string(REPLACE / _ name ${folder})
  cmake_parse_arguments(FOLDER "ONE_PROCESS;GLUE" "" "SUBFOLDERS;USES;USES_IF_BUILT;ALONE;PACKAGES;PRIVATE_PACKAGES;TEST_PACKAGES;TEST_USES" ${ARGN})
  list(TRANSFORM FOLDER_SUBFOLDERS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*.cc" OUTPUT_VARIABLE below_it)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${below_it})
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|/main|/library)\\.cc$")
  foreach(optional IN LISTS FOLDER_USES_IF_BUILT)
    string(REPLACE / _ target ${optional})
    if(TARGET tessera_${target})
      list(APPEND FOLDER_USES ${optional})
    endif()
  endforeach()
  list(TRANSFORM FOLDER_USES REPLACE / _)
  list(TRANSFORM FOLDER_USES PREPEND tessera_ OUTPUT_VARIABLE below)

  if(NOT sources)
    message(FATAL_ERROR "src/${folder} has no sources")
  endif()
  add_library(tessera_${name} STATIC ${sources})
  add_library(tessera::${name} ALIAS tessera_${name})
  set_target_properties(tessera_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_include_directories(tessera_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tessera>)
  target_compile_features(tessera_${name} PUBLIC cxx_std_20)
  target_link_libraries(tessera_${name}
    PUBLIC ${below} ${FOLDER_PACKAGES}
    PRIVATE $<BUILD_INTERFACE:tessera_flags> ${FOLDER_PRIVATE_PACKAGES})
  set_property(GLOBAL APPEND PROPERTY TESSERA_FOLDERS ${folder})
  set(optimise_little -O1)
  if(TESSERA_SANITIZE)
    set(optimise_little -O0)
  endif()
  # Below -O2 this warning guesses.
  list(APPEND optimise_little $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(FOLDER_GLUE)
    target_compile_options(tessera_${name} PRIVATE ${optimise_little})
  endif()
  if(TESSERA_SANITIZE MATCHES undefined)
    tessera_check_kernels_less(${sources})
  endif()
  tessera_is_together(${name} together)
  if(together)
    tessera_compile_together(tessera_${name} SOURCES ${sources} ALONE ${FOLDER_ALONE})
  endif()

  if(TESSERA_TESTS AND tests AND NOT folder IN_LIST TESSERA_WITHOUT_TESTS_OF)
    add_executable(${name}_test ${tests})
    if(together OR ("tests" IN_LIST TESSERA_UNITY AND NOT FOLDER_ONE_PROCESS))
      tessera_compile_together(${name}_test SOURCES ${tests} ALONE ${FOLDER_ALONE})
      set_target_properties(${name}_test PROPERTIES TESSERA_TOGETHER ON)
    endif()
    list(TRANSFORM FOLDER_TEST_USES PREPEND tessera_ OUTPUT_VARIABLE above)
    target_link_libraries(${name}_test PRIVATE
      tessera_${name} ${above} tessera_flags GTest::gtest_main ${FOLDER_PRIVATE_PACKAGES} ${FOLDER_TEST_PACKAGES})
    target_compile_definitions(${name}_test PRIVATE TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    # Tests are compiled more often than they run for long: what they call is optimised, they are not.
    target_compile_options(${name}_test PRIVATE -O0)
    if(FOLDER_ONE_PROCESS)
      add_test(NAME ${name} COMMAND ${name}_test)
      # A cost in seconds has ctest begin with what takes long, so that nothing is waited for at the end.
      set_tests_properties(${name} PROPERTIES COST 30)
    else()
      gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${name} TIMEOUT 300)
    endif()
  endif()

  if(TESSERA_FUZZ)
    foreach(file IN LISTS fuzzers)
      get_filename_component(stem ${file} NAME_WE)
      string(REGEX REPLACE "_fuzz$" "" stem ${stem})
      add_executable(fuzz_${stem} ${file})
      target_compile_options(fuzz_${stem} PRIVATE -O0)
      target_link_libraries(fuzz_${stem} PRIVATE tessera_${name} tessera_flags -fsanitize=fuzzer)
    endforeach()
  endif()
endfunction()

# Kernels take twice as long to compile where all their arithmetic of addresses is checked. What they read and write still is.
function(tessera_check_kernels_less)
  foreach(file IN LISTS ARGN)
    file(STRINGS ${file} kernel REGEX "hwy/foreach_target.h|learn/bf16_tile.h")
    if(kernel)
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=pointer-overflow)
    endif()
  endforeach()
endfunction()
