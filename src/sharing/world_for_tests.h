// A few nodes in lock-step, without messages or time: what a sharing's own tests need.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "sharing/sharing.h"

namespace tessera {

inline Result<HeardShare> admit(const Sharing& sharing, Share share) {
  return sharing.admit(std::make_shared<const Share>(std::move(share)));
}

struct TestWorld {
  // Nodes 0 ... n-1 on a ring (n = 1: alone, n = 2: one edge), with Metropolis-Hastings weights.
  TestWorld(const std::string& spec, std::size_t nodes, Vector initial,
            const std::string& rule = "auto") {
    const SharingContext context{.dimension = static_cast<std::uint32_t>(initial.size()),
                                 .rule = make_rule(rule)};
    for (std::size_t i = 0; i < nodes; ++i) {
      sharings.push_back(make_sharing(spec, context));
      sharings.back()->start(initial);
      models.push_back(initial);
    }
  }

  std::vector<std::size_t> peers(std::size_t i) const {
    const std::size_t n = models.size();
    if (n == 1) return {};
    if (n == 2) return {1 - i};
    const std::size_t left = (i + n - 1) % n, right = (i + 1) % n;
    return left < right ? std::vector{left, right} : std::vector{right, left};
  }

  float weight() const { return models.size() == 2 ? 0.5f : 1.0f / 3; }

  // Every node packs, hears its neighbours and merges; returns what each one sent.
  std::vector<Share> exchange(const Random& random) {
    std::vector<Share> sent;
    for (std::size_t i = 0; i < models.size(); ++i)
      sent.push_back(sharings[i]->pack(models[i], random.fork("node", i)).front());
    std::vector<HeardShare> heard;
    for (std::size_t i = 0; i < models.size(); ++i)
      heard.push_back(admit(*sharings[i], sent[i]).value());
    for (std::size_t i = 0; i < models.size(); ++i) {
      std::vector<Contribution> others;
      for (const std::size_t j : peers(i))
        others.push_back({weight(), heard[j].get(), static_cast<NodeId>(j)});
      sharings[i]->merge(models[i], others);
    }
    return sent;
  }

  // A stand-in for training: node i moves towards a point of its own, more in some coordinates than
  // in others.
  void train(const Random& random) {
    for (std::size_t i = 0; i < models.size(); ++i) {
      Random noise = random.fork("train", i);
      for (std::size_t k = 0; k < models[i].size(); ++k) {
        const auto target = static_cast<float>(((k + 1) * (i + 3)) % 17) - 8.0f;
        models[i][k] += 0.1f * (target - models[i][k]) + 0.02f * static_cast<float>(noise.normal());
      }
    }
  }

  std::vector<std::unique_ptr<Sharing>> sharings{};
  std::vector<Vector> models{};
};

inline Vector test_model(std::size_t dimension, std::uint64_t seed) {
  Random random(seed);
  Vector model(dimension);
  for (float& v : model) v = static_cast<float>(random.normal());
  return model;
}

}  // namespace tessera
