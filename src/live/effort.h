// What a node has done of its run, and in whose company. A node that came to the last round without
// having done its work, because it skipped rounds or had nobody to talk to, must not say that it
// has finished.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/archive.h"
#include "base/ids.h"
#include "live/link/peer_state.h"

namespace tessera {

// Where a node has links that it keeps, they are its company. Where it makes them as it goes, so is
// whoever has been there and rests.
bool has_company(std::span<const PeerState> peers);

class Effort {
 public:
  struct Limits {
    double skipped_max = 0.1;  // The part of its rounds that a node may leave out.
    double alone_max = 0.5;    // The part of its trainings that it may do without a living peer.
    // So long without a living peer is said in the log.
    Duration alone_min = std::chrono::seconds(5);
  };
  struct Done {
    Round rounds = 0;             // It counts as completed.
    std::uint64_t trainings = 0;  // It has made.
  };
  explicit Effort(Limits limits) : limits_(limits) {}

  // It began with the model of a node that had completed so many rounds: those are not its work.
  void join(Round rounds) { joined_at_ = rounds; }
  // Rounds that it counts as completed and has not trained in.
  std::uint64_t skipped(Done done) const;

  std::uint64_t trained_alone() const { return trained_alone_; }

  // Looks who is there, a few times a second. A line for the log when there is something to say:
  // once a node has been alone for a while, then ever more rarely, and when it no longer is.
  std::string look(Instant now, std::span<const PeerState> peers, Done done);

  // What is wrong now, for the status; and why the node cannot be called finished. Empty: nothing.
  std::string alarm(Instant now) const;
  std::string shortfall(Done done) const;

  void fields(Archive& archive) { archive(joined_at_, trained_alone_); }

 private:
  struct Alone {
    Instant since{};
    Duration said_after{};  // When it is said next.
  };
  std::string find_company(Instant now);

  Limits limits_;
  Round joined_at_ = 0;
  std::uint64_t trained_alone_ = 0;
  std::uint64_t trained_ = 0;  // As of the last look.
  std::optional<Alone> alone_;
};

}  // namespace tessera
