#include "report/table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/metrics_csv.h"

namespace tessera {
namespace {

constexpr std::array kFormats = {
    TableFormatName{"plain", "columns for a terminal; the best are marked *", TableFormat::kPlain},
    TableFormatName{"markdown", "a Markdown table; the best are bold", TableFormat::kMarkdown},
    TableFormatName{"csv", "numbers without units, for programs", TableFormat::kCsv},
    TableFormatName{"latex", "a tabular environment for papers; the best are bold",
                    TableFormat::kLatex},
};

std::string escaped_latex(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("+-")) {
      out += "$\\pm$";
      ++i;
    } else if (text[i] == '<') {
      out += "$<$";
    } else {
      if (std::string_view("%&_#$").find(text[i]) != std::string_view::npos) out += '\\';
      out += text[i];
    }
  }
  return out;
}

std::string plain_text(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (const TableHead& head : table.heads) widths.push_back(head.title.size());
  const auto shown = [](const TableCell& cell) { return cell.text + (cell.best ? "*" : ""); };
  for (const TableRow& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], shown(row[c]).size());
  std::string out;
  const auto add = [&](std::size_t c, std::string_view text) {
    out +=
        c == 0 ? fmt::format("{:<{}}", text, widths[c]) : fmt::format("  {:>{}}", text, widths[c]);
    if (c + 1 == table.heads.size()) out += "\n";
  };
  for (std::size_t c = 0; c < table.heads.size(); ++c) add(c, table.heads[c].title);
  for (const TableRow& row : table.rows)
    for (std::size_t c = 0; c < row.size(); ++c) add(c, shown(row[c]));
  return out;
}

std::string markdown(const TextTable& table) {
  std::string out = "|", rule = "|";
  for (const TableHead& head : table.heads) {
    out += fmt::format(" {} |", head.title);
    rule += rule.size() == 1 ? "---|" : "---:|";
  }
  out += "\n" + rule + "\n";
  for (const TableRow& row : table.rows) {
    out += "|";
    for (const TableCell& cell : row)
      out += fmt::format(" {0}{1}{0} |", cell.best ? "**" : "", cell.text);
    out += "\n";
  }
  return out;
}

std::string csv(const TextTable& table) {
  std::string out;
  for (const TableHead& head : table.heads) {
    out += fmt::format("{}{}", out.empty() ? "" : ",", csv_words(head.name));
    if (head.has_deviation) out += fmt::format(",{}_deviation", head.name);
  }
  out += "\n";
  for (const TableRow& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out += ",";
      out += table.heads[c].is_words ? csv_words(row[c].number) : csv_field(row[c].number);
      if (table.heads[c].has_deviation) out += fmt::format(",{}", row[c].deviation);
    }
    out += "\n";
  }
  return out;
}

std::string latex(const TextTable& table) {
  std::string out =
      fmt::format("\\begin{{tabular}}{{l{}}}\n\\hline\n", std::string(table.heads.size() - 1, 'r'));
  for (std::size_t c = 0; c < table.heads.size(); ++c)
    out += fmt::format("{}{}", c == 0 ? "" : " & ", escaped_latex(table.heads[c].title));
  out += " \\\\\n\\hline\n";
  for (const TableRow& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      out += fmt::format("{}{}{}{}", c == 0 ? "" : " & ", row[c].best ? "\\textbf{" : "",
                         escaped_latex(row[c].text), row[c].best ? "}" : "");
    out += " \\\\\n";
  }
  return out + "\\hline\n\\end{tabular}\n";
}

}  // namespace

std::span<const TableFormatName> table_formats() {
  return kFormats;
}

std::string to_text(const TextTable& table, TableFormat format) {
  switch (format) {
    case TableFormat::kMarkdown:
      return markdown(table);
    case TableFormat::kCsv:
      return csv(table);
    case TableFormat::kLatex:
      return latex(table);
    case TableFormat::kPlain:
      break;
  }
  return plain_text(table);
}

}  // namespace tessera
