// Networks that are asked for wrongly, and tables and traces that do not fit: each refusal says
// what is wrong with what.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "base/files.h"
#include "sim/network.h"

namespace tessera {
namespace {

// A file that lasts as long as the test program.
std::string bad_table(std::string_view name, std::string_view text) {
  const std::string path = testing::TempDir() + "network_refusal_" + std::string(name) + ".csv";
  EXPECT_TRUE(write_file(path, bytes_of(text)).ok());
  return path;
}

std::string refusal(std::string_view spec, std::uint32_t nodes = 10) {
  try {
    make_network(spec, {.nodes = nodes, .random = Random(5)});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refusal(std::string_view spec, std::string_view why) {
  EXPECT_NE(refusal(spec).find(why), std::string::npos) << spec << " -> " << refusal(spec);
}

TEST(BadNetworks, AreRefusedInPlainWords) {
  expect_refusal("fifi", "Did you mean 'fifo'?");
  expect_refusal("fifo:upp=1MB/s", "Did you mean 'up'?");
  expect_refusal("ideal:up=1MB/s", "no option 'up'");
  expect_refusal("fifo:up=0MB/s", "above zero");
  expect_refusal("fifo:up=-1MB/s", "negative");
  expect_refusal("links:down=nan", "not a rate");
  expect_refusal("links:up=60", "units are");
  expect_refusal("links:latency=-1ms", "negative");
  expect_refusal("links:stragglers=11", "11 of 10 nodes");
  expect_refusal("links:stragglers=-1", "must be");
  expect_refusal("links:stragglers=2,slowdown=0.5", "must be");
  expect_refusal("links:noise=2", "must be");
  expect_refusal("links:slow=left", "not one of");
  expect_refusal("links:half_sent=maybe", "not one of");
  expect_refusal("links:parallel=0", "must be");
  expect_refusal("links:parallel=many", "whole number");
  expect_refusal("links:tolerance=0", "must be");
  expect_refusal("matrix", "file is missing");
  expect_refusal("matrix:file=no/such.csv", "no/such.csv");
  expect_refusal("fifo:trace=no/such.csv", "no/such.csv");
}

TEST(BadNetworks, MatricesThatDoNotFit) {
  const auto matrix = [](std::string_view rows, std::string_view options = "") {
    return "matrix:file=" + bad_table("matrix", "from,to,rate,latency\n" + std::string(rows)) +
           std::string(options);
  };
  const std::string pair = "a,a,1MB/s,0\na,b,1MB/s,1ms\nb,b,1MB/s,0\n";
  EXPECT_EQ(refusal(matrix(pair)), "accepted");
  EXPECT_NE(refusal(matrix(pair), 3).find("take a multiple of 2"), std::string::npos);
  expect_refusal(matrix("a,a,1MB/s,0\na,b,1MB/s,1ms\n"), "every pair of 2 places");
  expect_refusal(matrix("a,a,1MB/s,0\na,b,1MB/s,1ms\na,b,1MB/s,1ms\n"), "without b to b");
  expect_refusal(matrix(pair + "b,a,2MB/s,1ms\n"), "symmetric=no");
  expect_refusal(matrix(pair, ",symmetric=no"), "every pair");
  EXPECT_EQ(refusal(matrix(pair + "b,a,2MB/s,1ms\n", ",symmetric=no")), "accepted");
  expect_refusal(matrix("a,a,0MB/s,0\n"), "line 2: a rate of 0MB/s");
  expect_refusal(matrix("a,a,1MB/s,-1ms\n"), "line 2");
  expect_refusal(matrix("a,a,1MB/s\n"), "3 cells");
  expect_refusal(matrix(",a,1MB/s,0\n"), "no name");
  expect_refusal(matrix(""), "no rows");
  expect_refusal(matrix(pair, ",stragglers=1"), "up=");
}

TEST(BadNetworks, TracesThatDoNotHold) {
  const auto trace = [](std::string_view text) {
    return "links:trace=" + bad_table("bad_trace", text);
  };
  EXPECT_EQ(refusal(trace("time,node,up\n0,0,1MB/s\n1s,all,2MB/s\n")), "accepted");
  expect_refusal(trace("time,node,up\n2s,0,1MB/s\n1s,0,2MB/s\n"), "line 3: time runs backwards");
  expect_refusal(trace("time,node,up\n2s,10,1MB/s\n"), "there is no node 10");
  expect_refusal(trace("time,node,up\n2s,-1,1MB/s\n"), "there is no node -1");
  expect_refusal(trace("time,node,up\n2s,0,0MB/s\n"), "not above zero");
  expect_refusal(trace("time,node,speed\n2s,0,0\n"), "not above zero");
  expect_refusal(trace("time,node,on\n2s,0,perhaps\n"), "neither yes nor no");
  expect_refusal(trace("time,node,upp\n"), "Did you mean 'up'?");
  expect_refusal(trace("time,time\n"), "named twice");
  expect_refusal(trace("time,up\n"), "needs the columns");
  expect_refusal(trace("soon,node\n"), "no column 'soon'");
  expect_refusal(trace("time,node\nsoon,1\n"), "not a duration");
  expect_refusal(trace("# nothing\n"), "empty");
}

}  // namespace
}  // namespace tessera
