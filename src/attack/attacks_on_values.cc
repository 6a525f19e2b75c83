// Attacks on what is told. The omniscient ones make a model from those of the honest nodes; it is
// then told in the sharing's own domain, at the coordinates the node would have told.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attack/attack.h"

namespace tessera {
namespace {

// The mean of the honest neighbours' models, and their deviation by coordinate (of a sample: over
// n - 1).
struct Crowd {
  std::vector<double> mean{}, deviation{};

  explicit Crowd(const Scene& scene) {
    std::vector<std::span<const float>> models;
    for (const NodeId id : scene.neighbours.honest(scene.self)) models.push_back(scene.model(id));
    const std::size_t dimension = scene.model(scene.self).size();
    mean.resize(dimension);
    deviation.resize(dimension);
    if (models.empty()) return;
    const auto count = static_cast<double>(models.size());
    for (std::size_t k = 0; k < dimension; ++k) {
      for (const auto model : models) mean[k] += double{model[k]} / count;
      double squares = 0;
      for (const auto model : models) squares += std::pow(double{model[k]} - mean[k], 2);
      deviation[k] = std::sqrt(squares / std::max(1.0, count - 1));
    }
  }
};

class SignFlip final : public Attack {
 public:
  void change(Message& message, Random) const override {
    for (float& value : message.share.values) value = -value;
  }
};

// Xie, Koyejo and Gupta, "Fall of empires", UAI 2019: a mean that points the wrong way.
class InnerProductManipulation final : public Attack {
 public:
  explicit InnerProductManipulation(double epsilon) : epsilon_(epsilon) {}
  Vector model(const Scene& scene) const override {
    Vector lie;
    for (const double mean : Crowd(scene).mean) lie.push_back(static_cast<float>(-epsilon_ * mean));
    return lie;
  }

 private:
  double epsilon_;
};

// Baruch, Baruch and Goldberg, "A little is enough", NeurIPS 2019: so few deviations from the mean
// that an honest node may be farther away.
class ALittleIsEnough final : public Attack {
 public:
  explicit ALittleIsEnough(double z) : z_(z) {}
  Vector model(const Scene& scene) const override {
    const Crowd crowd(scene);
    Vector lie;
    for (std::size_t k = 0; k < crowd.mean.size(); ++k)
      lie.push_back(static_cast<float>(crowd.mean[k] + z_ * crowd.deviation[k]));
    return lie;
  }

 private:
  double z_;
};

// He, Karimireddy and Jaggi, "Byzantine-robust decentralized learning via ClippedGossip", 2022. To
// node i, whose averaging moves it by sum_k w_ik (x_k - x_i) over its honest neighbours k, and
// which b hostile ones talk to:
//
//   x_i - epsilon sum_k w_ik (x_k - x_i) / sum_b w_ib
//
// With epsilon = 1 it stays where it is; with more it moves away from the others.
class Dissensus final : public Attack {
 public:
  explicit Dissensus(double epsilon) : epsilon_(epsilon) {}
  Vector model(const Scene& scene) const override {
    const Neighbours& neighbours = scene.neighbours;
    if (neighbours.is_hostile(scene.to)) return {};
    const std::span<const float> target = scene.model(scene.to);
    std::vector<double> pull(target.size(), 0);
    for (const NodeId id : neighbours.honest(scene.to)) {
      const double weight = neighbours.weight(scene.to, id);
      const std::span<const float> other = scene.model(id);
      for (std::size_t k = 0; k < pull.size(); ++k)
        pull[k] += weight * (double{other[k]} - double{target[k]});
    }
    double hostile = 0;
    for (const NodeId id : neighbours.hostile(scene.to)) hostile += neighbours.weight(scene.to, id);
    Vector lie;
    for (std::size_t k = 0; k < pull.size(); ++k)
      lie.push_back(static_cast<float>(double{target[k]} - epsilon_ * pull[k] / hostile));
    return lie;
  }

 private:
  double epsilon_;
};

class RandomValues final : public Attack {
 public:
  explicit RandomValues(double sigma) : sigma_(sigma) {}
  void change(Message& message, Random random) const override {
    for (float& value : message.share.values) value = static_cast<float>(sigma_ * random.normal());
  }

 private:
  double sigma_;
};

class NotANumber final : public Attack {
 public:
  void change(Message& message, Random random) const override {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr std::array kWild = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
    const float wild = kWild[random.below(kWild.size())];
    Vector& values = message.share.values;
    if (values.empty()) return;
    // One is enough, and harder to see than all.
    if (random.below(2) == 0)
      values[random.below(values.size())] = wild;
    else
      std::fill(values.begin(), values.end(), wild);
  }
};

}  // namespace

std::unique_ptr<Attack> make_sign_flip(Options&) {
  return std::make_unique<SignFlip>();
}

std::unique_ptr<Attack> make_ipm(Options& options) {
  return std::make_unique<InnerProductManipulation>(options.number("epsilon", 0.1, above(0)));
}

std::unique_ptr<Attack> make_alie(Options& options) {
  return std::make_unique<ALittleIsEnough>(options.number("z", 1.5, between(-1e9, 1e9)));
}

std::unique_ptr<Attack> make_dissensus(Options& options) {
  return std::make_unique<Dissensus>(options.number("epsilon", 1.5, above(0)));
}

std::unique_ptr<Attack> make_random_values(Options& options) {
  return std::make_unique<RandomValues>(options.number("sigma", 1, above(0)));
}

std::unique_ptr<Attack> make_nan(Options&) {
  return std::make_unique<NotANumber>();
}

}  // namespace tessera
