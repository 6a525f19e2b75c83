// A table of figures as text: for a terminal, a page, a paper or a program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class TableFormat { kPlain, kMarkdown, kCsv, kLatex };

struct TableFormatName {
  std::string_view name{};
  std::string_view summary{};
  TableFormat format = TableFormat::kPlain;
};
std::span<const TableFormatName> table_formats();

struct TableHead {
  std::string title{};  // For people.
  std::string name{};   // For programs.
  bool is_words = false;
  bool has_deviation = false;  // A column of its own for programs.
};

struct TableCell {
  std::string text{};    // For people.
  std::string number{};  // For programs; empty where there is none.
  std::string deviation{};
  bool best = false;
};
using TableRow = std::vector<TableCell>;

struct TextTable {
  std::vector<TableHead> heads{};  // At least one.
  std::vector<TableRow> rows{};
};

std::string to_text(const TextTable& table, TableFormat format);

}  // namespace tessera
