// The papers' models written the way a PyTorch user would, with torch::nn modules: what the stacked
// layers and the CPU layers are compared with, in tests and by the benchmark. They know
// nothing of our layers; only names and order agree.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "torch/libtorch.h"

namespace tessera::twins {

struct Module : torch::nn::Module {
  virtual torch::Tensor forward(torch::Tensor x) = 0;  // x is [batch, ...].
};

std::shared_ptr<Module> gn_lenet(int side, int channels, int classes);
std::shared_ptr<Module> celeba_cnn(int side, int classes);
std::shared_ptr<Module> femnist_cnn(int side, int classes);
std::shared_ptr<Module> lstm(int length, int vocabulary);
std::shared_ptr<Module> resnet8(int channels, int classes, int groups);
std::shared_ptr<Module> matrix_factorization(int users, int items, int factors);

// A flat vector into the module's parameters, in state_dict order, and their gradients out of it.
void load(torch::nn::Module& module, std::span<const float> flat);
std::vector<float> gradients(const torch::nn::Module& module);

}  // namespace tessera::twins
