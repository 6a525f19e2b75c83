#include "sim/blocks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

// A message as those hear of it who do not get it.
struct SentNote {
  NodeId to = 0;
  std::uint64_t bytes = 0, value_bytes = 0;
  void fields(Archive& archive) { archive(to, bytes, value_bytes); }
};

// What a node did while it handled its events.
struct DeedNote {
  Standing standing{};
  bool forget_unsent = false, trains = false;
  std::vector<SentNote> sends{};
  std::vector<Duration> wakes{};
  void fields(Archive& archive) { archive(standing, forget_unsent, trains, sends, wakes); }
};

struct Notes {
  std::uint8_t wished = 0;
  std::vector<DeedNote> deeds{};
  void fields(Archive& archive) { archive(wished, deeds); }
};

template <typename T>
Bytes saved(const T& object) {
  Bytes out;
  save_fields(object, out);
  return out;
}

template <typename T>
T loaded(ByteSpan bytes) {
  T object;
  ByteReader in(bytes);
  CHECK(load_fields(object, in).ok());  // From ourselves.
  return object;
}

DeedNote note_of(const Standing& standing, const Effects& effects) {
  DeedNote note{.standing = standing,
                .forget_unsent = effects.forget_unsent,
                .trains = effects.training.has_value(),
                .wakes = effects.wakes};
  for (const auto& [to, payload] : effects.sends)
    note.sends.push_back({to, payload.size(), payload.value_bytes});
  return note;
}

void repeat(const DeedNote& note, Effects& effects) {
  effects.forget_unsent = note.forget_unsent;
  effects.wakes = note.wakes;
  if (note.trains) effects.training.emplace();
  for (const SentNote& sent : note.sends)
    effects.sends.emplace_back(sent.to,
                               Payload{.value_bytes = sent.value_bytes, .elsewhere = sent.bytes});
}

}  // namespace

Blocks::Blocks(Ranks* ranks, std::uint32_t nodes)
    : ranks_(ranks && ranks->count() > 1 ? ranks : nullptr), nodes_(nodes) {}

std::uint32_t Blocks::holder(NodeId node) const {
  if (alone()) return 0;
  return static_cast<std::uint32_t>(((std::uint64_t{node} + 1) * ranks_->count() - 1) / nodes_);
}

std::vector<Bytes> Blocks::gather(ByteSpan told) const {
  if (alone()) return {Bytes(told.begin(), told.end())};
  return ranks_->gather(told);
}

Bytes Blocks::bring(NodeId node, Bytes state) {
  if (alone() || holder(node) == 0) return hold(node) ? std::move(state) : Bytes();
  std::vector<Bytes> told(ranks_->count());
  if (hold(node)) told[0] = std::move(state);
  return std::move(ranks_->exchange(std::move(told))[holder(node)]);
}

Bytes Blocks::hear(NodeId node, ByteSpan state) const {
  return std::move(gather(hold(node) ? state : ByteSpan())[holder(node)]);
}

std::string Blocks::first_of(const std::string& why) const {
  if (alone()) return why;
  for (const Bytes& told : gather(bytes_of(why)))
    if (!told.empty()) return {reinterpret_cast<const char*>(told.data()), told.size()};
  return {};
}

void Blocks::tell(std::span<const NodeId> touched, std::span<Effects> effects,
                  std::vector<Standing>& standings) {
  if (alone() || touched.empty()) return;
  Notes mine{.wished = wished_};
  for (std::size_t i = 0; i < touched.size(); ++i)
    if (hold(touched[i])) mine.deeds.push_back(note_of(standings[touched[i]], effects[i]));
  heard_ = 0;
  std::vector<Notes> all;
  for (const Bytes& told : gather(saved(mine)))
    heard_ |= all.emplace_back(loaded<Notes>(told)).wished;
  std::vector<std::size_t> next(all.size(), 0);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    const std::uint32_t rank = holder(touched[i]);
    const DeedNote& note = all[rank].deeds[next[rank]++];
    if (hold(touched[i])) continue;
    standings[touched[i]] = note.standing;
    repeat(note, effects[i]);
  }
  carry_messages(touched, effects);
}

std::uint64_t Blocks::bytes_between_ranks(NodeId from, const Effects& effects) const {
  std::uint64_t bytes = 0;
  for (const auto& [to, payload] : effects.sends)
    if (holder(to) != holder(from)) bytes += payload.size();
  return bytes;
}

// Not all at once: what is packed lies in memory a second time. All ranks know the lengths of all
// messages, and cut at the same places.
void Blocks::carry_messages(std::span<const NodeId> touched, std::span<Effects> effects) {
  constexpr std::uint64_t kBytesAtOnce = 16 << 20;
  for (std::size_t begin = 0, end = 0; begin < touched.size(); begin = end) {
    std::uint64_t bytes = 0;
    for (; end < touched.size() && bytes < kBytesAtOnce; ++end)
      bytes += bytes_between_ranks(touched[end], effects[end]);
    if (bytes > 0)
      carry_some(touched.subspan(begin, end - begin), effects.subspan(begin, end - begin));
  }
}

// Messages go to the ranks that hold their receivers, in the order of senders and of sending; what
// several nodes of a rank get is told once.
void Blocks::carry_some(std::span<const NodeId> touched, std::span<Effects> effects) const {
  std::vector<Bytes> told(ranks_->count());
  for (std::size_t i = 0; i < touched.size(); ++i)
    if (hold(touched[i])) pack_messages(effects[i], told);
  const std::vector<Bytes> heard = ranks_->exchange(std::move(told));
  std::vector<ByteReader> from(heard.begin(), heard.end());
  for (std::size_t i = 0; i < touched.size(); ++i)
    if (!hold(touched[i])) unpack_messages(effects[i], from[holder(touched[i])]);
}

// To each rank: the message's number among those it got from this node and, the first time, itself.
void Blocks::pack_messages(Effects& effects, std::vector<Bytes>& told) const {
  std::map<std::uint32_t, std::vector<std::shared_ptr<const Letter>>> packed;  // By rank.
  for (auto& [to, payload] : effects.sends) {
    if (hold(to)) continue;
    auto& before = packed[holder(to)];
    ByteWriter out(told[holder(to)]);
    const auto place = std::find(before.begin(), before.end(), payload.letter);
    out.put(static_cast<std::uint32_t>(place - before.begin()));
    if (place == before.end()) {
      out.put_bytes(payload.letter->bytes());
      before.push_back(payload.letter);
    }
    payload.elsewhere = payload.size();
    payload.letter = nullptr;
  }
}

void Blocks::unpack_messages(Effects& effects, ByteReader& in) const {
  std::vector<std::shared_ptr<const Letter>> before;
  for (auto& [to, payload] : effects.sends) {
    if (!hold(to)) continue;
    const auto number = in.get<std::uint32_t>();
    if (number == before.size()) {
      const ByteSpan bytes = in.get_bytes(payload.size());
      before.push_back(std::make_shared<const Letter>(Bytes(bytes.begin(), bytes.end())));
    }
    payload.letter = before.at(number);
  }
}

void Blocks::tell(std::vector<Standing>& standings) const {
  if (alone()) return;
  struct Mine {
    std::vector<Standing> standings{};
    void fields(Archive& archive) { archive(standings); }
  } mine;
  for (NodeId id = 0; id < nodes_; ++id)
    if (hold(id)) mine.standings.push_back(standings[id]);
  standings.clear();
  for (const Bytes& told : gather(saved(mine)))
    for (const Standing& standing : loaded<Mine>(told).standings) standings.push_back(standing);
}

}  // namespace tessera
