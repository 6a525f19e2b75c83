// Any text as ratings.csv, behind the header that would otherwise stop nearly everything.
#include "data/sets/movielens.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)tessera::parse_ratings(text).ok();
  (void)tessera::parse_ratings("userId,movieId,rating,timestamp\n" + text).ok();
  return 0;
}
