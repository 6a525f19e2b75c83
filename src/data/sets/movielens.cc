#include "data/sets/movielens.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/files.h"
#include "base/random.h"
#include "base/text.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "userId,movieId,rating,timestamp";

Error bad_line(std::size_t line, std::string_view text, std::string_view why) {
  return {"csv", fmt::format("line {}: '{}': {}", line, printable(text), why)};
}

// The whole of `text` must be the number.
template <typename T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// Empty when `line` is a rating, else what is wrong with it.
std::string_view parse_line(std::string_view line, Rating& rating) {
  const std::vector<std::string_view> fields = split(line, ',');
  std::int64_t time = 0;
  if (fields.size() != 4) return "a rating has four fields, user, film, rating and time";
  if (!parse_whole(fields[0], rating.user)) return "the user is not a whole number below 2^32";
  if (!parse_whole(fields[1], rating.film)) return "the film is not a whole number below 2^32";
  if (!parse_whole(fields[2], rating.stars)) return "the rating is not a number";
  if (!(rating.stars >= 0.5f && rating.stars <= 5.0f)) return "the rating is not in [0.5, 5]";
  if (!parse_whole(fields[3], time)) return "the time is not a whole number";
  return {};
}

// Sorted and each once; an id's new number is its place.
std::vector<std::uint32_t> distinct(std::span<const Rating> ratings, std::uint32_t Rating::*id) {
  std::vector<std::uint32_t> ids;
  for (const Rating& rating : ratings) ids.push_back(rating.*id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::uint32_t place_of(std::span<const std::uint32_t> ids, std::uint32_t id) {
  return static_cast<std::uint32_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
}

struct RatingHalf {
  std::vector<float> features{};
  std::vector<float> targets{};
  std::vector<std::uint32_t> users{};

  void add(const Rating& rating) {
    features.insert(features.end(),
                    {static_cast<float>(rating.user), static_cast<float>(rating.film)});
    targets.push_back(rating.stars);
    users.push_back(rating.user);
  }
  DecodedHalf decoded() && {
    return {
        .floats = std::move(features), .targets = std::move(targets), .users = std::move(users)};
  }
};

// One user's ratings: round(0.7 n) of them, drawn at random, to train on. Each user draws from a
// fork of its own, so one user more changes nobody else's split.
void split_user(std::span<const Rating> ratings, Random random, RatingHalf& train,
                RatingHalf& test) {
  const auto count = static_cast<std::uint32_t>(ratings.size());
  const auto kept = static_cast<std::uint32_t>(std::nearbyint(0.7 * count));
  std::vector<bool> chosen(count, false);
  for (const std::uint32_t i : random.sample(count, kept)) chosen[i] = true;
  for (std::uint32_t i = 0; i < count; ++i) (chosen[i] ? train : test).add(ratings[i]);
}

Result<DecodedData> decode(const fs::path& dir, std::uint64_t seed) {
  if (const Result<void> there = require_folder(dir, "scripts/get_data.sh movielens fetches it");
      !there)
    return there.error();
  const Result<std::string> csv = read_text_file(dir / "ratings.csv");
  if (!csv) return csv.error();
  Result<std::vector<Rating>> parsed = parse_ratings(*csv);
  if (!parsed) return in_file(dir / "ratings.csv", parsed.error());
  std::vector<Rating>& ratings = *parsed;

  const std::vector<std::uint32_t> users = distinct(ratings, &Rating::user);
  const std::vector<std::uint32_t> films = distinct(ratings, &Rating::film);
  for (Rating& rating : ratings)
    rating = {place_of(users, rating.user), place_of(films, rating.film), rating.stars};
  const auto by_user = [](const Rating& a, const Rating& b) { return a.user < b.user; };
  std::stable_sort(ratings.begin(), ratings.end(), by_user);

  const Random root = Random(seed).fork("movielens");
  RatingHalf train, test;
  for (auto begin = ratings.begin(); begin != ratings.end();) {
    const auto end = std::upper_bound(begin, ratings.end(), *begin, by_user);
    split_user({begin, end}, root.fork("user", begin->user), train, test);
    begin = end;
  }
  DecodedData data;
  data.name = "movielens";
  data.task = {.kind = Task::Kind::kRatings,
               .shape = {2},
               .users = static_cast<std::uint32_t>(users.size()),
               .items = static_cast<std::uint32_t>(films.size())};
  data.train = std::move(train).decoded();
  data.test = std::move(test).decoded();
  return data;
}

}  // namespace

Result<std::vector<Rating>> parse_ratings(std::string_view csv) {
  const std::string_view first = take_line(csv);
  if (first != kHeader)
    return bad_line(1, first, fmt::format("the first line must be {}", kHeader));
  std::vector<Rating> ratings;
  for (std::size_t line = 2; !csv.empty(); ++line) {
    const std::string_view text = take_line(csv);
    Rating rating;
    if (const std::string_view why = parse_line(text, rating); !why.empty())
      return bad_line(line, text, why);
    ratings.push_back(rating);
  }
  if (ratings.empty()) return Error{"empty", "line 2: there are no ratings"};
  return ratings;
}

DataSource movielens_source(Options& options) {
  const fs::path dir = options.text("dir", "data/ml-latest-small");
  const auto seed = static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0)));
  options.done();
  return {{dir}, [=] { return decode(dir, seed); }};
}

}  // namespace tessera
