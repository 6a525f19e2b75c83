#include "live/event_log.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/archive.h"
#include "base/files.h"
#include "base/hash.h"

namespace tessera {
namespace {

constexpr std::uint32_t kMagic = 0x4c565354;  // "TSVL"
constexpr std::uint32_t kVersion = 4;

// As LoggedEvent's variant counts them.
enum class RecordKind : std::uint8_t { kStarted, kArrived, kWoke, kTraining, kAdoption, kRound };

Bytes begin_record(RecordKind kind, Instant at) {
  Bytes record;
  ByteWriter writer(record);
  writer.put(static_cast<std::uint8_t>(kind));
  writer.put(at.time_since_epoch().count());
  return record;
}

std::string text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<LoggedEvent> parse_record(ByteSpan record) {
  ByteReader in(record);
  const auto kind = static_cast<RecordKind>(in.get<std::uint8_t>());
  LoggedEvent logged{.at = Instant(Duration(in.get<std::int64_t>()))};
  switch (kind) {
    case RecordKind::kStarted:
      logged.what = Started{};
      break;
    case RecordKind::kArrived: {
      Arrived arrived{.from = in.get<NodeId>()};
      const ByteSpan bytes = in.get_bytes(in.left());
      arrived.payload.letter = std::make_shared<const Letter>(Bytes(bytes.begin(), bytes.end()));
      logged.what = std::move(arrived);
      break;
    }
    case RecordKind::kWoke:
      logged.what = Woke{};
      break;
    case RecordKind::kTraining: {
      LoggedTraining training{.loss = in.get<float>()};
      training.digest = in.get<std::uint64_t>();
      logged.what = training;
      break;
    }
    case RecordKind::kAdoption: {
      Vector model(in.left() / sizeof(float));
      const ByteSpan bytes = in.get_bytes(model.size() * sizeof(float));
      if (!bytes.empty()) std::memcpy(model.data(), bytes.data(), bytes.size());
      logged.what = LoggedAdoption{std::move(model)};
      break;
    }
    case RecordKind::kRound: {
      LoggedRound round{.round = in.get<Round>()};
      round.digest = in.get<std::uint64_t>();
      logged.what = round;
      break;
    }
    default:
      return std::nullopt;
  }
  if (in.ran_short() || in.left() > 0) return std::nullopt;
  return logged;
}

// A node that is started again leaves what its earlier life recorded, often the very one to be
// looked at: n03.events is followed by n03.2.events and so on.
std::filesystem::path unused_name(const std::filesystem::path& path) {
  std::filesystem::path unused = path;
  for (int life = 2; std::filesystem::is_regular_file(unused); ++life)
    unused = path.parent_path() /
             fmt::format("{}.{}{}", path.stem().string(), life, path.extension().string());
  return unused;
}

}  // namespace

std::uint64_t digest_of(std::span<const float> model) {
  return hash_bytes(bytes_of(model));
}

EventLogWriter::EventLogWriter(const std::filesystem::path& path, const EventLogHeader& header)
    : path_(unused_name(path)), out_(path_, std::ios::binary) {
  Bytes record;
  ByteWriter writer(record);
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(header.id);
  writer.put(header.run);
  writer.put<std::uint64_t>(header.config.size());
  writer.put_bytes(bytes_of(header.config));
  writer.put<std::uint64_t>(header.state.size());
  writer.put_bytes(header.state);
  write(record);
}

void EventLogWriter::write(const Bytes& record) {
  Bytes framed;
  ByteWriter writer(framed);
  writer.put<std::uint64_t>(record.size());
  writer.put(hash_bytes(record));
  out_.write(reinterpret_cast<const char*>(framed.data()),
             static_cast<std::streamsize>(framed.size()));
  out_.write(reinterpret_cast<const char*>(record.data()),
             static_cast<std::streamsize>(record.size()));
  out_.flush();
  if (!out_)
    throw std::runtime_error(
        fmt::format("{}: cannot write the event log; is the disk full?", path_.string()));
}

void EventLogWriter::event(Instant at, const Event& event) {
  Bytes record = begin_record(static_cast<RecordKind>(event.index()), at);
  ByteWriter writer(record);
  if (const auto* arrived = std::get_if<Arrived>(&event)) {
    writer.put(arrived->from);
    writer.put_bytes(arrived->payload.letter->bytes());
  } else if (const auto* trained = std::get_if<Trained>(&event)) {
    writer.put(trained->loss);
    writer.put(digest_of(trained->model));
  }
  write(record);
}

void EventLogWriter::adoption(Instant at, std::span<const float> model) {
  Bytes record = begin_record(RecordKind::kAdoption, at);
  ByteWriter(record).put_bytes(bytes_of(model));
  write(record);
}

void EventLogWriter::round(Instant at, Round round, std::span<const float> model) {
  Bytes record = begin_record(RecordKind::kRound, at);
  ByteWriter writer(record);
  writer.put(round);
  writer.put(digest_of(model));
  write(record);
}

Result<EventLogReader> EventLogReader::open(const std::filesystem::path& path) {
  Result<Bytes> file = read_file(path);
  if (!file) return file.error();
  EventLogReader reader;
  reader.file_ = std::move(file).value();
  const std::optional<ByteSpan> record = reader.next_record();
  const auto wrong = [&](std::string_view why) {
    return Error{"event-log", fmt::format("{}: {}", path.string(), why)};
  };
  if (!record) return wrong("not an event log, or cut short in its header");
  ByteReader in(*record);
  if (in.get<std::uint32_t>() != kMagic) return wrong("not an event log");
  if (const auto version = in.get<std::uint32_t>(); version != kVersion)
    return wrong(
        fmt::format("an event log of version {}, where this program reads version {}: "
                    "replay it with the program that wrote it",
                    version, kVersion));
  reader.header_.id = in.get<NodeId>();
  reader.header_.run = in.get<std::uint64_t>();
  reader.header_.config = text_of(in.get_bytes(in.get<std::uint64_t>()));
  const ByteSpan state = in.get_bytes(in.get<std::uint64_t>());
  reader.header_.state.assign(state.begin(), state.end());
  if (in.ran_short()) return wrong("its header is cut short");
  return reader;
}

std::optional<ByteSpan> EventLogReader::next_record() {
  if (at_ == file_.size()) return std::nullopt;
  ByteReader in(ByteSpan(file_).subspan(at_));
  const auto length = in.get<std::uint64_t>();
  const auto checksum = in.get<std::uint64_t>();
  const ByteSpan record = in.get_bytes(length);
  torn_ = in.ran_short() || hash_bytes(record) != checksum;
  if (torn_) return std::nullopt;
  at_ = file_.size() - in.left();
  return record;
}

std::optional<LoggedEvent> EventLogReader::next() {
  const std::optional<ByteSpan> record = next_record();
  if (!record) return std::nullopt;
  std::optional<LoggedEvent> logged = parse_record(*record);
  torn_ = !logged;
  return logged;
}

}  // namespace tessera
