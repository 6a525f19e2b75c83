// The part of the Runtime that is about checkpoints: writing them, and going on from them.
#include <fmt/format.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "live/runtime.h"

namespace tessera {
namespace {

constexpr auto kWorkNap = std::chrono::milliseconds(5);
constexpr auto kSaveNap = std::chrono::milliseconds(200);

}  // namespace

// A checkpoint is one node's, of one run.
void Runtime::refuse_anothers(Archive& archive) const {
  std::uint64_t run = parts_.run;
  NodeId id = parts_.id;
  archive(run, id);
  if (run != parts_.run)
    archive.refuse(fmt::format("it is of run {:016x}, and this is run {:016x}", run, parts_.run));
  if (id != parts_.id)
    archive.refuse(fmt::format("it is of node {}, and this is node {}", id, parts_.id));
}

void Runtime::fields(Archive& archive) {
  refuse_anothers(archive);
  archive(clock_, sending_, company_.acquaintances, records_, effort_, *node_, *parts_.trainer);
}

bool Runtime::checkpoint() {
  refuse_divergence(*node_, clock_.now());
  sending_.gone_out();  // Counts what has left until now.
  Bytes state;
  save_fields(*this, state);
  if (!records_.write_checkpoint(clock_.now(), node_->rounds_done(), state)) return false;
  joining_.forget_kept();  // The node that was saved has heard it.
  return true;
}

// A disk that is full may have room again in a moment.
void Runtime::save_the_end() {
  const Instant until = clock_.now() + options_.stop_within;
  while (!checkpoint()) {
    if (clock_.now() >= until)
      throw std::runtime_error(
          fmt::format("the last checkpoint, after round {}, could not be written: what was learnt "
                      "since the one before is lost",
                      node_->rounds_done()));
    std::this_thread::sleep_for(kSaveNap);
  }
}

Result<void> Runtime::restore(ByteSpan state) {
  ByteReader in(state);
  if (Result<void> loaded = load_fields(*this, in); !loaded) return loaded;
  if (in.left() > 0) return Error{"checkpoint", "a saved live node is followed by something else"};
  restored_ = true;
  return {};
}

// Whose shares were such that no honest node sends them. Those were refused, but others of the same
// sender may have come near the bounds.
std::string Runtime::suspicion() const {
  std::string text;
  for (const auto& [reason, senders] : node_->refusals_by_sender())
    for (const auto& [from, count] : senders)
      if (reason == "not-finite" || reason == "too-large")
        text += fmt::format("; {} shares of {} were refused as {}: it may be the cause", count,
                            parts_.transport->peer(from).name, reason);
  return text;
}

// What was under way belongs to the model that is given up, and so do its evaluations.
void Runtime::go_back(const Divergence& why) {
  const Bytes state = went_back_ ? Bytes() : parts_.observer->last_checkpoint();
  if (state.empty()) throw Divergence(why.what() + suspicion());
  went_back_ = true;
  sending_.forget_held();
  while (work_.evaluating() || work_.training())
    if (!work_.take(true)) std::this_thread::sleep_for(kWorkNap);
  work_.forget_wanted();
  clock_.forget_wake_ups();
  leaving_.go_on();
  node_ = parts_.make_node(parts_.trainer->initial_model());
  or_throw(restore(state), std::string(why.what()) + "; cannot go back: ");
  parts_.observer->say(LogLevel::kError, fmt::format("{}; going back to round {}, this once",
                                                     why.what(), node_->rounds_done()));
  parts_.observer->on_went_back(*node_, *parts_.trainer);
  begin();
}

}  // namespace tessera
