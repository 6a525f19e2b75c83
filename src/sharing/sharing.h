// What a node tells its peers, and how it folds in what it hears: the first of the three questions.
// A Sharing knows vectors and its own memory; of peers it knows whose share is whose, and of time
// and bytes nothing.
//
// Calls come in this order, once per node:  start, then pack and merge in turn (pack may be called
// without a merge when nothing was heard in between, merge with nothing to fold in).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "base/random.h"
#include "base/result.h"
#include "base/spec.h"
#include "base/table.h"
#include "codec/share.h"
#include "sharing/rule.h"

namespace tessera {

// One peer's share and the weight the protocol gives it. Weights of all contributions sum to less
// than one; what is left is the receiver's own.
struct Contribution {
  float weight = 0;
  const Share* share = nullptr;
  NodeId from = 0;
};

class Sharing {
 public:
  virtual ~Sharing() = default;

  // The model every node begins with, before the first local step, and again what all have where
  // they averaged exactly.
  virtual void start(std::span<const float> model) = 0;

  // What to tell of the model as it is now. Several shares only where the model travels in
  // fragments.
  virtual std::vector<Share> pack(std::span<const float> model, const Random& random) = 0;

  // The share as merge() wants it: as it came, or a new one with implied coordinates written out.
  // Refuses one that is not for us: another dimension, coordinates this sharing never sends, more
  // or fewer values than coordinates. What was admitted is admitted again.
  virtual Result<HeardShare> admit(HeardShare share) const = 0;

  // Folds admitted shares into the model, and ends a round of the sharing's memory: a protocol that
  // goes on without averaging calls it with none. The order of `others` is the order of the sums,
  // so the protocol sorts it.
  virtual void merge(std::span<float> model, std::span<const Contribution> others) = 0;

  // The values a share of these coordinates would have, were this the model: for those who tell
  // something else than they have.
  virtual Vector told_of(std::span<const float> model, const Coordinates& coordinates) const;

  // Into how many pieces pack() cuts a model, at most, and which of them a share is. A newer share
  // of a piece makes the sender's older one of no use.
  virtual std::uint32_t pieces() const { return 1; }
  virtual std::uint32_t piece_of(const Share&) const { return 0; }
  // Whether every pack() tells all of them, so that a receiver may wait for each.
  virtual bool tells_every_piece() const { return pieces() == 1; }

  // The memory a checkpoint must keep, if there is any.
  virtual void fields(Archive&) {}
};

// What every sharing of a run is made for.
struct SharingContext {
  std::uint32_t dimension = 0;  // Parameters of the model.
  std::vector<std::uint32_t>
      tensors{};           // How many of them each tensor has, in order; empty: one tensor.
  std::uint64_t seed = 0;  // Shared by all nodes: for layouts everyone must agree on.
  bool lossless_codec = true;
  Round rounds = 0;                    // How many a node goes through; 0: not known.
  std::shared_ptr<const Rule> rule{};  // How shares are averaged; null: the sharing's own choice.
};

struct SharingKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  std::unique_ptr<Sharing> (*make)(Options& options, const SharingContext& context) = nullptr;
  // Keeps memory of its neighbours, which a redrawn graph would falsify.
  bool fixed_peers_only = false;
  // What it remembers of them survives lost messages and merges between rounds, because it tells
  // everything anew from time to time.
  bool resynchronizes = false;
  // Folds in by a rule of its own: a run may not ask for another.
  bool own_rule = false;
};

std::span<const SharingKind> sharings();
// For a row from outside the tree, before anything is made of the table. Throws if its name is
// taken.
void register_sharing(const SharingKind& kind);

// All throw std::invalid_argument for an unknown name, option or value.
Chosen<SharingKind> choose_sharing(std::string_view line);
std::unique_ptr<Sharing> make_sharing(const Chosen<SharingKind>& chosen,
                                      const SharingContext& context);
std::unique_ptr<Sharing> make_sharing(std::string_view line, const SharingContext& context);

// Each kind's own file has one of these.
std::unique_ptr<Sharing> make_full(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_random_sampling(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_topk(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_jwins(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_choco(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_loop(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_moniqua(Options& options, const SharingContext& context);
std::unique_ptr<Sharing> make_fragments(Options& options, const SharingContext& context);

}  // namespace tessera
