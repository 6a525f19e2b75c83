#include "live/reception.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files.h"
#include "live/log_line.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool is_member(const Roster& roster, const Knocker& knocker) {
  const Member* const found = roster.find(knocker.name);
  return found != nullptr && found->public_key == knocker.said.public_key;
}

}  // namespace

Reception::Reception(ReceptionParts parts) : parts_(std::move(parts)) {
  if (parts_.folder.empty()) return;
  CHECK(parts_.experiment.size() <= kExperimentTextMax);
  if (Result<std::vector<Knocker>> kept = read_knockers(parts_.folder); kept.ok())
    knockers_ = std::move(*kept);
  else
    parts_.say(LogLevel::kWarning,
               fmt::format("who has knocked is forgotten: {}", kept.error().message));
  parts_.transport->answer_knocks_with(
      [this](std::string_view guest, ByteSpan frame) { return answer(guest, frame); });
}

Reception::~Reception() {
  if (!parts_.folder.empty()) parts_.transport->answer_knocks_with({});
}

void Reception::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
}

void Reception::look(const Roster& roster) {
  if (parts_.folder.empty()) return;
  std::vector<std::string> lines;
  std::optional<std::string> knocks;
  {
    const std::lock_guard lock(mutex_);
    read_invitations();
    if (roster_.version() != roster.version()) roster_ = roster;
    open_ = open_ || roster_.members().size() >= parts_.begin_with;
    set_guests();
    if (std::exchange(unsaved_, false)) knocks = to_text(knockers_);
    lines.swap(lines_);
  }
  for (const std::string& line : lines) parts_.say(LogLevel::kInfo, line);
  if (knocks) write_knocks(*knocks);
}

void Reception::read_invitations() {
  std::error_code ignored;
  const auto changed = fs::last_write_time(parts_.folder / kInvitationsFile, ignored);
  if (changed == read_at_) return;
  read_at_ = changed;
  Result<std::vector<Guest>> guests = read_guests(parts_.folder);
  if (!guests) {
    lines_.push_back(fmt::format("invitations stay as they were: {}", guests.error().message));
    return;
  }
  guests_ = std::move(*guests);
  // An invitation that was written anew is another one.
  const auto outdated = [&](const Knocker& knocker) {
    return std::none_of(guests_.begin(), guests_.end(),
                        [&](const Guest& guest) { return guest.key == knocker.key; });
  };
  unsaved_ = std::erase_if(knockers_, outdated) > 0 || unsaved_;
}

void Reception::set_guests() {
  std::erase_if(guests_, [](const Guest& guest) { return guest.until <= time_of_day(); });
  std::vector<std::string> keys;
  for (const Guest& guest : guests_) keys.push_back(guest.key);
  if (keys == keys_at_door_) return;
  parts_.transport->set_guests(keys);
  keys_at_door_ = std::move(keys);
}

// Without the lock: the transport's thread answers knocks, and must not wait for the disk.
void Reception::write_knocks(std::string_view text) {
  const Result<void> written = write_private_file(parts_.folder / kKnocksFile, {bytes_of(text)});
  const bool failed_before = std::exchange(write_failed_, !written);
  if (written.ok()) return;
  if (!failed_before)
    parts_.say(LogLevel::kWarning, fmt::format("who knocks is not written, and tried again: {}",
                                               written.error().message));
  const std::lock_guard lock(mutex_);
  unsaved_ = true;
}

Knocker* Reception::knocker_of(const Guest& guest) {
  for (Knocker& knocker : knockers_)
    if (knocker.name == guest.name && knocker.key == guest.key) return &knocker;
  return nullptr;
}

KnockStanding Reception::take_knock(const Guest& guest, const Knock& knock) {
  Knocker* known = knocker_of(guest);
  if (known != nullptr && known->said.public_key != knock.public_key) {
    if (disputed_.insert(guest.name).second)
      lines_.push_back(
          fmt::format("a second machine knocks with the invitation of {}, and is refused: the "
                      "first has the key {}",
                      guest.name, known->said.public_key));
    return KnockStanding::kTaken;
  }
  if (known == nullptr) {
    std::erase_if(knockers_, [&](const Knocker& other) { return other.name == guest.name; });
    known = &knockers_.emplace_back(Knocker{guest.name, guest.key, knock});
    unsaved_ = true;
    lines_.push_back(fmt::format(
        "{} knocks, {} with the key {}: tessera accept {}", guest.name,
        knock.address == kDialsOut ? "will dial out," : fmt::format("at {}", knock.address),
        knock.public_key, guest.name));
  }
  if (is_member(roster_, *known)) return open_ ? KnockStanding::kAccepted : KnockStanding::kEarly;
  if (known->said != knock) known->said = knock, unsaved_ = true;
  return KnockStanding::kWaiting;
}

KnockAnswer Reception::answer(std::string_view guest_key, ByteSpan frame) {
  const std::lock_guard lock(mutex_);
  const auto guest = std::find_if(guests_.begin(), guests_.end(),
                                  [&](const Guest& each) { return each.key == guest_key; });
  if (guest == guests_.end()) return {.standing = KnockStanding::kWrong};
  const Result<Knock> knock = decode_knock(frame);
  if (!knock || !knock_fault(*knock).empty()) {
    parts_.transport->count_refusal("knock");
    return {.standing = KnockStanding::kWrong};
  }
  KnockAnswer answer{.standing = take_knock(*guest, *knock)};
  if (answer.standing == KnockStanding::kTaken) {
    parts_.transport->count_refusal("invitation-taken");
    return answer;
  }
  answer.experiment = parts_.experiment;
  if (answer.standing == KnockStanding::kAccepted) answer.roster = roster_.to_toml();
  return answer;
}

}  // namespace tessera
