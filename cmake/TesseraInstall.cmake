# `cmake --install` puts program, libraries, headers and a package file where find_package(tessera) looks.
include(CMakePackageConfigHelpers)

# What a program of one's own includes. These headers are installed, with those they include and no others.
set(TESSERA_PUBLIC_HEADERS
  run/plan.h run/simulated_run.h                       # An experiment, and a run of it.
  sharing/average.h sharing/rule.h sharing/sharing.h   # What nodes tell, and how it is averaged.
  node/protocol.h protocol/protocols.h                 # To whom, and when; what a protocol is made of:
  protocol/ending.h protocol/meetings.h protocol/patience.h protocol/pending.h protocol/rounds.h
  codec/codec.h codec/wire.h                           # How it is written.
  math/select.h math/vector_ops.h math/wavelet.h       # Kernels.
  learn/learning.h node/trainer.h                      # What is learnt.
  topology/describe.h topology/topology.h              # Who may talk to whom.
  base/table.h sim/simulation.h)
if(TESSERA_LIVE)
  list(APPEND TESSERA_PUBLIC_HEADERS run/live_run.h)   # A node as a process of its own.
endif()

# What the folders link to, the package file must find again on the machine of whoever uses them. That list
# is read from the link lines, so that it cannot fall behind them: "fmt::fmt" asks for the package fmt; a
# library given by its path, which may be another path there, is searched for by name.
set(TESSERA_FIND_PACKAGES "")
set(TESSERA_FIND_LIBRARIES "")
get_property(folders GLOBAL PROPERTY TESSERA_FOLDERS)
list(REMOVE_ITEM folders cli cluster cluster/door python torch)  # The program's own, and what it opens on demand.
foreach(folder IN LISTS folders)
  string(REPLACE / _ target tessera_${folder})
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  set(links_elsewhere "")
  foreach(link IN LISTS links)
    if(link MATCHES "([A-Za-z0-9_]+)::")
      list(APPEND TESSERA_FIND_PACKAGES ${CMAKE_MATCH_1})
    elseif(link MATCHES "/lib([A-Za-z0-9_+-]+)\\.(so|a)")
      set(name ${CMAKE_MATCH_1})
      list(APPEND TESSERA_FIND_LIBRARIES ${name})
      set(link "$<BUILD_INTERFACE:${link}>$<INSTALL_INTERFACE:$<LINK_ONLY:tessera::lib${name}>>")
    endif()
    list(APPEND links_elsewhere ${link})
  endforeach()
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links_elsewhere}")

  install(TARGETS ${target} EXPORT tessera ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
install(CODE "set(source \"${PROJECT_SOURCE_DIR}/src\")
set(headers \"${TESSERA_PUBLIC_HEADERS}\")
set(destination \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/tessera\")")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake)
list(REMOVE_DUPLICATES TESSERA_FIND_PACKAGES)
list(REMOVE_DUPLICATES TESSERA_FIND_LIBRARIES)

# Libraries that lie outside the system's folders are still found by the installed program.
set_target_properties(tessera PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON
                      INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR}/tessera)
install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
              ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(EXPORT tessera NAMESPACE tessera:: DESTINATION ${package_dir} FILE tessera-targets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tessera-config.cmake.in
  ${PROJECT_BINARY_DIR}/tessera-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
        DESTINATION ${package_dir})

# Installs into an empty folder, compiles every header for users by itself, and builds the example of a program of one's
# own. Sanitized libraries would ask the same of the program, so those builds leave it out.
if(TESSERA_TESTS AND NOT TESSERA_SANITIZE)
  string(REPLACE ";" ":" prefixes "${CMAKE_PREFIX_PATH}")
  string(REPLACE ";" ":" headers "${TESSERA_PUBLIC_HEADERS}")
  add_test(NAME install.ASmallProgramBuildsAgainstThePackage COMMAND ${CMAKE_COMMAND}
    -DBUILD_DIR=${PROJECT_BINARY_DIR} -DEXAMPLE_DIR=${PROJECT_SOURCE_DIR}/examples/library
    -DHEADERS_DIR=${CMAKE_CURRENT_LIST_DIR}/header_check -DHEADERS=${headers}
    -DGENERATOR=${CMAKE_GENERATOR} -DCOMPILER=${CMAKE_CXX_COMPILER} -DPREFIXES=${prefixes} -DWITH_TORCH=${TESSERA_TORCH}
    -P ${CMAKE_CURRENT_LIST_DIR}/install_check.cmake)
  set_tests_properties(install.ASmallProgramBuildsAgainstThePackage PROPERTIES LABELS install TIMEOUT 300 COST 40)
endif()
