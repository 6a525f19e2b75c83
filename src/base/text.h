// Words for people: the nearest known name to a mistyped one, and numbers with units they can read;
// and text taken apart.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace tessera {

// The candidate fewest edits away, or nothing when none is near enough to be a slip of the finger.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// " Did you mean 'budget'?" or " Known: budget, levels." — the tail of a message about an unknown
// word.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

std::string join(std::span<const std::string_view> words, std::string_view between);
std::vector<std::string_view> split(std::string_view text,
                                    char at);  // "a,,b" has three parts; "" has none.
std::string_view trimmed(std::string_view text);
// The first line, without its end, which may be "\r\n"; `rest` is what comes after it.
std::string_view take_line(std::string_view& rest);

std::string show_bytes(double bytes);   // "1.34 GiB"
std::string show_duration(Duration d);  // "12.5 ms"

}  // namespace tessera
