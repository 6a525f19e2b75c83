# `cmake --install` puts program, libraries, headers and a package file where find_package(tessera) looks.
include(CMakePackageConfigHelpers)

get_property(folders GLOBAL PROPERTY TESSERA_FOLDERS)
foreach(folder IN LISTS folders)
  install(TARGETS tessera_${folder} EXPORT tessera ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera/${folder}
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(EXPORT tessera NAMESPACE tessera:: DESTINATION ${package_dir} FILE tessera-targets.cmake)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tessera-config.cmake.in
  ${PROJECT_BINARY_DIR}/tessera-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tessera-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tessera-config.cmake ${PROJECT_BINARY_DIR}/tessera-config-version.cmake
        DESTINATION ${package_dir})
