// The picture of figure 3: where its parts stand, and that its axes have room for every point.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "experiments/figures/entropy_of_heads.hpp"

namespace softcheck::experiments {
namespace {

// Two heads a layer at 16 and at so many items.
std::vector<HeadEntropy> picture_points(std::int64_t layers, std::int64_t items) {
  std::vector<HeadEntropy> points;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (const std::int64_t n : {std::int64_t{16}, items}) {
        points.push_back({.layer = layer, .head = head, .items = n, .rows = 1, .sum = 1});
      }
    }
  }
  return points;
}

// The numbers behind a text, in the order of the script.
std::vector<double> numbers_behind(const std::string& script, const std::string& text) {
  const std::regex pattern(text + R"((-?[0-9.]+))");
  std::vector<double> numbers;
  for (std::sregex_iterator at(script.begin(), script.end(), pattern), end; at != end; ++at) {
    numbers.push_back(std::stod((*at)[1]));
  }
  return numbers;
}

TEST(EntropyPicture, AxesReachBeyondTheLargestNumberOfItems) {
  for (const std::int64_t items : {32, 512, 4096}) {
    const std::string script = entropy_of_heads("model", picture_points(1, items)).pictures.at(0).script;
    ASSERT_EQ(numbers_behind(script, "set xrange \\[14:").size(), 1U);
    EXPECT_GT(numbers_behind(script, "set xrange \\[14:")[0], static_cast<double>(items));
    ASSERT_EQ(numbers_behind(script, "set yrange \\[-0.25:").size(), 1U);
    EXPECT_GT(numbers_behind(script, "set yrange \\[-0.25:")[0], std::log(static_cast<double>(items)));
  }
}

// Left, right, bottom and top of a panel, in shares of the picture; y grows upwards.
using Panel = std::array<double, 4>;

bool panels_overlap(const Panel& a, const Panel& b) { return a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3]; }

TEST(EntropyPicture, PanelsStandBesideOneAnotherBelowTheTitle) {
  for (const std::int64_t layers : {1, 2, 3, 4, 7, 12}) {
    const std::string script = entropy_of_heads("model", picture_points(layers, 64)).pictures.at(0).script;
    std::array<std::vector<double>, 4> margins;
    constexpr std::array<const char*, 4> sides{"lmargin", "rmargin", "bmargin", "tmargin"};
    for (std::size_t side = 0; side < 4; ++side) {
      margins[side] = numbers_behind(script, std::string("set ") + sides[side] + " at screen ");
      ASSERT_EQ(margins[side].size(), static_cast<std::size_t>(layers) + 1) << "a panel each, and the legend";
    }
    const std::vector<double> title = numbers_behind(script, "at screen 0.5, screen ");
    ASSERT_EQ(title.size(), 1U);
    EXPECT_LT(title[0], 1);
    std::vector<Panel> panels;
    for (std::size_t k = 0; k < margins[0].size(); ++k) {
      const Panel panel{margins[0][k], margins[1][k], margins[2][k], margins[3][k]};
      EXPECT_TRUE(0 <= panel[0] && panel[0] < panel[1] && panel[1] <= 1) << layers << ", panel " << k;
      EXPECT_TRUE(0 <= panel[2] && panel[2] < panel[3] && panel[3] < title[0]) << layers << ", panel " << k;
      for (const Panel& other : panels) EXPECT_FALSE(panels_overlap(panel, other)) << layers << ", panel " << k;
      panels.push_back(panel);
    }
  }
}

}  // namespace
}  // namespace softcheck::experiments
