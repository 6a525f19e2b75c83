// Node 4 of ten, over memory; nobody else is there.
#include "live/contacts.h"

#include <gtest/gtest.h>

#include "live/link/testing.h"

namespace tessera {
namespace {

class ContactsTest : public testing::Test {
 protected:
  ContactsTest() {
    TransportOptions options = quick();
    options.wants_all = false;
    network_ = make_test_network("loopback", 10, options);
    transport_ = network_->start(4);
  }
  std::vector<NodeId> wanted() const {
    std::vector<NodeId> ids;
    for (const PeerState& peer : transport_->peers())
      if (peer.wanted) ids.push_back(peer.id);
    return ids;
  }

  std::unique_ptr<TestNetwork> network_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(ContactsTest, FollowsTheRoundsAndLooksOneAhead) {
  // In round r it meets r and, in every round, node 9.
  Contacts contacts(*transport_, 4, [](Round r) { return std::vector<NodeId>{9, r}; }, {});
  contacts.follow(0);
  EXPECT_EQ(wanted(), (std::vector<NodeId>{0, 1, 9}));
  contacts.follow(3);
  EXPECT_EQ(wanted(), (std::vector<NodeId>{3, 9}));  // It is no contact of its own.
}

TEST_F(ContactsTest, WhileItBeginsItHangsTogetherWithAllAndHasHelpers) {
  Contacts contacts(*transport_, 4, [](Round) { return std::vector<NodeId>{8}; },
                    {0, 1, 5, 7, 9, 8, 3});
  contacts.gather(0);
  // Beside it 5 and 6, 3 and 2; of the helpers those that follow it: 5, 7, 8, 9, 0.
  EXPECT_EQ(wanted(), (std::vector<NodeId>{0, 2, 3, 5, 6, 7, 8, 9}));
  contacts.follow(0);
  EXPECT_EQ(wanted(), std::vector<NodeId>{8});
}

TEST_F(ContactsTest, WithoutMeetingsTheTransportDecides) {
  Contacts contacts(*transport_, 4, {}, {1});
  contacts.gather(0);
  contacts.follow(0);
  EXPECT_TRUE(wanted().empty());
  EXPECT_FALSE(contacts.chosen());
}

}  // namespace
}  // namespace tessera
