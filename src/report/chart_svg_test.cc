#include "report/chart_svg.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

MetricsTable table_of(std::vector<double> rounds, std::vector<double> accuracy) {
  MetricsTable table;
  table.rows = rounds.size();
  table.columns = {{"round", std::move(rounds)}, {"accuracy", std::move(accuracy)}};
  return table;
}

constexpr CurveColumns kAccuracy{"round", "accuracy"};

TEST(Curve, IsTheMeanOverSeedsWhereAllOfThemHaveBeen) {
  const std::vector<MetricsTable> seeds = {table_of({0, 10, 20}, {0.0, 0.2, 0.4}),
                                           table_of({0, 5, 10}, {0.0, 0.2, 0.4})};
  const Curve curve = curve_of(seeds, kAccuracy, Band::kRange);
  EXPECT_EQ(curve.x, (std::vector<double>{0, 5, 10}));
  EXPECT_NEAR(curve.y[1], 0.15, 1e-12);
  EXPECT_NEAR(curve.y[2], 0.3, 1e-12);
  EXPECT_NEAR(curve.low[2], 0.2, 1e-12);
  EXPECT_NEAR(curve.high[2], 0.4, 1e-12);
}

TEST(Curve, BandsAreRangeDeviationOrConfidence) {
  std::vector<MetricsTable> seeds;
  for (const double v : {1.0, 2.0, 3.0, 4.0, 5.0}) seeds.push_back(table_of({1}, {v}));
  const auto half = [&](Band band) {
    const Curve curve = curve_of(seeds, kAccuracy, band);
    EXPECT_NEAR(curve.y[0], 3, 1e-12);
    EXPECT_NEAR(curve.high[0] - 3, 3 - curve.low[0], 1e-9);
    return curve.high[0] - 3;
  };
  EXPECT_NEAR(half(Band::kRange), 2, 1e-12);
  EXPECT_NEAR(half(Band::kDeviation), 1.5811388, 1e-6);
  // Student's t with four degrees of freedom is 2.7764 at 95%; 2.7764 * 1.5811 / sqrt(5).
  EXPECT_NEAR(half(Band::kConfidence), 1.96324, 1e-4);
  EXPECT_TRUE(curve_of(seeds, kAccuracy, Band::kNone).low.empty());
  EXPECT_TRUE(curve_of({seeds.data(), 1}, kAccuracy, Band::kRange).low.empty());
  EXPECT_FALSE(confidence_of(std::vector<double>{1}));
}

TEST(Curve, RowsWithoutAValueAndSeedsWithoutRowsAreLeftOut) {
  const std::vector<MetricsTable> seeds = {table_of({1, 2, 3}, {0.1, NAN, 0.3}), MetricsTable{}};
  EXPECT_EQ(curve_of(seeds, kAccuracy, Band::kRange).x, (std::vector<double>{1, 3}));
  EXPECT_TRUE(curve_of({}, kAccuracy, Band::kRange).x.empty());
}

TEST(Axis, MarksAreAtRoundValuesInTheirUnit) {
  const auto texts = [](double low, double high, Unit unit) {
    std::vector<std::string> found;
    for (const Mark& mark : marks_between(low, high, unit, 5)) found.push_back(mark.text);
    return found;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts(0, 1, Unit::kPercent), (Texts{"0%", "20%", "40%", "60%", "80%", "100%"}));
  EXPECT_EQ(texts(0, 200, Unit::kCount), (Texts{"0", "50", "100", "150", "200"}));
  EXPECT_EQ(texts(0, 3 * 1024 * 1024, Unit::kBytes), (Texts{"0", "1 MiB", "2 MiB", "3 MiB"}));
  EXPECT_EQ(texts(0, 600, Unit::kSeconds),
            (Texts{"0", "2 min", "4 min", "6 min", "8 min", "10 min"}));
  EXPECT_EQ(texts(0.5, 0.5, Unit::kPlain).size(), 1u);
}

TEST(ChartSvg, HasABandALineAndANameForEachRunAndEscapesNames) {
  StoredRun run{.name = "a<b>&\"c\"", .seeds = std::vector<StoredSeed>(2)};
  const std::vector<StoredRun> runs = {run, run};
  const std::vector<MetricsTable> tables = {
      table_of({0, 10}, {0.1, 0.5}), table_of({0, 10}, {0.2, 0.6}), table_of({0, 10}, {0.1, 0.4}),
      table_of({0, 10}, {0.2, 0.5})};
  const std::vector<ChartFile> files = chart_files(runs, tables, Band::kDeviation);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].name, "accuracy-rounds.svg");
  const std::string& svg = files[0].svg;
  const auto count = [&](std::string_view word) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = svg.find(word, at)) != svg.npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count("<polygon "), 2u) << svg;
  EXPECT_EQ(count("<polyline "), 2u);
  EXPECT_EQ(count(">a&#60;b&#62;&#38;&#34;c&#34;<"), 2u);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

TEST(ChartSvg, OnePointOfOneSeedIsAChartToo) {
  const std::vector<StoredRun> runs = {{.name = "one", .seeds = std::vector<StoredSeed>(1)}};
  const std::vector<MetricsTable> tables = {table_of({7}, {0.5})};
  const std::vector<ChartFile> files = chart_files(runs, tables, Band::kConfidence);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].svg.find("nan"), std::string::npos) << files[0].svg;
  EXPECT_EQ(files[0].svg.find("inf"), std::string::npos) << files[0].svg;
}

}  // namespace
}  // namespace tessera
