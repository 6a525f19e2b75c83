# The Debian package python3-tessera: the Python module for the system's own Python. `cmake --install` leaves it out, since
# only that Python looks there; elsewhere `pip install .` puts it where it belongs.
set(folder lib/python3/dist-packages/tessera)
install(TARGETS tessera_python_module LIBRARY DESTINATION ${folder} COMPONENT python EXCLUDE_FROM_ALL)
# program.py starts the program that comes with a wheel; here that is the package tessera.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/tessera/ DESTINATION ${folder} COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed
        PATTERN __pycache__ EXCLUDE PATTERN program.py EXCLUDE)
install(FILES ${help_dir}/changelog.gz ${CMAKE_CURRENT_LIST_DIR}/debian/copyright
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-tessera COMPONENT python EXCLUDE_FROM_ALL)

# A compiled module is of one version of Python.
math(EXPR next_minor "${Python3_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tessera)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next_minor}), python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "tessera, python3-torch, python3-pandas, python3-tqdm")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The Python module: simulations with models and training of your own
in PyTorch, live nodes inside a loop of your own, and the functions on arrays
that a round is made of.")
list(APPEND CPACK_COMPONENTS_ALL python)
