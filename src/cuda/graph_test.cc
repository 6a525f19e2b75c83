#include "cuda/graph.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "cuda/for_tests.h"

namespace tessera::cuda {
namespace {

// Each clears its float, and counts how often the stream was asked for it.
class Clearing {
 public:
  explicit Clearing(std::size_t kept = 32) : graphs_(kept) {}
  void run(std::size_t which) {
    graphs_.run(stream_, which, [&] {
      ++asked;
      stream_.clear(numbers_.device() + which, sizeof(float));
    });
  }
  // Whether `which` and no other was cleared since the last look.
  bool cleared_alone(std::size_t which) {
    stream_.wait();
    Vector wanted = numbers_.host;
    wanted[which] = 0;
    const bool alone = numbers_.back() == wanted;
    numbers_.send();
    return alone;
  }
  void forget() { graphs_.forget(); }
  const Stream& stream() const { return stream_; }

  int asked = 0;

 private:
  Numbers numbers_{100, 1};
  Stream stream_;
  Graphs graphs_;
};

TEST(Graphs, DoWhatIsAskedForEveryTime) {
  SKIP_WITHOUT_GPU();
  Clearing clearing;
  for (int time = 0; time < 4; ++time)
    for (const std::size_t which : {3, 50}) {
      clearing.run(which);
      EXPECT_TRUE(clearing.cleared_alone(which)) << time;
    }
  EXPECT_EQ(clearing.asked, 4);  // Once to be done and once to be taken down, for each of two.
}

TEST(Graphs, OfMoreKeysThanAreKeptDoTheSame) {
  SKIP_WITHOUT_GPU();
  Clearing clearing;
  for (int time = 0; time < 3; ++time)
    for (std::size_t which = 0; which < 40; ++which) {
      clearing.run(which);
      EXPECT_TRUE(clearing.cleared_alone(which)) << which;
    }
}

TEST(Graphs, OfAsManyKeysAsAreKeptAreAskedForTwice) {
  SKIP_WITHOUT_GPU();
  Clearing clearing(40);
  for (int time = 0; time < 3; ++time)
    for (std::size_t which = 0; which < 40; ++which) clearing.run(which);
  EXPECT_EQ(clearing.asked, 80);
}

TEST(Graphs, ThatAreForgottenAreAskedForAgain) {
  SKIP_WITHOUT_GPU();
  Clearing clearing;
  for (int time = 0; time < 3; ++time) clearing.run(7);
  clearing.forget();
  clearing.run(7);
  EXPECT_EQ(clearing.asked, 3);
  EXPECT_TRUE(clearing.cleared_alone(7));
}

TEST(Graphs, ThatCannotBeTakenDownLeaveTheStreamAsItWas) {
  SKIP_WITHOUT_GPU();
  Clearing clearing;
  EXPECT_THROW(Graph(clearing.stream(), [] { throw std::runtime_error("out of it"); }),
               std::runtime_error);
  clearing.run(9);
  EXPECT_TRUE(clearing.cleared_alone(9));
}

// The next kernel would be told of it.
TEST(Graphs, ThatCannotBeTakenDownLeaveNoErrorBehind) {
  SKIP_WITHOUT_GPU();
  const Stream stream;
  EXPECT_THROW(Graph(stream, [] { DeviceArray<float> memory(1); }), DeviceFailed);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

}  // namespace
}  // namespace tessera::cuda
