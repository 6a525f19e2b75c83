#include "cluster/mpi_ranks.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

namespace tessera {
namespace {

// What one rank has for another goes in pieces. The first begins with the length of all, so that
// most of what is told, which is short, takes one message.
constexpr std::size_t kFirst = 4096;
constexpr std::size_t kPieceMax = std::size_t{1} << 30;  // MPI counts in ints.

// Messages on their way in both directions. MPI spins while it waits, and where there are more
// ranks than cores those that wait would keep the others from going on.
class UnderWay {
 public:
  void send(ByteSpan bytes, int to) {
    for_pieces(bytes.size(), [&](std::size_t at, int length) {
      MPI_Isend(bytes.data() + at, length, MPI_BYTE, to, 0, MPI_COMM_WORLD, &add());
    });
  }
  void receive(std::span<std::byte> bytes, int from) {
    for_pieces(bytes.size(), [&](std::size_t at, int length) {
      MPI_Irecv(bytes.data() + at, length, MPI_BYTE, from, 0, MPI_COMM_WORLD, &add());
    });
  }
  void wait() {
    constexpr int kSpins = 100;
    for (int done = 0, tries = 0; done == 0; ++tries) {
      MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE);
      if (done == 0 && tries > kSpins)
        std::this_thread::sleep_for(std::chrono::microseconds(std::min(tries - kSpins, 200)));
    }
    requests_.clear();
  }

 private:
  MPI_Request& add() { return requests_.emplace_back(MPI_REQUEST_NULL); }
  template <typename Act>
  static void for_pieces(std::size_t size, Act act) {
    for (std::size_t at = 0; at < size; at += kPieceMax)
      act(at, static_cast<int>(std::min(kPieceMax, size - at)));
  }

  std::vector<MPI_Request> requests_;
};

// Errors end the program: MPI's handler says what happened.
class MpiRanks final : public Cluster {
 public:
  MpiRanks() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm_rank(MPI_COMM_WORLD, &mine_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mine_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &here_);
    MPI_Comm_size(machine, &count_here_);
    MPI_Comm_free(&machine);
  }
  ~MpiRanks() override { MPI_Finalize(); }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  std::uint32_t count() const override { return static_cast<std::uint32_t>(count_); }
  std::uint32_t mine() const override { return static_cast<std::uint32_t>(mine_); }
  std::uint32_t here() const override { return static_cast<std::uint32_t>(here_); }
  std::uint32_t count_here() const override { return static_cast<std::uint32_t>(count_here_); }
  void abandon(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

  std::vector<Bytes> gather(ByteSpan told) override {
    return exchange_views(std::vector<ByteSpan>(count(), told));
  }
  std::vector<Bytes> exchange(std::vector<Bytes> told) override {
    return exchange_views(std::vector<ByteSpan>(told.begin(), told.end()));
  }

 private:
  std::vector<Bytes> exchange_views(const std::vector<ByteSpan>& told) {
    std::vector<Bytes> first(count()), coming(count(), Bytes(kFirst)), heard(count());
    UnderWay under_way;
    for (int rank = 0; rank < count_; ++rank) {
      if (rank == mine_) continue;
      const auto i = static_cast<std::size_t>(rank);
      ByteWriter(first[i]).put(std::uint64_t{told[i].size()});
      ByteWriter(first[i]).put_bytes(told[i].first(std::min(told[i].size(), kFirst - 8)));
      under_way.receive(coming[i], rank);
      under_way.send(first[i], rank);
    }
    under_way.wait();
    for (int rank = 0; rank < count_; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      if (rank == mine_) {
        heard[i].assign(told[i].begin(), told[i].end());
        continue;
      }
      ByteReader in(coming[i]);
      heard[i].resize(in.get<std::uint64_t>());
      const std::size_t here = std::min(heard[i].size(), kFirst - 8);
      std::copy_n(coming[i].begin() + 8, here, heard[i].begin());
      under_way.receive(std::span(heard[i]).subspan(here), rank);
      under_way.send(told[i].subspan(std::min(told[i].size(), kFirst - 8)), rank);
    }
    under_way.wait();
    return heard;
  }

  int count_ = 1, mine_ = 0, here_ = 0, count_here_ = 1;
};

}  // namespace

std::unique_ptr<Cluster> join_mpi() {
  return std::make_unique<MpiRanks>();
}

}  // namespace tessera
