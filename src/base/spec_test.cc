#include "base/spec.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/table.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

// What a refusal says, so that tests can hold the words a user sees.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "(accepted)";
}

TEST(Spec, ReadsNamesAndOptionsOfEveryType) {
  Options options(
      parse_spec("jwins:wavelet=sym2,levels=4,budget=0.1/0.25/1,wait=20ms,cap=64MiB,up=60Mbit/s,"
                 "accumulate=no,file='a,b.csv'"));
  EXPECT_EQ(options.name(), "jwins");
  EXPECT_EQ(options.text("wavelet"), "sym2");
  EXPECT_EQ(options.integer("levels", 1, between(1, 30)), 4);
  EXPECT_EQ(options.numbers("budget", {}, above_up_to(0, 1)), (std::vector{0.1, 0.25, 1.0}));
  EXPECT_EQ(options.duration("wait", 0s), 20ms);
  EXPECT_EQ(options.size_bytes("cap", 0), 64u << 20);
  EXPECT_EQ(options.rate_bytes_per_s("up", 0), 7.5e6);
  EXPECT_FALSE(options.yes("accumulate", true));
  EXPECT_EQ(options.text("file"), "a,b.csv");
  EXPECT_EQ(options.number("step", 0.5, between(0, 1)), 0.5);
  options.done();
}

TEST(Spec, TextRoundTrips) {
  for (const char* text : {"full", "jwins:levels=4,budget=0.1/1", "gamma+fpzip", "csv:file='a,b'"})
    EXPECT_EQ(to_string(parse_spec(text)), text);
}

TEST(Spec, RefusesWhatIsNotAnOption) {
  Options options(parse_spec("jwins:bugdet=0.1"));
  (void)options.numbers("budget", {0.5}, above_up_to(0, 1));
  (void)options.integer("levels", 4, between(1, 30));
  EXPECT_EQ(refusal([&] { options.done(); }),
            "jwins: there is no option 'bugdet'. Did you mean 'budget'?");
  Options far(parse_spec("jwins:colour=red"));
  (void)far.integer("levels", 4, between(1, 30));
  EXPECT_EQ(refusal([&] { far.done(); }), "jwins: there is no option 'colour'. Known: levels.");
}

TEST(Spec, RefusesValuesInPlainWords) {
  const auto read = [](const char* text, auto ask) {
    Options options(parse_spec(text));
    return refusal([&] { ask(options); });
  };
  EXPECT_EQ(
      read("topk:budget=1.5", [](Options& o) { (void)o.number("budget", 1, above_up_to(0, 1)); }),
      "topk: budget: 1.5 must be in (0, 1]");
  EXPECT_EQ(
      read("topk:budget=0", [](Options& o) { (void)o.number("budget", 1, above_up_to(0, 1)); }),
      "topk: budget: 0 must be in (0, 1]");
  EXPECT_EQ(
      read("topk:budget=ten", [](Options& o) { (void)o.number("budget", 1, above_up_to(0, 1)); }),
      "topk: budget: 'ten' is not a number");
  EXPECT_EQ(read("a:n=2.5", [](Options& o) { (void)o.integer("n", 1, at_least(1)); }),
            "a: n: '2.5' is not a whole number");
  EXPECT_EQ(read("a:n=-3", [](Options& o) { (void)o.integer("n", 1, at_least(1)); }),
            "a: n: -3 must be at least 1");
  EXPECT_EQ(read("a", [](Options& o) { (void)o.text("file"); }),
            "a: file is missing; write a:file=…");
  EXPECT_EQ(read("a:on=perhaps", [](Options& o) { (void)o.yes("on", true); }),
            "a: on: 'perhaps' is not one of yes, no, true, false, on, off.");
  EXPECT_EQ(read("l:up=60Mbps", [](Options& o) { (void)o.rate_bytes_per_s("up", 0); }),
            "l: up: '60Mbps' is not a rate such as 60Mbit/s; units are B/s, kB/s, MB/s, GB/s, "
            "KiB/s, MiB/s, "
            "GiB/s, bit/s, kbit/s, Mbit/s, Gbit/s");
  EXPECT_NE(read("l:d=-5ms", [](Options& o) { (void)o.duration("d", {}); }).find("negative"),
            std::string::npos);
  EXPECT_NE(read("l:d=1e300h", [](Options& o) { (void)o.duration("d", {}); }).find("too large"),
            std::string::npos);
}

TEST(Spec, RefusesMalformedText) {
  for (const char* text : {"", ":", "a:", "a:b", "a:=1", "a:b=", "a:b=1,", "a:b=1,b=2", "a:b='x",
                           "a:b='x'y", "a b:c=1"})
    EXPECT_THROW((void)parse_spec(text), std::invalid_argument) << text;
}

TEST(Quantity, ReadsUnits) {
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("10kB"), 10000u);
  EXPECT_EQ(parse_rate("12Mbit/s"), 1.5e6);
  for (const char* text : {"", "5", "ms", "5 ms", "5m", "nan", "inf", "infs", "1e400s"})
    EXPECT_THROW((void)parse_duration(text), std::invalid_argument) << text;
  for (const char* text : {"", "x", "1.5.2", "0x10", "1e400", "nan", "inf"})
    EXPECT_THROW((void)parse_number(text), std::invalid_argument) << text;
}

TEST(Table, NamesTheNearestEntry) {
  struct Entry {
    std::string_view name, summary;
  };
  const std::vector<Entry> table = {{"gamma", "Elias"}, {"rice", "Rice"}};
  EXPECT_EQ(require_entry(std::span<const Entry>(table), "codec", "rice").summary, "Rice");
  EXPECT_EQ(refusal([&] { require_entry(std::span<const Entry>(table), "codec", "gama"); }),
            "there is no codec 'gama'. Did you mean 'gamma'?");
}

TEST(Text, ShowsUnitsPeopleRead) {
  EXPECT_EQ(show_bytes(0), "0 B");
  EXPECT_EQ(show_bytes(1536), "1.5 KiB");
  EXPECT_EQ(show_bytes(1020 * 1024), "1020 KiB");
  EXPECT_EQ(show_bytes(0x1p40 * 5000), "5000 TiB");
  EXPECT_EQ(show_duration(12500us), "12.5 ms");
  EXPECT_EQ(show_duration(90s), "1.5 min");
}

}  // namespace
}  // namespace tessera
