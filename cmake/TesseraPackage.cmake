# What an installed tessera has besides program and libraries: the man page and completions, written by the program
# itself, the service, the experiments, pages and examples; and the Debian packages of it all, tessera and
# python3-tessera: `cpack` in the build folder.

# Sanitized programs need a quiet address space to start, and nobody installs them.
if(TESSERA_SANITIZE)
  return()
endif()

set(help_dir ${PROJECT_BINARY_DIR}/help)
file(MAKE_DIRECTORY ${help_dir})
find_program(TESSERA_GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${help_dir}/tessera.1.gz ${help_dir}/tessera.bash ${help_dir}/_tessera ${help_dir}/tessera.fish
  COMMAND tessera help --man > ${help_dir}/tessera.1
  COMMAND ${TESSERA_GZIP} -9nf ${help_dir}/tessera.1
  COMMAND tessera completion bash > ${help_dir}/tessera.bash
  COMMAND tessera completion zsh > ${help_dir}/_tessera
  COMMAND tessera completion fish > ${help_dir}/tessera.fish
  DEPENDS tessera VERBATIM COMMENT "Writing the man page and completions")
add_custom_target(tessera_help ALL DEPENDS ${help_dir}/tessera.1.gz)

install(FILES ${help_dir}/tessera.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${help_dir}/tessera.bash RENAME tessera
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${help_dir}/_tessera DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${help_dir}/tessera.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/grafana.json DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/deploy/tessera.sbatch ${PROJECT_SOURCE_DIR}/scripts/get_data.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
install(FILES ${PROJECT_SOURCE_DIR}/scripts/cifar10_from_png.py DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
# Under /usr and /usr/local systemd looks in lib, whatever the libraries' folder is called.
install(FILES ${PROJECT_SOURCE_DIR}/deploy/tessera@.service DESTINATION lib/systemd/system)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/drop-ins DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Debian wants its own copyright and changelog files beside the others.
configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in ${help_dir}/changelog @ONLY)
execute_process(COMMAND ${TESSERA_GZIP} -9nf ${help_dir}/changelog COMMAND_ERROR_IS_FATAL ANY)
install(FILES ${help_dir}/changelog.gz ${CMAKE_CURRENT_LIST_DIR}/debian/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${TESSERA_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Nodes train a shared model on private data with no server, over links that
are slow, uneven and fail. The program simulates such networks in virtual
time, counting every byte, and runs them in earnest; the library and its
headers are for programs of your own.")
# Who compiles against the library needs the headers and link names of what it is made of; get_data.sh fetches by the last two.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libfmt-dev, libhwy-dev, libfpzip-dev, libzstd-dev, libkissfft-dev, zlib1g-dev, \
libjpeg-dev, libpng-dev, nlohmann-json3-dev, libzmq3-dev, libsodium-dev, libtorch-dev, curl, python3")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# What says nothing of a component is the package tessera.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME tessera)
# The user of the service, and the folders that are its: made, and purged.
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/debian/postinst
    ${CMAKE_CURRENT_LIST_DIR}/debian/prerm ${CMAKE_CURRENT_LIST_DIR}/debian/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(TESSERA_PYTHON)
  include(TesseraPythonPackage)
endif()
include(CPack)

if(TESSERA_TESTS)
  set(package_dir ${PROJECT_BINARY_DIR}/package)
  set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
  add_test(NAME package.IsMade COMMAND ${CMAKE_CPACK_COMMAND} -B ${package_dir})
  add_test(NAME package.PassesLintianWithoutErrors COMMAND ${debian}/lintian_test.sh ${package_dir})
  add_test(NAME package.InstallsAndPurges COMMAND ${debian}/install_test.sh ${package_dir})
  add_test(NAME package.TheServiceIsSound COMMAND ${debian}/service_test.sh ${PROJECT_SOURCE_DIR}/deploy $<TARGET_FILE:tessera>)
  set(package_tests package.PassesLintianWithoutErrors package.InstallsAndPurges)
  if(TESSERA_PYTHON)
    add_test(NAME package.ThePythonModuleRuns COMMAND ${debian}/python_test.sh ${package_dir} ${Python3_EXECUTABLE})
    list(APPEND package_tests package.ThePythonModuleRuns)
  endif()
  set_tests_properties(package.IsMade PROPERTIES FIXTURES_SETUP package WORKING_DIRECTORY ${PROJECT_BINARY_DIR} COST 50)
  set_tests_properties(${package_tests} PROPERTIES FIXTURES_REQUIRED package)
  set_tests_properties(package.IsMade package.TheServiceIsSound ${package_tests} PROPERTIES
    LABELS install TIMEOUT 300 SKIP_REGULAR_EXPRESSION "^skipped: ")
endif()
