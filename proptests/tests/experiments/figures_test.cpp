// The data behind the figures against routes of their own, and what is drawn from them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "experiments/evaluation.hpp"
#include "experiments/figures/attention_row.hpp"
#include "experiments/figures/coefficient_maps.hpp"
#include "experiments/figures/crowded_sets.hpp"
#include "experiments/figures/gnuplot.hpp"
#include "experiments/figures/spread_history.hpp"
#include "experiments/figures/temperature_figure.hpp"
#include "experiments/sha256.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

using numerics::Enclosure;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Floats& trained() {
  static const Floats parameters =
      read_model(SOFTCHECK_SOURCE_DIR "/experiments/models/seeds/seed-01.safetensors").parameters;
  return parameters;
}

// A table by its columns.
std::map<std::string, std::vector<double>> columns_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line, cell;
  std::getline(lines, line);
  std::vector<std::string> names;
  std::istringstream head(line);
  while (std::getline(head, cell, ',')) names.push_back(cell);
  std::map<std::string, std::vector<double>> columns;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    for (const std::string& name : names) {
      std::getline(cells, cell, ',');
      columns[name].push_back(std::strtod(cell.c_str(), nullptr));
    }
  }
  return columns;
}

// The entropy of weights exp(-x), and a bound of what a plain computation in doubles may lose: n terms of at most
// |p ln p| <= 1/e, each with an exponential, a logarithm and a quotient of at most 2 ulp, and sums of n of them.
Enclosure enclosed_entropy(const std::vector<Enclosure>& deficits) {
  Enclosure sum(0), weighted(0);
  for (const Enclosure& x : deficits) {
    const Enclosure w = exp(-x);
    sum += w;
    weighted += w * x;
  }
  return log(sum) + weighted / sum;
}
double entropy_slack(std::size_t n, double largest_deficit) {
  const auto terms = static_cast<double>(n);
  return terms * (terms + largest_deficit + 16) * 0x1p-52;
}

TEST(Figures, EntropiesOfTemperatureAreThoseOfEnclosures) {
  const auto columns = columns_of(entropy_of_temperature().tables[0].csv);
  ASSERT_EQ(columns.size(), 6U);
  for (const int spread : {1, 3, 10, 30, 100}) {
    const std::vector<double>& entropies = columns.at(fmt::format("entropy at spread {}", spread));
    for (std::size_t i = 0; i < entropies.size(); ++i) {
      const double theta = columns.at("theta")[i];
      std::vector<Enclosure> deficits;
      for (int k = 0; k < 10; ++k) {
        // The figure's logits are floats: spread k / 9, rounded.
        const auto logit = static_cast<double>(static_cast<float>(spread * k) / 9.0F);
        deficits.push_back((Enclosure(static_cast<double>(spread)) - Enclosure(logit)) / Enclosure(theta));
      }
      const double slack = entropy_slack(10, std::min(745.0, spread / theta));
      const Enclosure expected = enclosed_entropy(deficits);
      EXPECT_GE(entropies[i], expected.lower_double() - slack) << spread << " " << theta;
      EXPECT_LE(entropies[i], expected.upper_double() + slack) << spread << " " << theta;
      // Proposition 3.2: it rises with the temperature.
      if (i > 0) {
        EXPECT_GE(entropies[i], entropies[i - 1] - slack);
      }
    }
  }
}

// The rows come from the network's folded attention; here its coefficients by the evaluation's own heads.
TEST(Figures, CoefficientMapsShowTheHighestPrioritiesInOrder) {
  CoefficientMapOptions options;
  options.largest = 64;
  options.adaptive = true;
  const Figure figure = coefficient_maps("figure_7", trained(), options);
  const auto columns = columns_of(figure.tables[0].csv);
  const std::vector<double>&n = columns.at("n"), &set = columns.at("set"), &rank = columns.at("rank"),
        &priority = columns.at("priority"), &plain = columns.at("coefficient"),
        &adaptive = columns.at("adaptive coefficient"), &logit = columns.at("logit");
  ASSERT_EQ(n.size(), 3U * 32 * 16);
  for (std::size_t i = 0; i < n.size(); i += 16) {
    // At n = 16 the whole set is shown: its coefficients are those of its logits, and sum to 1.
    std::vector<float> logits(logit.begin() + static_cast<std::ptrdiff_t>(i),
                              logit.begin() + static_cast<std::ptrdiff_t>(i) + 16);
    const std::vector<double> whole = coefficients_of(logits);
    const double beta = theory::inverse_temperature(entropy_of(whole));
    double sum = 0, adaptive_sum = 0;
    for (std::size_t k = i; k < i + 16; ++k) {
      EXPECT_EQ(set[k], set[i]);
      EXPECT_EQ(rank[k], static_cast<double>(k - i + 1));
      if (k > i) {
        EXPECT_GE(priority[k - 1], priority[k]);
      }
      sum += plain[k];
      adaptive_sum += adaptive[k];
      if (n[k] == 16) {
        EXPECT_DOUBLE_EQ(plain[k], whole[k - i]);
        EXPECT_DOUBLE_EQ(adaptive[k], coefficients_of(logits, beta)[k - i]);
      }
    }
    const double slack = 64 * 0x1p-52;
    EXPECT_LE(sum, 1 + slack);
    if (n[i] == 16) {
      EXPECT_GE(std::min(sum, adaptive_sum), 1 - slack);
    }
  }
  EXPECT_EQ(std::count(n.begin(), n.end(), 32.0), 32 * 16);
}

TEST(Figures, TheSameSetsWithAndWithoutAdaptiveTemperature) {
  CoefficientMapOptions options;
  options.largest = 32;
  const auto without = columns_of(coefficient_maps("figure_2", trained(), options).tables[0].csv);
  options.adaptive = true;
  const auto with = columns_of(coefficient_maps("figure_7", trained(), options).tables[0].csv);
  EXPECT_FALSE(without.contains("adaptive coefficient"));
  EXPECT_EQ(without.at("coefficient"), with.at("coefficient"));
  EXPECT_NE(with.at("coefficient"), with.at("adaptive coefficient"));
}

TEST(Figures, ARowIsWhatTheEvaluationSees) {
  int rows = 0;
  for_each_row(trained(), {3, 4}, 33, 5, [&](const AttentionRow& row) {
    EXPECT_EQ(row.size, 33);
    for (const float priority : row.priorities) EXPECT_LE(priority, row.priorities[row.maximal]);
    ++rows;
  });
  EXPECT_EQ(rows, 5);
  EXPECT_THROW(for_each_row(trained(), {}, 0, 1, [](const AttentionRow&) {}), std::invalid_argument);
}

TEST(Figures, ACrowdHasOneItemAboveIt) {
  RandomWords words(3);
  const RetrievalSets sets = draw_crowded_sets(100, 4, words);
  for (int s = 0; s < 4; ++s) {
    const float* const first = &sets.items[static_cast<std::size_t>(s) * 100 * item_features];
    EXPECT_EQ(first[0], above_crowd);
    EXPECT_EQ(first[1 + sets.targets[static_cast<std::size_t>(s)]], 1);
    for (int i = 1; i < 100; ++i) {
      EXPECT_GE(first[i * item_features], crowd_from);
      EXPECT_LT(first[i * item_features], above_crowd);
    }
  }
  EXPECT_THROW(draw_crowded_sets(1, 1, words), std::invalid_argument);
}

TEST(Figures, StepsAreSpacedByTheirLogarithm) {
  EXPECT_THAT(log_spaced_steps(1000, 4), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_spaced_steps(1, 5), ElementsAre(1));
  EXPECT_THAT(log_spaced_steps(3, 25), ElementsAre(1, 2, 3));
  EXPECT_THAT(log_spaced_steps(7, 1), ElementsAre(7));
  EXPECT_THROW(log_spaced_steps(0, 1), std::invalid_argument);
}

// Figure 9's claims on a training of some steps, and the observed spread by the folded logits in float.
// Labelled full: Figures.Proposition31HoldsAtEveryStep
TEST(Figures, Proposition31HoldsAtEveryStep) {
  TrainingOptions options;
  options.steps = 60;
  const RetrievalSets sample = spread_sample(1);
  std::vector<SpreadPoint> points;
  TrainingState state = start_training(options);
  train(state, options, [&](const TrainingState& now, float loss) {
    if (now.step % 30 == 0) points.push_back(spread_point(now.parameters, sample, now.step, loss));
    return true;
  });
  ASSERT_EQ(points.size(), 2U);
  Floats encoded(sample.items.size() / item_features * width);
  encode(state.parameters, sample.items, encoded);
  const FoldedQueries queries = fold(state.parameters, sample.queries);
  double widest = 0, magnitude = 0;
  for (std::size_t s = 0; s < 256; ++s) {
    double least = INFINITY, most = -INFINITY;
    for (std::size_t i = 16 * s; i < 16 * (s + 1); ++i) {
      double logit = 0, size = 0;
      for (std::size_t d = 0; d < width; ++d) {
        logit += static_cast<double>(encoded[i * width + d]) * queries.vectors[s * width + d];
        size += std::fabs(static_cast<double>(encoded[i * width + d]) * queries.vectors[s * width + d]);
      }
      least = std::min(least, logit);
      most = std::max(most, logit);
      magnitude = std::max(magnitude, size);
    }
    widest = std::max(widest, most - least);
  }
  // The folded query K^T (Q y + b_Q) / sqrt(d) is a float: three layers and a product of sums of 128 terms each. To
  // first order each loses at most 128 u of its size; cancellation within is bounded by the size of the products.
  const double slack = 2 * 4 * width * 0x1p-24 * std::max(magnitude, widest);
  for (const SpreadPoint& point : points) {
    ASSERT_EQ(point.certificates.size(), 5U);
    EXPECT_EQ(numerics::worst(point.certificates), numerics::Verdict::proved);
  }
  const numerics::Certificate& direct = points[1].certificates.back();
  EXPECT_EQ(direct.claim, "proposition_3_1.direct");
  EXPECT_NEAR(direct.left.upper_double(), widest, slack);
  EXPECT_LE(points[1].mean_spread, widest + slack);
  const auto columns = columns_of(spread_history(points).tables[0].csv);
  EXPECT_THAT(columns.at("step"), ElementsAre(30, 60));
  for (const char* bound : {"direct bound", "joint bound", "difference bound", "product bound"}) {
    EXPECT_GE(columns.at(bound)[1], columns.at("widest spread")[1]) << bound;
    EXPECT_GE(columns.at("product bound")[1], columns.at(bound)[1]) << bound;
  }
}

TEST(Figures, ThePublishedHashesOfTexts) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class Path {
 public:
  explicit Path(const char* value) : before_(std::getenv("PATH")) { setenv("PATH", value, 1); }
  ~Path() { setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string before_;
};

void expect_gnuplot_is_missed() {
  EXPECT_THAT(
      [] {
        to_svg({"x", 100, 100, "plot sin(x)\n"});
      },
      ::testing::ThrowsMessage<GnuplotMissing>(HasSubstr("gnuplot-nox")));
}

TEST(Gnuplot, AMissingProgramIsNamed) {
  const Path nowhere("/nonexistent");
  expect_gnuplot_is_missed();
}

// What POSIX has a child do that cannot start the program, where posix_spawnp has returned before.
TEST(Gnuplot, AProgramThatDidNotStartIsMissing) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / ("gnuplot." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "gnuplot") << "#!/bin/sh\nexit 127\n";
  std::filesystem::permissions(folder / "gnuplot", std::filesystem::perms::owner_all);
  {
    const Path alone(folder.c_str());
    expect_gnuplot_is_missed();
  }
  std::filesystem::remove_all(folder);
}

bool gnuplot_is_there() { return std::system("command -v gnuplot >/dev/null 2>&1") == 0; }

TEST(Gnuplot, DrawsBothKindsAndTellsWhatIsWrong) {
  if (!gnuplot_is_there()) GTEST_SKIP() << "no gnuplot";
  const Picture picture{"x", 300, 200, data_block("d", "a,b\n1,2\n2,3\n") + "plot $d using 'a':'b' with lines\n"};
  EXPECT_THAT(to_svg(picture), HasSubstr("</svg>"));
  EXPECT_EQ(to_png(picture).substr(1, 3), "PNG");
  EXPECT_THAT(
      [] {
        to_svg({"x", 100, 100, "plot $nothing\n"});
      },
      ::testing::ThrowsMessage<std::runtime_error>(
          ::testing::AllOf(HasSubstr("nothing"), ::testing::Not(HasSubstr("\n")))));
}

}  // namespace
}  // namespace softcheck::experiments
