#!/usr/bin/env bash
# python_test.sh FOLDER PYTHON: the module of the package python3-tessera, unpacked and imported from there.
set -euo pipefail
dpkg-deb -x "$1"/python3-tessera_*.deb "$1/unpacked"
cd "$1"
PYTHONPATH=$1/unpacked/usr/lib/python3/dist-packages "$2" -B -c "import tessera
tessera.Simulation(model='quadratic', nodes=3, protocol='dpsgd:rounds=2', topology='ring').run()"
