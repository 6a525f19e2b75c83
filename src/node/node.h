// One participant: a model, what it tells of it (Sharing), when and to whom (Protocol). A state
// machine that is driven and never drives: handle() is told what happened and acts on the world
// through the Env it is handed. It contains no metrics; observers read the model and the
// counters from outside.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/word_counts.h"
#include "codec/wire.h"
#include "node/env.h"
#include "node/local_model.h"
#include "node/protocol.h"
#include "sharing/sharing.h"

namespace tessera {

// What a node tells, when and to whom, and how it is written. Messages of one voice are told from
// those of another by `run`.
struct Voice {
  std::uint64_t run = 0;  // Tells this experiment's messages from another's.
  std::unique_ptr<Sharing> sharing{};
  std::unique_ptr<Protocol> protocol{};
  Codec codec{};
};

// A second voice that interrupts the first between two rounds, and speaks last: a merge. It has
// done its part when its protocol says finish(), and its protocol's on_start begins the next.
struct MergeParts {
  Voice voice{};
  Round every = 0;    // Rounds of the first voice from one merge to the next; 0: not by rounds.
  Duration period{};  // Time from one merge to the next; zero: not by time. By neither: at the end.
  // By time: how many there are before the last, 0 where that is not known; and after how long one
  // is over, zero where it may take any time.
  Round times = 0;
  Duration lasts_max{};
  Codec last_codec{};  // Of the last merge, in place of the voice's.
};

struct NodeParts {
  NodeId id = 0;
  std::uint64_t run = 0;  // Tells this experiment's messages from another's.
  Vector model{};
  std::unique_ptr<Sharing> sharing{};
  std::unique_ptr<Protocol> protocol{};
  Codec codec{};
  Random random{0};  // This node's own branch of the seed's tree.
  std::optional<MergeParts> merge{};
  std::uint32_t samples = 0;  // To train on.
};

class Node {
 public:
  // Throws std::invalid_argument where the sharing sends pieces and the protocol cannot.
  explicit Node(NodeParts parts);

  void handle(Event&& event, Env& env);

  NodeId id() const { return id_; }
  // How many it trains on, for protocols that weigh by them.
  std::uint32_t samples() const { return samples_; }
  const Vector& model() const { return model_.values(); }
  std::uint64_t age() const { return model_.age(); }  // Trainings the model has seen.
  // A round that ends in a merge is done when that is.
  Round rounds_done() const;
  // Of those, how many it passed over without training, to catch up with the others.
  Round rounds_skipped() const { return first_.protocol->rounds_skipped(); }
  bool finished() const { return finished_; }
  // Training has made its model one that cannot learn any more: not finite, or longer than
  // kNormMax. It handles nothing from then on, so no peer is told of it, and is never saved. Its
  // driver says so and ends the run, or goes back to what was saved last.
  bool diverged() const { return diverged_; }
  bool training() const { return model_.training(); }
  float last_loss() const { return model_.last_loss(); }
  // Messages turned away, by the reason's one word, and other things worth counting (a peer that
  // missed a round, ...), likewise.
  WordCounts refusals() const;
  const WordCounts& notes() const { return notes_; }
  // The refusals again: by the reason's word, how many of whose messages.
  using CountsBySender = std::map<std::string, std::map<NodeId, std::uint64_t>, std::less<>>;
  const CountsBySender& refusals_by_sender() const { return refusals_; }
  // Whether honest messages are turned away under this word too, because of when they come. Any
  // other says that the sender is broken, hostile, or set up otherwise than we are.
  static bool is_ordinary(std::string_view refusal);
  std::size_t kept_bytes() const;  // Of peers' shares that it holds for later.
  // The values a share of these coordinates would have, were this the node's model.
  Vector told_of(std::span<const float> model, const Coordinates& coordinates) const {
    return first_.sharing->told_of(model, coordinates);
  }
  std::string waiting_for() const { return finished_ ? "" : current().protocol->waiting_for(); }

  // The verbs, for protocols; only while handling an event.
  void train();
  std::vector<Share> pack();
  // For protocols that take no pieces: the constructor saw that there are none.
  Share pack_whole();
  Heading heading(Round round, std::uint32_t degree) const {
    return {.round = round, .degree = degree, .age = age()};
  }
  void send(const Heading& heading, const Share& share, std::span<const NodeId> peers);
  // The same in two steps, for shares whose copies are not sent one after the other.
  Payload encode(const Heading& heading, const Share& share);
  void send(const Payload& payload, NodeId peer);
  Round merge_number() const;  // Of the merge under way, from 0.
  std::uint32_t piece_of(const Share& share) const { return speaking().sharing->piece_of(share); }
  void merge(std::span<const Contribution> others);
  // For a round without averaging: the sharing's memory of it is over all the same.
  void end_round() { merge({}); }
  void drop_unsent();
  void wake_after(Duration delay);
  Instant now() const;
  void finish();
  void refuse(NodeId from, std::string_view reason);
  void note(std::string_view what, std::uint64_t times = 1);
  const Random& random() const { return random_; }

  void fields(Archive& archive);

 private:
  // The second voice, and how far the node is with it.
  struct Merge {
    MergeParts parts{};
    bool under_way = false;
    bool last = false;  // The first voice has come to its end.
    Round merged = 0;   // Rounds it had done when the last merge was over; by time, merges.
    bool by_time() const { return parts.period > Duration::zero(); }
    bool is_final() const { return last && merged >= parts.times; }
  };
  bool merging() const { return merge_ && merge_->under_way; }
  bool merge_is_due() const;
  void pass_over_merges(bool at_end);
  void begin_merge();
  void end_merge();
  void begin_training();
  const Voice& current() const { return merging() ? merge_->parts.voice : first_; }
  const Voice& speaking() const { return second_speaks_ ? merge_->parts.voice : first_; }
  const Codec& codec() const {
    return second_speaks_ && merge_->is_final() ? merge_->parts.last_codec : speaking().codec;
  }
  // Has a voice's protocol do something: the verbs it uses are meant for that voice.
  template <typename Act>
  void let_speak(bool second, Act act);

  std::vector<const Share*> kept() const;
  bool admits_what_is_kept() const;
  void on(Started);
  void on(Arrived arrived);
  void on(Woke);
  void on(Trained trained);

  NodeId id_;
  std::uint32_t samples_;
  LocalModel model_;
  Voice first_;
  std::optional<Merge> merge_;
  bool second_speaks_ = false;
  Random random_;

  Env* env_ = nullptr;  // Set while an event is handled.
  bool finished_ = false;
  bool diverged_ = false;
  std::uint64_t packed_ = 0;  // Packs so far: they name the fork each one draws from.
  std::uint64_t sent_ = 0;    // Encoded shares so far, likewise.
  CountsBySender refusals_;
  WordCounts notes_;
};

}  // namespace tessera
