// An experiment: a TOML file of one-line specs. Every key is also a flag, and the flag wins:
//
//   tessera train experiments/jwins/cifar10.toml --training=sgd:lr=0.05,batch=8,steps=128
//
// A file may begin where another ends: base = "cifar10.toml" takes that file's keys first.
//
// One table holds the keys, so that the file, the flags, the help text and the resolved config.toml
// cannot disagree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// As text, nothing of it read; run/plan.h reads it.
struct Experiment {
  std::string nodes = "16";
  std::string seed = "90";
  std::string data = "synthetic";
  std::string partition = "iid";
  std::string model = "logistic";
  std::string training = "sgd:lr=0.05,batch=16,steps=10";
  std::string topology = "regular:degree=4";
  std::string protocol = "dpsgd:rounds=100";
  std::string sharing = "full";
  std::string rule = "auto";
  std::string codec = "gamma+planes";
  std::string merge{};  // Empty: none.
  std::string network = "ideal";
  std::string compute = "constant:round=1s";
  std::string faults = "none";
  std::string evaluate{};  // Empty: the plan takes what fits the protocol.
  std::string device = "cpu";
};

// The two keys that are numbers. Throw std::invalid_argument.
std::uint32_t parse_nodes(std::string_view text);
std::uint64_t parse_seed(std::string_view text);
// The seeds of several runs: "90..94" or "90,93"; none in an empty text.
std::vector<std::string> parse_seeds(std::string_view text);

struct ExperimentKey {
  std::string_view name{};
  std::string_view summary{};
  std::string Experiment::*value = nullptr;
};

std::span<const ExperimentKey> experiment_keys();

// Throws std::invalid_argument that names file, line and, for an unknown key, the nearest known
// one. "FILE:CELL" is one of the experiments of a sweep (run/sweep.h).
Experiment read_experiment(const std::filesystem::path& path);
// The same from a text; `where` is what messages call it, and where its base is looked for.
Experiment parse_experiment(std::string_view text, const std::filesystem::path& where);
// Every key; what is empty is left out.
std::string to_toml(const Experiment& experiment);

// Lines that win over what is there. Throws std::invalid_argument for an unknown one; empty ones
// say nothing.
void set_lines(Experiment& experiment, const std::map<std::string, std::string>& lines);

// What a command line says of an experiment: a file, and flags that win over it.
struct ExperimentArguments {
  std::string file{};
  std::map<std::string, std::string> flags{};
  Experiment resolve() const;
};

}  // namespace tessera
