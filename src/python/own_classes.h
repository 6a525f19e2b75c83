// Classes that were handed over from Python, by the names that an experiment's lines call them:
// "python:class='module.Class'".
#pragma once

#include <pybind11/pybind11.h>

#include <map>
#include <string>
#include <utility>

#include "base/spec.h"

namespace tessera {

// Never destroyed: Python is gone by then. All calls with the GIL.
class OwnClasses {
 public:
  // The newest of a name counts: a notebook's cell that is run again makes its classes again.
  void add(const std::string& name, pybind11::object make) { makers_[name] = std::move(make); }
  // The name that the options give, which must be known.
  std::string require(Options& options, std::string_view line) const {
    std::string name = options.text("class");
    if (!makers_.contains(name))
      options.refuse("class", "no such class was handed over: write " + std::string(line) +
                                  "=TheClass, without quotes");
    return name;
  }
  pybind11::object make(const std::string& name) const { return makers_.at(name)(); }

 private:
  std::map<std::string, pybind11::object> makers_{};
};

}  // namespace tessera
