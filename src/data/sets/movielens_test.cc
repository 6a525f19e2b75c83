#include "data/sets/movielens.h"

#include <map>
#include <set>

#include "data/datasets.h"
#include "data/test_files.h"

namespace tessera {
namespace {

const std::string kHeader = "userId,movieId,rating,timestamp\n";

TEST(Ratings, ReadsBothKindsOfLineEnds) {
  for (const std::string end : {"\n", "\r\n"}) {
    const auto ratings = parse_ratings("userId,movieId,rating,timestamp" + end +
                                       "1,31,2.5,1260759144" + end + "7,1029,0.5,-3" + end);
    ASSERT_TRUE(ratings.ok()) << ratings.error().message;
    EXPECT_EQ(*ratings, (std::vector<Rating>{{1, 31, 2.5f}, {7, 1029, 0.5f}}));
  }
  EXPECT_TRUE(parse_ratings(kHeader + "1,31,2.5,1260759144").ok());
}

TEST(Ratings, ErrorsNameTheLine) {
  const std::map<std::string, std::string> cases = {
      {"", "line 1: '': the first line must be userId,movieId,rating,timestamp"},
      {"1,31,2.5,1",
       "line 1: '1,31,2.5,1': the first line must be userId,movieId,rating,timestamp"},
      {kHeader, "line 2: there are no ratings"},
      {kHeader + "1,1,3,1\n2,2,4\n",
       "line 3: '2,2,4': a rating has four fields, user, film, rating and time"},
      {kHeader + "1,1,3,1\n\n",
       "line 3: '': a rating has four fields, user, film, rating and time"},
      {kHeader + "-1,1,3,1\n", "line 2: '-1,1,3,1': the user is not a whole number below 2^32"},
      {kHeader + "4294967296,1,3,1\n",
       "line 2: '4294967296,1,3,1': the user is not a whole number below 2^32"},
      {kHeader + "1,x,3,1\n", "line 2: '1,x,3,1': the film is not a whole number below 2^32"},
      {kHeader + "1,1,,1\n", "line 2: '1,1,,1': the rating is not a number"},
      {kHeader + "1,1,nan,1\n", "line 2: '1,1,nan,1': the rating is not in [0.5, 5]"},
      {kHeader + "1,1,5.5,1\n", "line 2: '1,1,5.5,1': the rating is not in [0.5, 5]"},
      {kHeader + "1,1,3,1.5\n", "line 2: '1,1,3,1.5': the time is not a whole number"},
      {kHeader + "1,\t1,3,1\n", "line 2: '1,?1,3,1': the film is not a whole number below 2^32"},
  };
  for (const auto& [csv, message] : cases) {
    const auto ratings = parse_ratings(csv);
    ASSERT_FALSE(ratings.ok()) << csv;
    EXPECT_EQ(ratings.error().message, message);
  }
}

// Users 7, 40 and 1000 with 10, 5 and 1 ratings of films 500, 490, 480, ...
std::string three_users() {
  std::string csv = kHeader;
  for (const auto& [user, count] : std::map<int, int>{{7, 10}, {40, 5}, {1000, 1}})
    for (int i = 0; i < count; ++i) csv += fmt::format("{},{},{},99\n", user, 500 - 10 * i, 3.5);
  return csv;
}

TEST(MovieLens, NumbersUsersAndFilmsInTheOrderOfTheirIds) {
  const TempFolder folder;
  folder.write("ratings.csv", three_users());
  const Result<LoadedData> data = load_dataset("movielens:dir=" + folder.text());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.kind, Task::Kind::kRatings);
  EXPECT_EQ(data->task.classes, 0u);
  EXPECT_EQ(data->task.users, 3u);
  EXPECT_EQ(data->task.items, 10u);
  // round(0.7 n) of each user's ratings: 7 of 10, 4 of 5 (3.5 goes to the even 4) and 1 of 1.
  EXPECT_EQ(data->train->size(), 12u);
  EXPECT_EQ(data->test->size(), 4u);
  std::vector<float> x(2);
  EXPECT_EQ(data->train->get(11, x), 3.5f);
  EXPECT_EQ(x, (std::vector<float>{2, 9}));  // User 1000, film 500.
  EXPECT_EQ(data->train_users.back(), 2u);
}

TEST(MovieLens, EachRatingIsInOneHalfAndTheSeedDecidesWhich) {
  const TempFolder folder;
  folder.write("ratings.csv", three_users());
  const auto halves = [&](int seed) {
    const Result<LoadedData> data =
        load_dataset(fmt::format("movielens:seed={},dir={}", seed, folder.text()));
    std::set<std::pair<float, float>> train, all;
    std::vector<float> x(2);
    for (std::size_t i = 0; i < data->train->size(); ++i) {
      data->train->get(i, x);
      train.insert({x[0], x[1]});
    }
    all = train;
    for (std::size_t i = 0; i < data->test->size(); ++i) {
      data->test->get(i, x);
      EXPECT_TRUE(all.insert({x[0], x[1]}).second);
    }
    EXPECT_EQ(all.size(), 16u);
    return train;
  };
  EXPECT_EQ(halves(1), halves(1));
  EXPECT_NE(halves(1), halves(2));
}

TEST(MovieLens, ErrorsNameTheFile) {
  const TempFolder folder;
  folder.write("ratings.csv", kHeader + "1,2\n");
  const Result<LoadedData> data = load_dataset("movielens:dir=" + folder.text());
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().message,
            folder.text() +
                "/ratings.csv: line 2: '1,2': a rating has four fields, user, film, "
                "rating and time");
}

TEST(RealData, MovieLens) {
  NEED_REAL_DATA(dir, "ml-latest-small");
  const Result<LoadedData> data = load_dataset("movielens:dir=" + dir->string());
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->task.users, 610u);
  EXPECT_EQ(data->task.items, 9724u);
  EXPECT_EQ(data->train->size() + data->test->size(), 100'836u);
  EXPECT_NEAR(static_cast<double>(data->train->size()) / 100'836, 0.7, 0.001);
}

}  // namespace
}  // namespace tessera
