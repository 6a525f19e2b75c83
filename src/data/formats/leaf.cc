#include "data/formats/leaf.h"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/loading.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

enum class Part { kOther, kUsers, kCounts, kData };
enum class Field { kOther, kX, kY };

constexpr int kRowDepth = 5, kDepthMax = 7;

Part part_of(std::string_view key) {
  if (key == "users") return Part::kUsers;
  if (key == "num_samples") return Part::kCounts;
  return key == "user_data" ? Part::kData : Part::kOther;
}

Field field_of(std::string_view key) {
  if (key == "x") return Field::kX;
  return key == "y" ? Field::kY : Field::kOther;
}

// Follows the parser through the document. Values that matter sit at fixed depths: the names under
// "users" at 2, a user's x and y at 4, the numbers of one x at 5, or up to 7 where its lists are
// nested.
class Handler final : public nlohmann::json_sax<Json> {
 public:
  explicit Handler(const LeafSink& sink) : sink_(sink) {}

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("true or false"); }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool binary(binary_t&) override { return other("binary data"); }
  bool string(string_t& text) override;
  bool start_object(std::size_t) override;
  bool key(string_t& text) override;
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& why) override;

  Result<void> finish() const;

 private:
  bool in_samples() const { return part_ == Part::kData && field_ != Field::kOther; }
  bool number(double value);
  bool other(std::string_view what);
  bool end_list();
  bool end_user();
  bool fail(std::string_view kind, std::string message) {
    error_ = Error{kind, std::move(message)};
    return false;
  }
  bool misplaced(std::string_view what) {
    return fail("format", fmt::format("{}: {} where a LEAF file has none", where(), what));
  }
  std::string where() const;

  const LeafSink& sink_;
  std::optional<Error> error_{};
  int depth_ = 0;
  std::string top_{};
  Part part_ = Part::kOther;
  Field field_ = Field::kOther;  // Of a user.
  LeafUser user_{};
  std::vector<std::size_t> nested_{};  // Entries so far of each list that the x being read is in.
  int numbers_at_ = 0;                 // The depth of this user's numbers; 0: not known yet.
  std::size_t rows_ = 0;
  std::vector<std::string> listed_{};
  std::vector<double> counts_{};
  std::map<std::string, std::size_t> seen_{};
};

std::string Handler::where() const {
  if (top_.empty()) return "at the top";
  if (part_ != Part::kData || user_.name.empty()) return fmt::format("in '{}'", printable(top_));
  if (!in_samples()) return fmt::format("user '{}'", printable(user_.name));
  return fmt::format("user '{}', {} {}", printable(user_.name), field_ == Field::kX ? "x" : "y",
                     field_ == Field::kX ? rows_ + user_.texts.size() : user_.samples());
}

bool Handler::number(double value) {
  if (part_ == Part::kCounts && depth_ <= 2) return counts_.push_back(value), true;
  if (!in_samples()) return other("a number");
  if (std::abs(value) > std::numeric_limits<float>::max()) return misplaced("a number so large");
  if (depth_ >= kRowDepth && field_ == Field::kX) {
    if (numbers_at_ == 0) numbers_at_ = depth_;
    if (numbers_at_ != depth_) return misplaced("a number");
    ++nested_.back();
    return user_.numbers.push_back(static_cast<float>(value)), true;
  }
  if (depth_ == 4 && field_ == Field::kY) return user_.labels.push_back(value), true;
  return misplaced("a number");
}

bool Handler::string(string_t& text) {
  if (part_ == Part::kUsers && depth_ == 2) return listed_.push_back(std::move(text)), true;
  if (!in_samples()) return other("a text");
  if (depth_ != 4) return misplaced("a text");
  (field_ == Field::kX ? user_.texts : user_.label_texts).push_back(std::move(text));
  return true;
}

// A value nobody asked for: passed over in keys that are not ours, refused in those that are.
bool Handler::other(std::string_view what) {
  const bool ours = part_ == Part::kUsers || part_ == Part::kCounts || in_samples() ||
                    (part_ == Part::kData && depth_ <= 2) || depth_ == 0;
  return ours ? misplaced(what) : true;
}

bool Handler::start_object(std::size_t) {
  ++depth_;
  const bool fits =
      depth_ == 1 || (part_ == Part::kData ? depth_ <= 3 || !in_samples()
                                           : part_ != Part::kUsers && part_ != Part::kCounts);
  return fits || misplaced("an object");
}

bool Handler::key(string_t& text) {
  if (depth_ == 1) {
    top_ = text;
    part_ = part_of(text);
  }
  if (part_ != Part::kData) return true;
  if (depth_ == 2) {
    user_ = {.name = text};
    if (seen_.contains(text))
      return fail("format", fmt::format("user '{}' is there twice", printable(text)));
  }
  if (depth_ == 3) {
    field_ = field_of(text);
    const bool again = field_ == Field::kX ? !user_.numbers.empty() || !user_.texts.empty()
                                           : field_ == Field::kY && user_.samples() > 0;
    if (again) return misplaced("a second list");
    rows_ = 0;
    nested_.clear();
  }
  return true;
}

bool Handler::end_object() {
  --depth_;
  if (part_ == Part::kData && depth_ == 2) return end_user();
  return true;
}

bool Handler::start_array(std::size_t) {
  ++depth_;
  if (depth_ == 1) return misplaced("a list");
  if (part_ == Part::kUsers || part_ == Part::kCounts) return depth_ == 2 || misplaced("a list");
  if (part_ != Part::kData || (depth_ > 3 && !in_samples())) return true;
  if (depth_ == 4) return true;
  const bool too_deep = depth_ > kDepthMax || (numbers_at_ > 0 && depth_ > numbers_at_);
  if (depth_ < kRowDepth || field_ != Field::kX || too_deep) return misplaced("a list");
  if (!nested_.empty()) ++nested_.back();
  nested_.push_back(0);
  return true;
}

bool Handler::end_array() {
  if (in_samples() && depth_ >= kRowDepth && !end_list()) return false;
  --depth_;
  if (depth_ != 4 || !in_samples()) return true;
  user_.width = 1;
  for (const std::uint32_t extent : user_.extents) user_.width *= extent;
  ++rows_;
  return true;
}

// All lists at one depth are of one length.
bool Handler::end_list() {
  const auto level = static_cast<std::size_t>(depth_ - kRowDepth);
  const std::size_t length = nested_.back();
  nested_.pop_back();
  if (user_.extents.size() <= level) user_.extents.resize(level + 1, 0);
  std::uint32_t& extent = user_.extents[level];
  const bool first = extent == 0;
  if (first) extent = static_cast<std::uint32_t>(length);
  if (length > 0 && length == extent) return true;
  const bool flat = numbers_at_ == kRowDepth || length == 0;
  return fail("format", flat ? fmt::format("user '{}', x {}: {} numbers where x 0 has {}",
                                           printable(user_.name), rows_, length, extent)
                             : fmt::format("user '{}', x {}: a list of {} where another has {}",
                                           printable(user_.name), rows_, length, extent));
}

bool Handler::end_user() {
  const std::string name = printable(user_.name);
  const std::size_t xs =
      user_.texts.size() + (user_.width ? user_.numbers.size() / user_.width : 0);
  const bool mixed = (!user_.texts.empty() && !user_.numbers.empty()) ||
                     (!user_.labels.empty() && !user_.label_texts.empty());
  if (mixed || xs != user_.samples())
    return fail("format", mixed
                              ? fmt::format("user '{}': texts among numbers", name)
                              : fmt::format("user '{}': {} x and {} y", name, xs, user_.samples()));
  seen_[user_.name] = xs;
  if (xs > 0)
    if (const Result<void> taken = sink_(user_); !taken)
      return fail(taken.error().kind, taken.error().message);
  user_ = {};
  field_ = Field::kOther;
  numbers_at_ = 0;
  return true;
}

bool Handler::parse_error(std::size_t position, const std::string&,
                          const nlohmann::detail::exception& why) {
  // Its text starts with a number of its own in brackets and repeats the position; ours is shorter.
  std::string_view text = why.what();
  const std::size_t colon = text.find(": ");
  if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
  return fail("json", fmt::format("byte {}: not JSON: {}", position, printable(text)));
}

Result<void> Handler::finish() const {
  if (error_) return *error_;
  if (seen_.empty()) return Error{"empty", "there are no users under 'user_data'"};
  if (listed_.size() != counts_.size())
    return Error{"format", fmt::format("'users' has {} entries and 'num_samples' {}",
                                       listed_.size(), counts_.size())};
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    const auto found = seen_.find(listed_[i]);
    const double has = found == seen_.end() ? 0 : static_cast<double>(found->second);
    if (has != counts_[i])
      return Error{"format", fmt::format("user '{}' has {} samples where 'num_samples' says {}",
                                         printable(listed_[i]), has, counts_[i])};
  }
  const std::set<std::string> listed(listed_.begin(), listed_.end());
  for (const auto& [name, samples] : seen_)
    if (samples > 0 && !listed.contains(name))
      return Error{"format",
                   fmt::format("user '{}' has samples but is not in 'users'", printable(name))};
  return {};
}

}  // namespace

Result<void> parse_leaf(ByteSpan json, const LeafSink& sink) {
  Handler handler(sink);
  const char* text = reinterpret_cast<const char*>(json.data());
  const bool whole = Json::sax_parse(text, text + json.size(), &handler);
  Result<void> result = handler.finish();
  CHECK((whole || !result));
  return result;
}

}  // namespace tessera
