// Everything the layers above need to learn, from one line each: data, who holds which samples, a
// model, how it is trained and where.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/partition.h"
#include "learn/export.h"
#include "node/trainer.h"

namespace tessera {

struct LearningOptions {
  std::string model{};           // "gn-lenet", "torchscript:file=my.pt"
  std::string training = "sgd";  // "sgd:lr=0.01,batch=8,steps=3"
  std::string device = "cpu";    // "cuda", "cpu:mode=reference"
  unsigned threads = 0;          // On the CPU; 0 takes one per core.
  std::uint64_t seed = 0;        // Of the initial parameters; a module's come with its file.
  std::size_t test_samples = 0;  // Spread evenly over each node's test samples; 0 takes them all.
};

struct Learning {
  std::unique_ptr<Trainer> trainer{};
  std::unique_ptr<Evaluator> evaluator{};
  std::unique_ptr<Exporter> exporter{};
  std::string description{};  // "gn-lenet, 89834 parameters, hand-written kernels"
};

// Throws std::invalid_argument when a line is wrong or does not fit the data.
Learning make_learning(const LoadedData& data, const Partition& partition,
                       const LearningOptions& options);

}  // namespace tessera
