#include "data/class_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "data/views.h"

namespace tessera {
namespace {

constexpr std::size_t kRowsMax = 24;     // Nodes shown as rows of numbers.
constexpr std::size_t kColumnsMax = 12;  // Classes shown as columns of numbers.
constexpr std::size_t kClassesMax = 24;  // Classes shown as rows of the map.
constexpr std::size_t kBlock = 96;       // Nodes in one line of the map.
constexpr std::size_t kBlocksMax = 2;
constexpr std::size_t kNameWidth = 8;

std::uint64_t total(std::span<const std::uint32_t> counts) {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : counts) sum += count;
  return sum;
}

std::string class_name(const LoadedData& data, std::size_t c) {
  return c < data.class_names.size() ? data.class_names[c].substr(0, kNameWidth)
                                     : fmt::format("{}", c);
}

// The commonest classes, in their order; those nobody holds are left out.
std::vector<std::size_t> shown_classes(const ClassCounts& counts) {
  std::vector<std::uint64_t> all(counts[0].size(), 0);
  for (const std::vector<std::uint32_t>& own : counts)
    for (std::size_t c = 0; c < all.size(); ++c) all[c] += own[c];
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < all.size(); ++c)
    if (all[c] > 0) classes.push_back(c);
  const auto commoner = [&](std::size_t a, std::size_t b) { return all[a] > all[b]; };
  std::stable_sort(classes.begin(), classes.end(), commoner);
  if (classes.size() > kClassesMax)
    classes.erase(classes.begin() + static_cast<std::ptrdiff_t>(kClassesMax), classes.end());
  std::sort(classes.begin(), classes.end());
  return classes;
}

std::string show_numbers(const LoadedData& data, const ClassCounts& counts,
                         std::span<const std::size_t> classes) {
  std::size_t width = 5;
  for (const std::size_t c : classes) width = std::max(width, class_name(data, c).size());
  std::string text = "node  samples ";
  for (const std::size_t c : classes) text += fmt::format(" {:>{}}", class_name(data, c), width);
  text += '\n';
  for (std::size_t node = 0; node < counts.size(); ++node) {
    text += fmt::format("{:>4}  {:>7} ", node, total(counts[node]));
    for (const std::size_t c : classes) {
      const std::uint32_t count = counts[node][c];
      text += fmt::format(" {:>{}}", count ? fmt::format("{}", count) : ".", width);
    }
    text += '\n';
  }
  return text;
}

// What part of a node's samples a class is, in one character.
char shade(std::uint32_t count, std::uint64_t samples) {
  if (count == 0) return '.';
  const double part = static_cast<double>(count) / static_cast<double>(samples);
  if (part >= 0.95) return '#';
  return part < 0.05 ? '+' : static_cast<char>('0' + std::lround(part * 10));
}

std::string show_map(const LoadedData& data, const ClassCounts& counts,
                     std::span<const std::size_t> classes) {
  std::string text;
  const std::size_t shown = std::min(counts.size(), kBlock * kBlocksMax);
  for (std::size_t begin = 0; begin < shown; begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, shown);
    text += fmt::format("{:>{}}  nodes {} to {}\n", "class", kNameWidth, begin, end - 1);
    for (const std::size_t c : classes) {
      text += fmt::format("{:>{}}  ", class_name(data, c), kNameWidth);
      for (std::size_t node = begin; node < end; ++node)
        text += shade(counts[node][c], total(counts[node]));
      text += '\n';
    }
  }
  if (shown < counts.size()) text += fmt::format("And {} more nodes.\n", counts.size() - shown);
  text += "A digit is tenths of a node's samples: . none, + under 0.5, # above 9.5.\n";
  return text;
}

struct Range {
  std::size_t low = 0, high = 0;
  double mean = 0;
};

template <typename Measure>
Range range_over(std::size_t nodes, Measure measure) {
  Range range{.low = measure(0), .high = measure(0)};
  for (std::size_t node = 0; node < nodes; ++node) {
    range.low = std::min(range.low, measure(node));
    range.high = std::max(range.high, measure(node));
    range.mean += static_cast<double>(measure(node)) / static_cast<double>(nodes);
  }
  return range;
}

std::string show_range(const Range& range, std::string_view unit) {
  if (range.low == range.high) return fmt::format("{} {}", range.low, unit);
  return fmt::format("{} to {} {} (mean {:.1f})", range.low, range.high, unit, range.mean);
}

std::string show_sizes(const LoadedData& data, const Partition& partition) {
  const Range samples = range_over(partition.train.size(),
                                   [&](std::size_t node) { return partition.train[node].size(); });
  std::string text = fmt::format("A node has {}", show_range(samples, "training samples"));
  if (data.train_users.empty()) return text;
  const Range users = range_over(partition.train.size(), [&](std::size_t node) {
    std::set<std::uint32_t> own;
    for (const std::uint32_t i : partition.train[node]) own.insert(data.train_users[i]);
    return own.size();
  });
  return text + fmt::format(" of {}", show_range(users, users.high == 1 ? "user" : "users"));
}

}  // namespace

ClassCounts class_counts(const LoadedData& data, const Partition& partition) {
  const std::vector<std::uint32_t> labels = labels_of(*data.train, data.task);
  ClassCounts counts(partition.train.size(), std::vector<std::uint32_t>(data.task.classes, 0));
  for (std::size_t node = 0; node < counts.size(); ++node)
    for (const std::uint32_t i : partition.train[node]) ++counts[node][labels[i]];
  return counts;
}

double skew(const ClassCounts& counts) {
  CHECK(!counts.empty());
  std::vector<std::uint32_t> all(counts[0].size(), 0);
  for (const std::vector<std::uint32_t>& own : counts)
    for (std::size_t c = 0; c < all.size(); ++c) all[c] += own[c];
  const auto everything = static_cast<double>(total(all));
  double sum = 0, holders = 0;
  for (const std::vector<std::uint32_t>& own : counts) {
    const auto samples = static_cast<double>(total(own));
    if (samples == 0) continue;  // No mix at all.
    ++holders;
    for (std::size_t c = 0; c < all.size(); ++c)
      sum += 0.5 * std::abs(own[c] / samples - all[c] / everything);
  }
  return holders > 0 ? sum / holders : 0;
}

std::string show_partition(const LoadedData& data, const Partition& partition) {
  const std::string sizes = show_sizes(data, partition);
  if (data.task.classes == 0) return sizes + ".\n";
  const ClassCounts counts = class_counts(data, partition);
  const std::vector<std::size_t> shown = shown_classes(counts);
  const bool few = counts.size() <= kRowsMax && shown.size() <= kColumnsMax;
  const Range classes = range_over(counts.size(), [&](std::size_t node) {
    const auto none = std::count(counts[node].begin(), counts[node].end(), 0u);
    return counts[node].size() - static_cast<std::size_t>(none);
  });
  std::string text = few ? show_numbers(data, counts, shown) : show_map(data, counts, shown);
  if (shown.size() < data.task.classes)
    text += fmt::format("{} of the {} classes are shown: the commonest of those somebody holds.\n",
                        shown.size(), data.task.classes);
  return text + fmt::format(
                    "{}, and {} of {}.\nSkew {:.2f}: 0 where all nodes have the same mix of "
                    "classes, 1 at most.\n",
                    sizes, show_range(classes, "classes"), data.task.classes, skew(counts));
}

}  // namespace tessera
