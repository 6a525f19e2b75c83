#include "live/link/inbox.h"

#include <utility>

namespace tessera {

std::size_t Inbox::greet(std::uint64_t session, std::uint64_t oldest) {
  if (session == session_ && expected_ >= oldest) return 0;
  const std::size_t dropped = whole_.size();
  whole_.clear();
  part_.reset();
  held_ = 0;
  skipping_ = false;
  session_ = session;
  expected_ = oldest;
  return dropped;
}

void Inbox::drop_part() {
  if (part_) held_ -= part_->charge;
  part_.reset();
}

std::string_view Inbox::add(const Chunk& chunk) {
  if (chunk.number < expected_) return "replayed";
  if (chunk.number > expected_) return "gap";
  ++expected_;
  const std::string_view fault = join(chunk);
  if (!fault.empty() && fault != "interleaved") {
    drop_part();
    skipping_ = true;
  }
  return fault;
}

std::string_view Inbox::join(const Chunk& chunk) {
  const bool begins = chunk.offset == 0;
  if (skipping_ && !begins) return {};  // Counted when its message was refused.
  skipping_ = false;
  const std::size_t length = chunk.payload.size();
  if (chunk.total > limits_.message_bytes_max) return "oversized";
  if (chunk.offset > chunk.total || length > chunk.total - chunk.offset) return "chunk";
  if (length == 0 && chunk.total != 0) return "chunk";
  const bool interleaved = begins && part_.has_value();
  if (begins) {
    drop_part();
    part_ = Joined{{}, chunk.number, chunk.total, 0};
  }
  if (!part_ || part_->total != chunk.total || part_->bytes.size() != chunk.offset) return "chunk";
  const std::size_t charge = length + kChunkCharge;
  if (held_ + charge > limits_.held_bytes_max) return "flood";
  held_ += charge;
  part_->charge += charge;
  // Grows as bytes arrive: a claim of length alone allocates nothing. The first piece, which is
  // most often the only one, is copied without zeroing its place first.
  if (begins)
    part_->bytes.assign(chunk.payload.begin(), chunk.payload.end());
  else
    ByteWriter(part_->bytes).put_bytes(chunk.payload);
  if (part_->bytes.size() == chunk.total) {
    whole_.push_back(std::move(*part_));
    part_.reset();
  }
  return interleaved ? "interleaved" : "";
}

std::optional<Bytes> Inbox::take() {
  if (whole_.empty()) return std::nullopt;
  Joined joined = std::move(whole_.front());
  whole_.pop_front();
  held_ -= joined.charge;
  return std::move(joined.bytes);
}

std::uint64_t Inbox::released() const {
  if (!whole_.empty()) return whole_.front().first - 1;
  if (part_) return part_->first - 1;
  return expected_ - 1;
}

}  // namespace tessera
