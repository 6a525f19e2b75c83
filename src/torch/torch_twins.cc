#include "torch/torch_twins.h"

#include <vector>

#include "base/check.h"
#include "torch/tensors.h"

namespace tessera::twins {
namespace {

namespace nn = torch::nn;

nn::Conv2d same(int in, int out, int kernel) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).padding(kernel / 2));
}

struct GnLenet final : Module {
  nn::Conv2d conv1, conv2, conv3;
  nn::GroupNorm gn1, gn2, gn3;
  nn::Linear fc1;
  GnLenet(int side, int channels, int classes)
      : conv1(same(channels, 32, 5)),
        conv2(same(32, 32, 5)),
        conv3(same(32, 64, 5)),
        gn1(2, 32),
        gn2(2, 32),
        gn3(2, 64),
        fc1(64 * (side / 8) * (side / 8), classes) {
    register_module("conv1", conv1);
    register_module("gn1", gn1);
    register_module("conv2", conv2);
    register_module("gn2", gn2);
    register_module("conv3", conv3);
    register_module("gn3", gn3);
    register_module("fc1", fc1);
  }
  torch::Tensor forward(torch::Tensor x) override {
    x = torch::max_pool2d(torch::relu(gn1(conv1(x))), 2);
    x = torch::max_pool2d(torch::relu(gn2(conv2(x))), 2);
    x = torch::max_pool2d(torch::relu(gn3(conv3(x))), 2);
    return fc1(x.flatten(1));
  }
};

struct CelebaCnn final : Module {
  nn::Conv2d conv1, conv2, conv3, conv4;
  nn::Linear fc1;
  CelebaCnn(int side, int classes)
      : conv1(same(3, 32, 3)),
        conv2(same(32, 32, 3)),
        conv3(same(32, 32, 3)),
        conv4(same(32, 32, 3)),
        fc1(32 * (side / 16) * (side / 16), classes) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("conv4", conv4);
    register_module("fc1", fc1);
  }
  torch::Tensor forward(torch::Tensor x) override {
    for (auto* conv : {&conv1, &conv2, &conv3, &conv4})
      x = torch::relu(torch::max_pool2d((*conv)(x), 2));
    return fc1(x.flatten(1));
  }
};

struct FemnistCnn final : Module {
  nn::Conv2d conv1, conv2;
  nn::Linear fc1, fc2;
  FemnistCnn(int side, int classes)
      : conv1(same(1, 32, 5)),
        conv2(same(32, 64, 5)),
        fc1(64 * (side / 4) * (side / 4), 512),
        fc2(512, classes) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) override {
    x = torch::max_pool2d(torch::relu(conv1(x)), 2);
    x = torch::max_pool2d(torch::relu(conv2(x)), 2);
    return fc2(torch::relu(fc1(x.flatten(1))));
  }
};

struct Lstm final : Module {
  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear fc;
  Lstm(int length, int vocabulary)
      : embedding(vocabulary, 8),
        lstm(nn::LSTMOptions(8, 256).num_layers(2).batch_first(true)),
        fc(length * 256, vocabulary) {
    register_module("embedding", embedding);
    register_module("lstm", lstm);
    register_module("fc", fc);
  }
  torch::Tensor forward(torch::Tensor x) override {
    const torch::Tensor states = std::get<0>(lstm->forward(embedding(x.to(torch::kInt64))));
    return fc(torch::relu(states.flatten(1)));
  }
};

struct BasicBlock final : nn::Module {
  nn::Conv2d conv1, conv2;
  nn::GroupNorm gn1, gn2;
  nn::Sequential shortcut;
  BasicBlock(int in, int out, int stride, int groups)
      : conv1(nn::Conv2dOptions(in, out, 3).stride(stride).padding(1)),
        conv2(same(out, out, 3)),
        gn1(groups, out),
        gn2(groups, out) {
    register_module("conv1", conv1);
    register_module("gn1", gn1);
    register_module("conv2", conv2);
    register_module("gn2", gn2);
    if (in == out && stride == 1) return;
    shortcut->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 1).stride(stride)));
    shortcut->push_back(nn::GroupNorm(groups, out));
    register_module("shortcut", shortcut);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor body = gn2(conv2(torch::relu(gn1(conv1(x)))));
    return torch::relu(body + (shortcut->is_empty() ? x : shortcut->forward(x)));
  }
};

struct Resnet8 final : Module {
  nn::Conv2d conv1;
  nn::GroupNorm gn1;
  std::shared_ptr<BasicBlock> block1, block2, block3;
  nn::Linear fc;
  Resnet8(int channels, int classes, int groups)
      : conv1(same(channels, 16, 3)), gn1(groups, 16), fc(64, classes) {
    register_module("conv1", conv1);
    register_module("gn1", gn1);
    block1 = register_module("block1", std::make_shared<BasicBlock>(16, 16, 1, groups));
    block2 = register_module("block2", std::make_shared<BasicBlock>(16, 32, 2, groups));
    block3 = register_module("block3", std::make_shared<BasicBlock>(32, 64, 2, groups));
    register_module("fc", fc);
  }
  torch::Tensor forward(torch::Tensor x) override {
    x = torch::relu(gn1(conv1(x)));
    x = block3->forward(block2->forward(block1->forward(x)));
    return fc(x.mean({2, 3}));
  }
};

struct MatrixFactorization final : Module {
  nn::Embedding user_factors, item_factors;
  MatrixFactorization(int users, int items, int factors)
      : user_factors(users, factors), item_factors(items, factors) {
    register_module("user_factors", user_factors);
    register_module("item_factors", item_factors);
  }
  torch::Tensor forward(torch::Tensor x) override {
    const torch::Tensor chosen = x.to(torch::kInt64);
    return (user_factors(chosen.select(1, 0)) * item_factors(chosen.select(1, 1))).sum(1);
  }
};

}  // namespace

std::shared_ptr<Module> gn_lenet(int side, int channels, int classes) {
  return std::make_shared<GnLenet>(side, channels, classes);
}
std::shared_ptr<Module> celeba_cnn(int side, int classes) {
  return std::make_shared<CelebaCnn>(side, classes);
}
std::shared_ptr<Module> femnist_cnn(int side, int classes) {
  return std::make_shared<FemnistCnn>(side, classes);
}
std::shared_ptr<Module> lstm(int length, int vocabulary) {
  return std::make_shared<Lstm>(length, vocabulary);
}
std::shared_ptr<Module> resnet8(int channels, int classes, int groups) {
  return std::make_shared<Resnet8>(channels, classes, groups);
}
std::shared_ptr<Module> matrix_factorization(int users, int items, int factors) {
  return std::make_shared<MatrixFactorization>(users, items, factors);
}

void load(torch::nn::Module& module, std::span<const float> flat) {
  const torch::NoGradGuard no_gradients;
  for (torch::Tensor& parameter : module.parameters()) {
    const auto size = static_cast<std::size_t>(parameter.numel());
    CHECK(size <= flat.size());
    parameter.copy_(view_of(flat.first(size)).view(parameter.sizes()));
    flat = flat.subspan(size);
  }
  CHECK(flat.empty());
}

std::vector<float> gradients(const torch::nn::Module& module) {
  std::vector<float> flat;
  for (const torch::Tensor& parameter : module.parameters()) {
    const std::size_t at = flat.size();
    flat.resize(at + static_cast<std::size_t>(parameter.numel()));
    copy_to(parameter.grad(), std::span(flat).subspan(at));
  }
  return flat;
}

}  // namespace tessera::twins
