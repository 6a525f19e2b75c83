#include <fmt/format.h>

#include "base/text.h"
#include "cli/help.h"

namespace tessera {
namespace {

// Roff gives a meaning to backslashes and, at the beginning of a line, to dots and apostrophes. A
// bare hyphen may be printed as one that cannot be pasted into a shell.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    begins = c == '\n';
  }
  return out;
}

// Lines stay as they are: examples are to be copied, tables to be read.
std::string as_written(std::string_view text) {
  return fmt::format(".nf\n{}\n.fi\n", roff(text));
}

// A line of many options may end after any of their commas, without a hyphen.
std::string breakable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == ',' && i + 1 < text.size() && text[i + 1] != ' ') out += "\\:";
  }
  return out;
}

// Paragraphs are filled; lines that are indented stay as they are.
std::string paragraphs(std::string_view text) {
  std::string out;
  for (const std::string_view paragraph : split(text, '\n'))
    out += paragraph.starts_with("  ") ? as_written(paragraph) : breakable(roff(paragraph)) + "\n";
  return out;
}

// One line, or one for each part; `before` is what the command's name is a part of.
std::string usage(const CommandHelp& command, const std::string& before = "") {
  const std::string name = before + roff(command.name);
  std::string line;
  for (const CommandHelp& part : command.parts) line += usage(part, name + " ");
  if (!line.empty()) return line;
  line = fmt::format("\\fBtessera {}\\fR", name);
  if (!command.flags.empty()) line += " [\\fIFLAG\\fR...]";
  for (const FlagHelp& word : command.words)
    line += fmt::format(" {}\\fI{}\\fR{}{}", word.required ? "" : "[", roff(word.name),
                        word.repeats ? "..." : "", word.required ? "" : "]");
  return line + "\n.br\n";
}

std::string entry(const FlagHelp& flag) {
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}", roff(flag.name),
                     flag.takes_value ? "=\\fIVALUE\\fR" : "", paragraphs(flag.summary));
}

std::string entries(const CommandHelp& command) {
  std::string out;
  for (const FlagHelp& word : command.words) out += entry(word);
  for (const FlagHelp& flag : command.flags) out += entry(flag);
  for (const CommandHelp& part : command.parts)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}.\n.RS\n{}.RE\n", roff(part.name), roff(part.summary),
                       entries(part));
  return out;
}

std::string section(const CommandHelp& command) {
  std::string out = fmt::format(".SS {}\n{}.\n.PP\n{}", roff(command.name), roff(command.summary),
                                usage(command));
  out += entries(command);
  if (!command.notes.empty()) out += ".PP\n" + as_written(command.notes);
  return out;
}

constexpr std::string_view kEnd = R"(.SH EXIT STATUS
0 when done, 1 when something failed, 2 when the request was wrong; the reason is on standard error.
.SH FILES
.TP
\fI/usr/share/tessera/experiments\fR
One TOML file for each published figure or table, and small ones to begin with.
.TP
\fI/usr/share/tessera/get_data.sh\fR
Fetches datasets into the layout the program reads.
.TP
\fI/usr/share/tessera/tessera.sbatch\fR
One live node per task, for Slurm.
.TP
\fI/usr/share/tessera/grafana.json\fR
A dashboard of a fleet, to import.
.TP
\fI/usr/lib/systemd/system/tessera@.service\fR, \fI/usr/share/tessera/drop\-ins\fR
One live node as a service, with \fI/etc/tessera/NAME.toml\fR for its file and
\fI/var/lib/tessera/NAME\fR for its records; what a node needs for GPUs and data in \fI/home\fR.
.TP
\fI/usr/share/doc/tessera\fR
The algorithms, the wire format, how to deploy, and examples.
.SH SEE ALSO
\fBtessera\fR \fICOMMAND\fR \fB\-\-help\fR says the same of one command.
)";

}  // namespace

std::string man_page(const ProgramHelp& program) {
  std::string out = fmt::format(
      ".\\\" Written by `tessera help \\-\\-man` from what \\-\\-help says.\n"
      ".TH TESSERA 1 \"\" \"tessera {}\" \"User Commands\"\n"
      ".ad l\n"
      ".SH NAME\ntessera \\- {}\n.SH SYNOPSIS\n",
      roff(program.version), roff(program.summary));
  for (const CommandHelp& command : program.commands) out += usage(command);
  out += ".SH COMMANDS\n";
  for (const CommandHelp& command : program.commands) out += section(command);
  out += kEnd;
  return out;
}

}  // namespace tessera
