// The partition `file`: a line per training sample with the node that holds it, or '-'.
#include <fmt/format.h>

#include <charconv>
#include <stdexcept>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "data/partition_kinds.h"

namespace tessera {
namespace {

// A line is a node's number and its end; ten digits are enough for any node.
constexpr std::size_t kLineMax = 12;

class SplitReader {
 public:
  SplitReader(std::string path, std::uint32_t nodes) : path_(std::move(path)), own_(nodes) {}

  std::vector<Indices> read(std::size_t samples) {
    Result<std::string> text = read_text_file(path_, samples * kLineMax + kLineMax);
    if (!text) throw std::invalid_argument(fmt::format("file: {}", text.error().message));
    std::string_view rest = *text;
    while (!rest.empty()) {
      if (line_ == samples) refuse(fmt::format("there are only {} training samples", samples));
      take(trimmed(take_line(rest)));
    }
    if (line_ != samples)
      refuse(fmt::format("the file ends here, and there are {} training samples", samples));
    for (std::uint32_t node = 0; node < own_.size(); ++node)
      if (own_[node].empty()) refuse(fmt::format("nothing was left for node {}", node));
    return std::move(own_);
  }

 private:
  void take(std::string_view word) {
    const auto sample = static_cast<std::uint32_t>(line_++);
    if (word == "-") return;
    std::uint32_t node = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), node);
    if (error != std::errc{} || end != word.data() + word.size())
      refuse(fmt::format("'{}' is neither a node's number nor '-'", word.substr(0, 40)));
    if (node >= own_.size())
      refuse(fmt::format("there is no node {}; the last of {} is {}", node, own_.size(),
                         own_.size() - 1));
    own_[node].push_back(sample);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw std::invalid_argument(fmt::format(
        "file: {}, line {}: {}; write a line per training sample, with the node that holds it "
        "or '-' for nobody",
        path_, line_, why));
  }

  std::string path_;
  std::size_t line_ = 0;
  std::vector<Indices> own_;
};

}  // namespace

Deal read_file_split(Options& options) {
  return [path = options.text("path")](const LoadedData& data, std::uint32_t nodes, const Random&) {
    return Partition{.train = SplitReader(path, nodes).read(data.train->size())};
  };
}

}  // namespace tessera
