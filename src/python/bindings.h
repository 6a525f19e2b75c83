// The parts of the Python module, a file each. Wrong words throw std::invalid_argument, which
// Python sees as ValueError; what goes wrong in the world throws std::runtime_error, its
// RuntimeError.
#pragma once

#include <pybind11/pybind11.h>

namespace tessera {

void bind_kernels(pybind11::module_& module);  // Functions on arrays.
void bind_sharing(pybind11::module_& module);  // What a node tells, with its memory, and messages.
void bind_runs(pybind11::module_& module);     // Experiments, simulations.
void bind_folders(pybind11::module_& module);  // Runs' folders, pages and tables of them.
void bind_own_sharing(pybind11::module_& module);   // Sharings written in Python.
void bind_own_node(pybind11::module_& module);      // A node and shares, as protocols see them.
void bind_own_protocol(pybind11::module_& module);  // Protocols written in Python.
void bind_live_peer(pybind11::module_& module);     // A live node beside a loop.

}  // namespace tessera
