#include "report/chart_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace tessera {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 62, kTop = 34, kBottom = kHeight - 44;
constexpr double kLetter = 6.6, kLine = 14;
constexpr std::size_t kNameMax = 24, kNamed = 24;
// Of web/theme.js: they differ in lightness as well as in hue, and dashes tell further runs apart.
constexpr std::array kColours = {"#2378c7", "#b53a05", "#006a50", "#da74b0", "#3d2169", "#bd8f00"};
constexpr std::array kDashes = {"", "8 4", "2 3", "9 3 2 3"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '"')
      out += fmt::format("&#{};", static_cast<int>(c));
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string shortened(const std::string& name) {
  return name.size() > kNameMax ? name.substr(0, kNameMax - 2) + ".." : name;
}

struct Range {
  double low = INFINITY, high = -INFINITY;
  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// Where values lie on the paper.
struct Frame {
  Range x{}, y{};
  double right = kWidth - 16;

  double at_x(double value) const {
    return kLeft + (value - x.low) / (x.high - x.low) * (right - kLeft);
  }
  double at_y(double value) const {
    return kBottom - (value - y.low) / (y.high - y.low) * (kBottom - kTop);
  }
  std::string point(double px, double py) const {
    return fmt::format("{:.1f},{:.1f} ", at_x(px), at_y(py));
  }
};

Frame frame_of(const Chart& chart) {
  Frame frame{.x = {0, 0}};
  std::size_t longest = 0;
  for (const NamedCurve& one : chart.curves) {
    for (const auto* values : {&one.curve.y, &one.curve.low, &one.curve.high})
      for (const double v : *values)
        if (std::isfinite(v)) frame.y.take(v);
    for (const double v : one.curve.x) frame.x.take(v);
    longest = std::max(longest, shortened(one.name).size());
  }
  if (!(frame.x.high > frame.x.low)) frame.x.high = frame.x.low + 1;
  if (!std::isfinite(frame.y.low)) frame.y = {0, 1};
  const double span = frame.y.high - frame.y.low;
  const double pad = 0.05 * (span > 0 ? span : std::max(std::abs(frame.y.high), 1.0));
  frame.y = {frame.y.low >= 0 ? std::max(0.0, frame.y.low - pad) : frame.y.low - pad,
             frame.y.high + pad};
  if (chart.y.unit == Unit::kPercent) {
    frame.y.low = 0;
    if (frame.y.high > 1 && frame.y.high < 1 + 2 * pad) frame.y.high = 1;
  }
  if (chart.curves.size() <= kNamed) frame.right -= 10 + kLetter * static_cast<double>(longest);
  return frame;
}

void draw_axes(std::string& out, const Chart& chart, const Frame& frame) {
  const auto add = std::back_inserter(out);
  for (const Mark& mark : marks_between(frame.y.low, frame.y.high, chart.y.unit, 6))
    fmt::format_to(add,
                   "<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"#e3e7ec\"/><text x=\"{3:.1f}\" "
                   "y=\"{4:.1f}\" text-anchor=\"end\" fill=\"#5a6470\">{5}</text>\n",
                   kLeft, frame.at_y(mark.value), frame.right, kLeft - 8,
                   frame.at_y(mark.value) + 4, mark.text);
  const int count = static_cast<int>((frame.right - kLeft) / 90);
  for (const Mark& mark : marks_between(frame.x.low, frame.x.high, chart.x.unit, count))
    fmt::format_to(add,
                   "<path d=\"M{0:.1f} {1:.1f}v5\" stroke=\"#9aa4b0\"/><text x=\"{0:.1f}\" "
                   "y=\"{2:.1f}\" text-anchor=\"middle\" fill=\"#5a6470\">{3}</text>\n",
                   frame.at_x(mark.value), kBottom, kBottom + 19, mark.text);
  fmt::format_to(add,
                 "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#9aa4b0\"/><text x=\"{:.1f}\" "
                 "y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#5a6470\">{}</text>\n",
                 kLeft, kBottom, frame.right, (kLeft + frame.right) / 2, kHeight - 8,
                 escaped(chart.x.label));
}

void draw_band(std::string& out, const Curve& curve, std::size_t place, const Frame& frame) {
  if (curve.low.empty()) return;
  std::string points;
  for (std::size_t i = 0; i < curve.x.size(); ++i) points += frame.point(curve.x[i], curve.high[i]);
  for (std::size_t i = curve.x.size(); i-- > 0;) points += frame.point(curve.x[i], curve.low[i]);
  out += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.12\"/>\n", points,
                     kColours[place % kColours.size()]);
}

void draw_line(std::string& out, const Curve& curve, std::size_t place, const Frame& frame) {
  std::string points;
  for (std::size_t i = 0; i < curve.x.size(); ++i) points += frame.point(curve.x[i], curve.y[i]);
  out += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" "
      "stroke-linejoin=\"round\" stroke-dasharray=\"{}\"/>\n",
      points, kColours[place % kColours.size()], kDashes[place / kColours.size() % kDashes.size()]);
}

// Beside the ends of the curves, moved apart where they would cover each other.
void draw_names(std::string& out, const Chart& chart, const Frame& frame) {
  struct Name {
    double wanted = 0, y = 0;
    std::size_t place = 0;
  };
  std::vector<Name> names;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const double y = frame.at_y(chart.curves[i].curve.y.back());
    names.push_back({y, y, i});
  }
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.y < b.y; });
  for (std::size_t i = 1; i < names.size(); ++i)
    names[i].y = std::max(names[i].y, names[i - 1].y + kLine);
  double lowest = kBottom - 4;
  for (std::size_t i = names.size(); i-- > 0; lowest = names[i].y - kLine)
    names[i].y = std::min(names[i].y, lowest);
  for (const Name& name : names) {
    const NamedCurve& one = chart.curves[name.place];
    out += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"0.8\" "
        "stroke-dasharray=\"1 3\"/><text "
        "x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
        frame.at_x(one.curve.x.back()), name.wanted, frame.right + 7, name.y,
        kColours[name.place % kColours.size()], frame.right + 9, name.y + 4,
        escaped(shortened(one.name)));
  }
}

struct Figure {
  std::string_view name{}, title{};
  Unit unit = Unit::kPlain;
};
constexpr std::array kFigures = {
    Figure{"accuracy", "Accuracy", Unit::kPercent},
    Figure{"merged_accuracy", "Accuracy of the merged model", Unit::kPercent},
    Figure{"loss", "Test loss"},
    Figure{"merged_loss", "Test loss of the merged model"},
    Figure{"train_loss", "Training loss"},
};

struct Axis {
  std::string_view name{}, column{}, label{};
  Unit unit = Unit::kPlain;
};
constexpr std::array kAxes = {
    Axis{"rounds", "round", "rounds", Unit::kCount},
    Axis{"bytes", "bytes_sent_per_node", "bytes sent per node", Unit::kBytes},
    Axis{"time", "virtual_seconds", "virtual time", Unit::kSeconds},
};

bool any_above_zero(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

}  // namespace

std::string to_svg(const Chart& chart) {
  const Frame frame = frame_of(chart);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#1b2129\">"
      "<title>{2}</title>\n<text x=\"{3}\" y=\"18\" font-weight=\"600\" "
      "font-size=\"14\">{2}</text>\n",
      kWidth, kHeight, escaped(chart.title), kLeft);
  draw_axes(out, chart, frame);
  // All bands come before the lines, so that no band covers a line.
  for (std::size_t i = 0; i < chart.curves.size(); ++i)
    draw_band(out, chart.curves[i].curve, i, frame);
  for (std::size_t i = 0; i < chart.curves.size(); ++i)
    draw_line(out, chart.curves[i].curve, i, frame);
  if (chart.curves.size() <= kNamed) draw_names(out, chart, frame);
  return out + "</svg>\n";
}

std::vector<ChartFile> chart_files(std::span<const StoredRun> runs,
                                   std::span<const MetricsTable> tables, Band band) {
  std::vector<ChartFile> files;
  for (const Figure& figure : kFigures)
    for (const Axis& axis : kAxes) {
      Chart chart{.title = fmt::format("{} against {}", figure.title, axis.label),
                  .x = {std::string(axis.label), axis.unit},
                  .y = {std::string(figure.title), figure.unit}};
      std::size_t next = 0;
      for (const StoredRun& run : runs) {
        Curve curve =
            curve_of(tables.subspan(next, run.seeds.size()), {axis.column, figure.name}, band);
        next += run.seeds.size();
        // Where there is no network no time passes, and toys have no accuracy.
        if (any_above_zero(curve.x) && any_above_zero(curve.y))
          chart.curves.push_back({run.name, std::move(curve)});
      }
      if (chart.curves.empty()) continue;
      files.push_back({fmt::format("{}-{}.svg", figure.name, axis.name), to_svg(chart)});
    }
  return files;
}

}  // namespace tessera
