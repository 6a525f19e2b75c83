// What the program prints. A line that cannot be written, because a disk is full, a terminal is
// closed or a pipe has no reader any more, never ends what the program is doing. What standard
// output lost is remembered, and is an error in the end.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace tessera {

// At the program's beginning. From here on writing to a closed pipe, or beyond the longest file
// allowed, is an error like any other; and a standard stream that is closed stays so, instead of
// becoming the first file that is opened.
void prepare_output();

void put_out(std::string_view text);
void put_err(std::string_view text);
void silence_output(bool silent);  // For one of several processes that speak with one voice.
void flush_out();                  // For lines that someone is waiting for.

template <typename... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
  put_out(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  put_err(fmt::format(format, std::forward<Args>(args)...));
}

// At the program's end: whether standard output took everything. The error of a pipe whose reader
// has gone is of kind "pipe".
Result<void> finish_output();

}  // namespace tessera
