#include "live/link/fleet_asker.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "live/link/carrier.h"
#include "live/link/clock.h"
#include "live/link/questions.h"
#include "live/link/zeromq_dials.h"

namespace tessera {
namespace {

constexpr Duration kNap = std::chrono::milliseconds(20);  // A name that was found rings no bell.

}  // namespace

struct FleetAsker::Lines final : CarrierEvents {
  Lines(KeyPair keys, std::span<const Member> all, LookUp look_up)
      : context(1),
        dials(context,
              {.keys = std::move(keys),
               .answer_bytes_max = kReportBytesMax,
               .answers_waiting_max = 2},  // One is due.
              std::move(look_up), [] {}),
        members(all.begin(), all.end()) {
    context.set(zmq::ctxopt::max_sockets, 16'384);  // Three per member.
    dials.set_members(members);
  }

  void on_answer(NodeId from, ByteSpan frame) override {
    hear(from, Bytes(frame.begin(), frame.end()));
  }
  void on_frame(NodeId, std::string_view, ByteSpan) override {}
  void on_disconnected(NodeId peer, std::string_view why) override {
    dials.hang_up(peer, Duration(0));
    open.erase(peer);
    hear(peer, Error{"unreachable", std::string(why)});
  }
  void on_refused(std::string_view) override {}

  void hear(NodeId from, Result<Bytes> frame) {
    heard.try_emplace(from, Replied{std::move(frame), clock.now() - asked_at});
  }
  void send_question(NodeId to, ByteSpan question) {
    if (open.insert(to).second) dials.connect(to);
    dials.send(to, question, {});
  }
  void wait(Duration at_most) {
    std::vector<zmq::pollitem_t> items;
    dials.watch(items);
    const auto nap = std::chrono::ceil<std::chrono::milliseconds>(std::min(at_most, kNap));
    zmq_poll(items.data(), static_cast<int>(items.size()), nap.count());
  }
  // A late answer must not pass for one to the next question.
  void give_up_on(NodeId member, Duration patience) {
    dials.hang_up(member, Duration(0));
    open.erase(member);
    hear(member, Error{"silent", fmt::format("no answer within {:.1f} s", to_seconds(patience))});
  }

  zmq::context_t context;
  Dials dials;
  std::vector<Member> members;
  SteadyClock clock;
  std::set<NodeId> open;  // Those with a connection.
  Instant asked_at{};
  std::map<NodeId, Replied> heard;
};

FleetAsker::FleetAsker(KeyPair keys, std::span<const Member> members, LookUp look_up)
    : lines_(std::make_unique<Lines>(std::move(keys), members, std::move(look_up))) {}

FleetAsker::~FleetAsker() = default;

std::map<NodeId, FleetAsker::Heard> FleetAsker::ask(Duration patience) {
  std::map<NodeId, Heard> heard;
  for (const auto& [id, reply] : ask(encode_question(), patience))
    heard.emplace(id, Heard{reply.frame.ok() ? decode_report(*reply.frame)
                                             : Result<std::string>(reply.frame.error()),
                            reply.after});
  return heard;
}

std::map<NodeId, FleetAsker::Replied> FleetAsker::ask(ByteSpan question, Duration patience) {
  lines_->dials.collect(*lines_);  // Those that broke since the last question are made anew.
  lines_->heard.clear();
  lines_->asked_at = lines_->clock.now();
  for (const Member& member : lines_->members) {
    if (member.dials_out())
      lines_->hear(member.id, Error{"dials-out", "it dials out, so nobody can ask it"});
    else
      lines_->send_question(member.id, question);
  }
  const Instant until = lines_->asked_at + patience;
  for (Instant now = lines_->asked_at; now < until; now = lines_->clock.now()) {
    if (lines_->heard.size() == lines_->members.size()) break;
    lines_->wait(until - now);
    lines_->dials.collect(*lines_);
  }
  for (const Member& member : lines_->members)
    if (!lines_->heard.contains(member.id)) lines_->give_up_on(member.id, patience);
  return std::move(lines_->heard);
}

}  // namespace tessera
