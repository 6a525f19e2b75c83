#include "cuda/emulated/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cuda/emulated/fiber.h"

constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace tessera::cuda::emulated {
namespace {

constexpr unsigned kLanes = 32;
constexpr int kUnset = 0xff;  // Every byte of memory that nobody has written: floats are NaN.

// A kernel's mistake, which on a GPU would be an error, a hang, or nothing that is seen.
[[noreturn]] void fail(std::string_view what) {
  const std::string line = fmt::format("the emulated GPU, block {} {} {}, thread {}: {}\n",
                                       blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, what);
  std::fputs(line.c_str(), stderr);
  std::abort();
}

// In which order things take their turns (block.h).
struct Order {
  enum class Kind { kAscending, kDescending, kDrawn };
  Kind kind = Kind::kAscending;
  std::uint64_t seed = 0;
};
const Order& order() {
  static const Order chosen = [] {
    const char* const set = std::getenv("TESSERA_EMULATED_ORDER");
    const std::string text = set ? set : "ascending";
    if (text == "ascending") return Order{};
    if (text == "descending") return Order{Order::Kind::kDescending};
    char* end = nullptr;
    const Order drawn{Order::Kind::kDrawn, std::strtoull(text.c_str(), &end, 10)};
    if (*end != 0 || text.empty())
      fail("TESSERA_EMULATED_ORDER is ascending, descending or a seed, and not " + text);
    return drawn;
  }();
  return chosen;
}
std::uint64_t draw_below(std::uint64_t n) {
  thread_local Random random(order().seed);
  return random.bits() % n;
}
bool drawn() {
  return order().kind == Order::Kind::kDrawn;
}

// All of `count` things, each once.
class Walk {
 public:
  explicit Walk(unsigned count) : count_(count), step_(1 % count) {
    if (order().kind == Order::Kind::kDescending) at_ = step_ = count - 1;
    if (!drawn() || count == 1) return;
    at_ = static_cast<unsigned>(draw_below(count));
    do step_ = static_cast<unsigned>(1 + draw_below(count));
    while (std::gcd(step_, count) != 1);
  }
  unsigned next() {
    const unsigned at = at_;
    at_ = (at_ + step_) % count_;
    return at;
  }

 private:
  unsigned count_, at_ = 0, step_;
};

struct Lane {
  enum class Waits { kForNothing, kForBlock, kForCluster, kForWarp, kNoMore };

  Fiber fiber{};
  unsigned block = 0, thread = 0;
  Waits waits = Waits::kForNothing;
  // What it does with others of its warp.
  unsigned mask = 0;
  Together work = nullptr;
  void* own = nullptr;
  // Copies that are under way, and where their groups end.
  std::vector<Copy> copies{};
  std::vector<std::size_t> groups{};
};

struct Block {
  dim3 index{};
  std::unique_ptr<std::byte[]> memory{};
  unsigned running = 0, waiting = 0;
  std::source_location place{};  // Of the barrier that they wait at.
};

// The blocks of a cluster, mostly one, and their threads.
class Machine {
 public:
  void run(const Grid& grid, const std::function<void()>& thread);

  Lane& lane() { return *lane_; }
  Block& block() { return blocks_[lane_->block]; }
  Block& block(int number) { return blocks_.at(static_cast<std::size_t>(number)); }
  std::size_t shared_bytes() const { return grid_->shared_bytes; }

  void meet_block(const std::source_location& place);
  void meet_cluster();
  void together(unsigned mask, Together work, void* own);

 private:
  void run_cluster(unsigned number, const std::function<void()>& thread);
  bool run_warp(unsigned first);
  void run_lane(Lane& lane);
  void end(Lane& lane);
  void wait(Lane::Waits what);
  // All that wait for this, of one block or of all.
  void release(Lane::Waits what, unsigned first, unsigned count);
  bool all_are_there(unsigned first, unsigned mask, Together work) const;
  unsigned threads() const { return grid_->threads.x; }

  const Grid* grid_ = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes_{};  // Block by block; more than are needed, perhaps.
  std::vector<Block> blocks_{};
  unsigned count_ = 0, running_ = 0, at_cluster_ = 0;  // Threads.
  Lane* lane_ = nullptr;
};

Machine& machine() {
  thread_local Machine own;
  return own;
}

void make(const Copy& copy) {
  if (copy.there)
    std::memcpy(copy.to, copy.from, copy.bytes);
  else
    std::memset(copy.to, 0, copy.bytes);
}

void Machine::run(const Grid& grid, const std::function<void()>& thread) {
  if (grid.threads.y * grid.threads.z != 1) fail("blocks of one dimension are emulated");
  grid_ = &grid;
  blockDim = grid.threads;
  gridDim = grid.blocks;
  const unsigned clusters = grid.blocks.x * grid.blocks.y * grid.blocks.z / grid.cluster;
  blocks_.resize(grid.cluster);
  for (Block& each : blocks_) each.memory.reset(new std::byte[grid.shared_bytes]);
  Walk walk(clusters);
  for (unsigned i = 0; i < clusters; ++i) run_cluster(walk.next(), thread);
  blocks_.clear();
}

void Machine::run_cluster(unsigned number, const std::function<void()>& thread) {
  count_ = running_ = grid_->cluster * threads();
  while (lanes_.size() < count_) lanes_.push_back(std::make_unique<Lane>());
  for (unsigned b = 0; b < grid_->cluster; ++b) {
    const unsigned flat = number * grid_->cluster + b, row = flat / gridDim.x;
    blocks_[b].index = {flat % gridDim.x, row % gridDim.y, row / gridDim.y};
    blocks_[b].running = threads();
    std::memset(blocks_[b].memory.get(), kUnset, grid_->shared_bytes);
  }
  for (unsigned i = 0; i < count_; ++i) {
    Lane& each = *lanes_[i];
    each.block = i / threads();
    each.thread = i % threads();
    each.waits = Lane::Waits::kForNothing;
    each.fiber.give(thread);
  }
  const unsigned warps_of_block = (threads() + kLanes - 1) / kLanes;
  while (running_ > 0) {
    bool went_on = false;
    const unsigned warps = warps_of_block * grid_->cluster;
    Walk walk(warps);
    for (unsigned i = 0; i < warps; ++i) {
      const unsigned warp = walk.next();
      went_on |= run_warp(warp / warps_of_block * threads() + warp % warps_of_block * kLanes);
    }
    if (!went_on) fail("threads of a block wait for others that never come");
  }
}

// The warp whose first lane this is, until all its lanes wait; or, drawn, for some turns.
bool Machine::run_warp(unsigned first) {
  const unsigned count = std::min(kLanes, threads() - first % threads());
  bool went_on = false;
  for (bool some = true; some && !(went_on && drawn() && draw_below(4) == 0);) {
    some = false;
    Walk walk(count);
    for (unsigned i = 0; i < count; ++i) {
      Lane& each = *lanes_[first + walk.next()];
      if (each.waits != Lane::Waits::kForNothing) continue;
      run_lane(each);
      some = went_on = true;
    }
  }
  return went_on;
}

void Machine::run_lane(Lane& lane) {
  lane_ = &lane;
  threadIdx = {lane.thread};
  blockIdx = blocks_[lane.block].index;
  lane.fiber.go_on();
  if (lane.fiber.has_ended()) end(lane);
}

void Machine::end(Lane& lane) {
  for (const Copy& copy : lane.copies) make(copy);
  lane.copies.clear();
  lane.groups.clear();
  lane.waits = Lane::Waits::kNoMore;
  Block& own = blocks_[lane.block];
  --running_;
  if (--own.running > 0 && own.waiting == own.running) {
    own.waiting = 0;
    release(Lane::Waits::kForBlock, lane.block * threads(), threads());
  }
  if (at_cluster_ > 0) fail("ends while others of its cluster wait for it");
}

void Machine::wait(Lane::Waits what) {
  Lane& own = *lane_;
  own.waits = what;
  Fiber::stop();
}

void Machine::release(Lane::Waits what, unsigned first, unsigned count) {
  for (unsigned i = first; i < first + count; ++i)
    if (lanes_[i]->waits == what) lanes_[i]->waits = Lane::Waits::kForNothing;
}

void Machine::meet_block(const std::source_location& place) {
  Block& own = block();
  if (own.waiting == 0) own.place = place;
  if (own.place.line() != place.line() ||
      std::strcmp(own.place.file_name(), place.file_name()) != 0)
    fail(fmt::format("waits at {}:{} while others of its block do at {}:{}", place.file_name(),
                     place.line(), own.place.file_name(), own.place.line()));
  if (++own.waiting < own.running) return wait(Lane::Waits::kForBlock);
  own.waiting = 0;
  release(Lane::Waits::kForBlock, lane_->block * threads(), threads());
}

void Machine::meet_cluster() {
  if (++at_cluster_ < count_) return wait(Lane::Waits::kForCluster);
  at_cluster_ = 0;
  release(Lane::Waits::kForCluster, 0, count_);
}

bool Machine::all_are_there(unsigned first, unsigned mask, Together work) const {
  const unsigned block_end = (lane_->block + 1) * threads();
  // The next one first: mostly it is not there yet.
  for (unsigned beyond = 1; beyond < kLanes; ++beyond) {
    const unsigned i = (lane_->thread + beyond) % kLanes;
    if ((mask >> i & 1) == 0) continue;
    if (first + i >= block_end) return false;
    const Lane& other = *lanes_[first + i];
    if (other.waits != Lane::Waits::kForWarp || other.mask != mask || other.work != work)
      return false;
  }
  return true;
}

void Machine::together(unsigned mask, Together work, void* own) {
  Lane& self = *lane_;
  if ((mask >> self.thread % kLanes & 1) == 0) fail("is not among the lanes it works with");
  self.mask = mask;
  self.work = work;
  self.own = own;
  const unsigned first = self.block * threads() + self.thread / kLanes * kLanes;
  if (!all_are_there(first, mask, work)) return wait(Lane::Waits::kForWarp);
  void* brought[kLanes] = {};
  for (unsigned i = 0; i < kLanes; ++i)
    if ((mask >> i & 1) == 1) brought[i] = lanes_[first + i]->own;
  work(brought);
  for (unsigned i = 0; i < kLanes; ++i)
    if (brought[i] && lanes_[first + i]->waits == Lane::Waits::kForWarp)
      lanes_[first + i]->waits = Lane::Waits::kForNothing;
}

}  // namespace

void run(const Grid& grid, const std::function<void()>& thread) {
  machine().run(grid, thread);
}

bool streams_are_lazy() {
  return order().kind != Order::Kind::kAscending;
}

std::byte* block_memory() {
  return machine().block().memory.get();
}
std::byte* block_memory(int block) {
  return machine().block(block).memory.get();
}
const std::byte* shared_bytes(std::uint32_t address, std::size_t count) {
  const std::size_t all = machine().shared_bytes();
  if (address % count != 0 || address + count > all)
    fail(fmt::format("touches {} bytes at {} of {} of its shared memory", count, address, all));
  return block_memory() + address;
}
void meet_cluster() {
  machine().meet_cluster();
}

void begin_copy(const Copy& copy) {
  const auto* const to = reinterpret_cast<const std::byte*>(copy.to);
  const auto at = static_cast<std::uint32_t>(to - block_memory());
  shared_bytes(at, copy.bytes);
  if (reinterpret_cast<std::uintptr_t>(copy.from) % copy.bytes != 0)
    fail(fmt::format("copies {} bytes from where they do not begin", copy.bytes));
  const bool at_once = drawn() ? draw_below(2) == 0 : order().kind == Order::Kind::kDescending;
  if (at_once)
    make(copy);
  else
    machine().lane().copies.push_back(copy);
}
void end_copies() {
  Lane& lane = machine().lane();
  lane.groups.push_back(lane.copies.size());
}
void wait_for_copies(int groups_left) {
  Lane& lane = machine().lane();
  const auto over = static_cast<std::ptrdiff_t>(lane.groups.size()) - groups_left;
  if (over <= 0) return;
  const std::size_t count = lane.groups[static_cast<std::size_t>(over - 1)];
  for (std::size_t i = 0; i < count; ++i) make(lane.copies[i]);
  lane.copies.erase(lane.copies.begin(), lane.copies.begin() + static_cast<std::ptrdiff_t>(count));
  lane.groups.erase(lane.groups.begin(), lane.groups.begin() + over);
  for (std::size_t& end : lane.groups) end -= count;
}

void together(unsigned mask, Together work, void* own) {
  machine().together(mask, work, own);
}

}  // namespace tessera::cuda::emulated

void __syncthreads(std::source_location place) {
  tessera::cuda::emulated::machine().meet_block(place);
}
