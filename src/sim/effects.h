// What one node does while it handles its events: written down now, carried out by the simulation
// when all nodes are done.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "node/env.h"
#include "sim/trainings.h"

namespace tessera {

class Effects final : public Env {
 public:
  Instant now() const override { return now_; }
  void send(NodeId to, Payload payload) override { sends.emplace_back(to, std::move(payload)); }
  void drop_unsent() override {
    sends.clear();
    forget_unsent = true;
  }
  void wake_after(Duration delay) override { wakes.push_back(delay); }
  void train(const Vector& model, Random random) override {
    training = Training{.model = model, .random = random};
  }

  void begin(Instant now) {
    now_ = now;
    sends.clear();
    wakes.clear();
    training.reset();
    forget_unsent = false;
  }

  bool forget_unsent = false;  // Of what was sent before; it comes first.
  std::vector<std::pair<NodeId, Payload>> sends;
  std::vector<Duration> wakes;
  std::optional<Training> training;

 private:
  Instant now_{};
};

}  // namespace tessera
