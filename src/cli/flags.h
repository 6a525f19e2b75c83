// Flags that several commands have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/spec.h"
#include "run/experiment.h"

// Its header takes longer to read than all of ours.
namespace CLI {
class App;
}

namespace tessera {

// An experiment's file, and a flag for every key.
std::shared_ptr<ExperimentArguments> add_experiment_options(CLI::App& parser);

// The columns of a table, as --columns names them. Throws std::invalid_argument.
std::vector<std::string> columns_of(std::string_view text);

// What is wrong with a flag's whole number, or nothing: the form in which CLI11 asks.
std::string whole_number_fault(std::string_view text, Interval accepted);

}  // namespace tessera
