#include "live/link/own_address.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/link/testing.h"

namespace tessera {
namespace {

TEST(OwnAddress, IsTheOneThatConnectionsLeaveFrom) {
  EXPECT_EQ(*own_host_towards("127.0.0.1:5555"), "127.0.0.1");
  EXPECT_FALSE(own_host_towards("no-such-host.invalid:5555").ok());
}

TEST(PortClaim, NobodyElseIsGivenThePortWhileItLives) {
  const int first = free_port();
  std::optional<PortClaim> claim = PortClaim::make(first);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->port(), first);
  EXPECT_FALSE(PortClaim::make(first));
  const Result<PortClaim> other = claim_unused_port(first);
  ASSERT_TRUE(other.ok());
  EXPECT_GT(other->port(), first);
  claim.reset();
  EXPECT_EQ(claim_unused_port(first)->port(), first);
}

// It goes with whoever holds it, and a process that is killed holds nothing.
TEST(PortClaim, MovesAndEndsWithItsProcess) {
  const int port = free_port();
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<PortClaim> claim = PortClaim::make(port);
    ::_exit(claim ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::optional<PortClaim> claim = PortClaim::make(port);
  ASSERT_TRUE(claim);
  PortClaim moved = std::move(*claim);
  claim.reset();
  EXPECT_FALSE(PortClaim::make(port));
  moved = std::move(*PortClaim::make(free_port()));
  EXPECT_TRUE(PortClaim::make(port)) << "what it held before is let go of";
}

TEST(PortClaim, APortWhereSomethingListensIsPassedOver) {
  const int port = free_port();
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  EXPECT_GT(claim_unused_port(port)->port(), port);
  ::close(listener);
  EXPECT_EQ(claim_unused_port(port)->port(), port);
  EXPECT_GT(claim_unused_port(port, port)->port(), port) << "one that is known to be taken";
}

}  // namespace
}  // namespace tessera
