// What a hostile node does to what it tells. It trains, packs and answers as its protocol says; its
// messages are changed on their way out (attack/liar.h), simulated or live, so that an attack works
// with every protocol, sharing and codec. An attack is a row of a table; most have a class, which
// tells of another model than the node's own, or writes other values or another heading.
//
// Some attacks are omniscient, as in the literature: they look at the honest nodes' models of this
// very instant. Only a simulator can show them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attack/neighbours.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/spec.h"
#include "codec/wire.h"

namespace tessera {

// What an omniscient attacker sees when it speaks.
struct Scene {
  NodeId self = 0, to = 0;
  const Neighbours& neighbours;
  std::function<std::span<const float>(NodeId)> model{};
  // The values a share of these coordinates would have, were this the attacker's model.
  std::function<Vector(std::span<const float> model, const Coordinates&)> told_of{};
};

class Attack {
 public:
  virtual ~Attack() = default;
  // The model to tell of; empty: the node's own.
  virtual Vector model(const Scene&) const { return {}; }
  // What else to change, in a message that tells of that model.
  virtual void change(Message&, Random) const {}
};

struct AttackKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  std::unique_ptr<Attack> (*make)(Options& options) = nullptr;
  bool omniscient = false;    // It looks at a Scene.
  bool aims = false;          // Every receiver is told something else.
  bool repeats = false;       // The first message is sent again and again.
  bool flips_labels = false;  // Its data lies; its messages do not.
  bool moves_rounds = false;  // It tells of a round that nobody is in.
};

std::span<const AttackKind> attacks();

// How the hostile nodes of a run behave.
struct ChosenAttack {
  std::string spec{};  // As it was asked for.
  const AttackKind* kind = nullptr;
  std::shared_ptr<const Attack> attack{};
};
// Throws std::invalid_argument for an unknown name, option or value.
ChosenAttack make_attack(std::string_view spec);
// Throws std::invalid_argument for an attack that a live node cannot carry out.
void refuse_omniscient(const ChosenAttack& chosen);

std::unique_ptr<Attack> make_sign_flip(Options& options);
std::unique_ptr<Attack> make_ipm(Options& options);
std::unique_ptr<Attack> make_alie(Options& options);
std::unique_ptr<Attack> make_dissensus(Options& options);
std::unique_ptr<Attack> make_random_values(Options& options);
std::unique_ptr<Attack> make_nan(Options& options);
std::unique_ptr<Attack> make_future(Options& options);
std::unique_ptr<Attack> make_degree_lies(Options& options);
std::unique_ptr<Attack> make_age_lies(Options& options);

}  // namespace tessera
