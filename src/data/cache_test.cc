#include "data/cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <latch>
#include <thread>

#include "data/cache_file.h"
#include "data/test_files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A set of two halves in one source file, and how often it was decoded.
class KeptSet {
 public:
  KeptSet() {
    fs::create_directories(folder_.path() / "source");
    folder_.write("source/numbers", "123456");
  }

  Result<DecodedData> load() { return decode_once(cache(), spec(), source()); }
  DataCache cache() const { return {.folder = folder_.path() / "cache", .bytes_min = 1}; }
  static Spec spec() { return parse_spec("numbers:scale=unit"); }
  DataSource source() {
    return {{folder_.path() / "source"}, [this] {
              ++decoded_;
              return Result<DecodedData>(made_);
            }};
  }
  // The one file of the cache.
  fs::path file() const {
    for (const fs::directory_entry& entry : fs::directory_iterator(cache().folder))
      if (entry.path().extension() == ".data") return entry.path();
    return {};
  }
  int decoded() const { return decoded_; }
  DecodedData& made() { return made_; }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  std::atomic<int> decoded_ = 0;
  DecodedData made_{
      .name = "numbers",
      .task = {.shape = {3}, .classes = 4},
      .scale = {.divisor = 255},
      .train = {.bytes = std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6},
                .targets = std::vector<float>{3, 0},
                .users = std::vector<std::uint32_t>{7, 9}},
      .test = {.floats = std::vector<float>{0.5f, -1, 2}, .targets = std::vector<float>{1}},
      .class_names = {"a", "b", "c", "d"}};
};

template <typename T>
std::vector<T> values(const Column<T>& column) {
  return {column.values().begin(), column.values().end()};
}

void expect_same(const DecodedData& a, const DecodedData& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.task.shape, b.task.shape);
  EXPECT_EQ(a.task.classes, b.task.classes);
  EXPECT_EQ(a.scale, b.scale);
  EXPECT_EQ(a.class_names, b.class_names);
  for (const auto half : {&DecodedData::train, &DecodedData::test}) {
    EXPECT_EQ(values((a.*half).bytes), values((b.*half).bytes));
    EXPECT_EQ(values((a.*half).floats), values((b.*half).floats));
    EXPECT_EQ(values((a.*half).targets), values((b.*half).targets));
    EXPECT_EQ(values((a.*half).users), values((b.*half).users));
  }
}

TEST(DataCache, TheSecondLoadGivesTheSameAndReadsNoSource) {
  KeptSet set;
  const Result<DecodedData> first = set.load();
  ASSERT_TRUE(first.ok());
  const Result<DecodedData> second = set.load();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(set.decoded(), 1);
  expect_same(*first, set.made());
  expect_same(*second, set.made());
  // Even the first load gives what lies in the file, which other processes share.
  EXPECT_NE(first->train.bytes.values().data(), set.made().train.bytes.values().data());
  struct stat status {};
  ASSERT_EQ(::stat(set.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// Cut anywhere, or with any byte of it changed, it is not believed.
TEST(DataCache, AHalfThatIsPutAwayTakesNothingElseWithIt) {
  KeptSet set;
  std::vector<std::uint8_t> many(100'002);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::uint8_t>(i * i >> 3);
  set.made().train.bytes = many;
  set.made().train.targets = std::vector<float>(many.size() / 3, 2);
  set.made().train.users = std::vector<std::uint32_t>(many.size() / 3, 5);
  ASSERT_TRUE(set.load().ok());
  Result<DecodedData> mapped = set.load();
  ASSERT_TRUE(mapped.ok());
  const Column<std::uint8_t> kept = mapped->train.bytes;
  mapped->train = {};
  EXPECT_EQ(values(kept), many);
  EXPECT_EQ(values(mapped->test.floats), values(set.made().test.floats));
  mapped->test = {};
  EXPECT_EQ(values(kept), many);
  EXPECT_EQ(set.decoded(), 1);
}

TEST(DataCache, NoDamageIsBelieved) {
  KeptSet set;
  const fs::path file = set.folder().path() / "file";
  ASSERT_TRUE(write_cache_file(file, 5, set.made()).ok());
  const Result<std::string> whole = read_text_file(file);
  const auto believed = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    return read_cache_file(file, 5).ok();
  };
  EXPECT_TRUE(believed(*whole));
  for (std::size_t size = 0; size < whole->size(); ++size)
    EXPECT_FALSE(believed(whole->substr(0, size))) << size;
  for (std::size_t at = 0; at < whole->size(); ++at) {
    std::string changed = *whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    EXPECT_FALSE(believed(changed)) << at;
  }
  EXPECT_FALSE(believed(*whole + '\0'));
}

// What was mapped before stays as it was, because another file takes the name.
TEST(DataCache, ABrokenFileIsMadeAnew) {
  KeptSet set;
  const Result<DecodedData> before = set.load();
  const Bytes whole = *read_file(set.file());
  ASSERT_TRUE(write_private_file(set.file(), {ByteSpan(whole).first(100)}).ok());
  testing::internal::CaptureStderr();
  const Result<DecodedData> again = set.load();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("it is made anew"), std::string::npos);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(set.decoded(), 2);
  expect_same(*again, set.made());
  EXPECT_EQ(*read_file(set.file()), whole);
  expect_same(*before, set.made());
}

TEST(DataCache, AnotherVersionIsMadeAnew) {
  KeptSet set;
  (void)set.load();
  Bytes bytes = *read_file(set.file());
  bytes[8] = std::byte{kCacheVersion + 1};
  ASSERT_TRUE(write_private_file(set.file(), {bytes}).ok());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(set.load().ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "data: " + set.file().string() + ": is of version 2, not 1; it is made anew\n");
  EXPECT_EQ(set.decoded(), 2);
}

// Every checksum holds, and yet a model would look up what is not there.
TEST(DataCache, NumbersThatCannotBeAreRefused) {
  KeptSet set;
  (void)set.load();
  const auto refused = [&](const DecodedData& data) {
    EXPECT_TRUE(write_cache_file(set.file(), 5, data).ok());
    return !read_cache_file(set.file(), 5).ok();
  };
  EXPECT_FALSE(refused(set.made()));
  DecodedData data = set.made();
  data.train.targets = std::vector<float>{4, 0};
  EXPECT_TRUE(refused(data));
  data.train.targets = std::vector<float>{1};
  EXPECT_TRUE(refused(data));
  data = set.made();
  data.task.shape = {0};
  EXPECT_TRUE(refused(data));
  data = set.made();
  data.scale.divisor = 0;
  EXPECT_TRUE(refused(data));
  data = set.made();
  data.test = data.train;
  data.task.kind = Task::Kind::kTokens;
  data.task.vocabulary = 7;
  EXPECT_FALSE(refused(data));
  data.task.vocabulary = 6;
  EXPECT_TRUE(refused(data));
}

TEST(DataCache, AChangedSourceIsNoticed) {
  KeptSet set;
  (void)set.load();
  const fs::path source = set.folder().path() / "source";
  fs::last_write_time(source / "numbers",
                      fs::last_write_time(source / "numbers") + std::chrono::seconds(1));
  (void)set.load();
  EXPECT_EQ(set.decoded(), 2);
  set.folder().write("source/more", "7");
  (void)set.load();
  EXPECT_EQ(set.decoded(), 3);
  fs::rename(source / "more", source / "other");
  (void)set.load();
  EXPECT_EQ(set.decoded(), 4);
  (void)set.load();
  EXPECT_EQ(set.decoded(), 4);
}

TEST(DataCache, OfTwoAtOnceOneDecodes) {
  KeptSet set;
  std::latch start(4);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      const Result<DecodedData> data = set.load();
      EXPECT_TRUE(data.ok());
      if (data.ok()) expect_same(*data, set.made());
    });
  threads.clear();
  EXPECT_EQ(set.decoded(), 1);
}

TEST(DataCache, WithoutAFolderToWriteToNothingIsKept) {
  KeptSet set;
  set.folder().write("cache", "a file where the folder should be");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    const Result<DecodedData> data = set.load();
    ASSERT_TRUE(data.ok());
    expect_same(*data, set.made());
  }
  EXPECT_EQ(set.decoded(), 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

// A file that others may write to can be cut while it is mapped.
TEST(DataCache, AFileThatOthersMayWriteToIsNotMapped) {
  KeptSet set;
  (void)set.load();
  fs::permissions(set.file(), fs::perms::others_write, fs::perm_options::add);
  testing::internal::CaptureStderr();
  (void)set.load();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("others may write to it"),
            std::string::npos);
  EXPECT_EQ(set.decoded(), 2);
}

TEST(DataCache, SmallSetsAndSetsWithoutFilesAreNotKept) {
  KeptSet set;
  DataCache cache = set.cache();
  cache.bytes_min = 7;
  EXPECT_TRUE(decode_once(cache, KeptSet::spec(), set.source()).ok());
  DataSource drawn = set.source();
  drawn.folders.clear();
  EXPECT_TRUE(decode_once(set.cache(), KeptSet::spec(), drawn).ok());
  EXPECT_FALSE(fs::exists(cache.folder));
}

// A limit takes some samples of the whole set, so it needs no file of its own; a scale does.
TEST(DataCache, LimitsShareAFile) {
  KeptSet set;
  for (const char* line : {"numbers:scale=unit", "numbers:limit=1,scale=unit,test_limit=1"})
    EXPECT_TRUE(decode_once(set.cache(), parse_spec(line), set.source()).ok());
  EXPECT_EQ(set.decoded(), 1);
  EXPECT_TRUE(decode_once(set.cache(), parse_spec("numbers:scale=raw"), set.source()).ok());
  EXPECT_EQ(set.decoded(), 2);
}

// A variable of the environment as it was before, when the test ends.
class Variable {
 public:
  explicit Variable(const char* name) : name_(name) {
    if (const char* const value = std::getenv(name)) before_ = value;
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  void operator=(const char* value) { ::setenv(name_, value, 1); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(DataCache, TheEnvironmentSaysWhere) {
  Variable cache("TESSERA_CACHE"), base("XDG_CACHE_HOME"), home("HOME");
  home = "/h";
  base = "";
  cache = "";
  EXPECT_EQ(users_cache().folder, "/h/.cache/tessera");
  base = "/x";
  EXPECT_EQ(users_cache().folder, "/x/tessera");
  cache = "some/folder";
  EXPECT_EQ(users_cache().folder, "some/folder");
  cache = "off";
  EXPECT_TRUE(users_cache().folder.empty());
}

}  // namespace
}  // namespace tessera
