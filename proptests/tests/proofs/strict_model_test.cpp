// The strict kernels, and what kernels/block/ shares with attention, against their models, which Coq has proved bounds
// of and OCaml runs: bit for bit, on rows of every family and on rows with NaN, infinities and nothing visible.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "judge/trial/effort.hpp"
#include "kernels/block/compensated_sum.hpp"
#include "kernels/block/logarithm.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;

constexpr float infinity = std::numeric_limits<float>::infinity();

struct ModelRow {
  std::string family;
  double theta = 1;
  std::vector<float> logits;
};

/// The program of the models; planted bugs of the models put another in its place.
fs::path model_program() {
  const char* elsewhere = std::getenv("SOFTCHECK_STRICT_MODEL");
  return elsewhere == nullptr ? SOFTCHECK_STRICT_MODEL_PROGRAM : elsewhere;
}

std::string word(float x) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", std::bit_cast<std::uint32_t>(std::isnan(x) ? std::nanf("") : x));
  return text;
}

std::string word(double x) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(std::isnan(x) ? std::nan("") : x)));
  return text;
}

template <class T>
std::string words(const std::vector<T>& numbers) {
  std::string line;
  for (const T x : numbers) line += (line.empty() ? "" : " ") + word(x);
  return line;
}

/// What ln(1 + s) is asked of: a few numbers of a row, none below 0, with more bits than a float has.
std::vector<double> sums_of(const ModelRow& row) {
  std::vector<double> sums;
  for (const float x : row.logits) {
    if (sums.size() < 4) sums.push_back(std::abs(x) * row.theta);
  }
  return sums;
}

std::string question(const std::string& op, const ModelRow& row) {
  if (op == "logarithm") return op + " " + words(sums_of(row)) + "\n";
  if (op == "compensated") return op + " " + word(static_cast<float>(-row.theta)) + " " + words(row.logits) + "\n";
  return op + " " + word(row.theta) + " " + words(row.logits) + "\n";
}

/// One process for all questions.
std::vector<std::string> answers_to(const std::string& questions) {
  const fs::path folder = fs::path(::testing::TempDir());
  const std::string stem = (folder / ("strict_model." + std::to_string(getpid()))).string();
  std::ofstream(stem + ".in") << questions;
  const std::string command = "'" + model_program().string() + "' <'" + stem + ".in' >'" + stem + ".out'";
  const int status = std::system(command.c_str());
  std::vector<std::string> lines;
  std::ifstream answers(stem + ".out");
  for (std::string line; std::getline(answers, line);) lines.push_back(line);
  fs::remove(stem + ".in");
  fs::remove(stem + ".out");
  EXPECT_EQ(status, 0) << "the program of the models gave up";
  return lines;
}

/// The sum of the logits plus e^-theta times it.
kernels::CompensatedSum<float> compensated_sum(const ModelRow& row) {
  kernels::CompensatedSum<float> sum{0, 0};
  for (const float x : row.logits) sum.add(x);
  kernels::CompensatedSum<float> scaled = sum;
  scaled.scale(kernels::exponential_parts(static_cast<float>(-row.theta)));
  sum.add(scaled);
  return sum;
}

std::string kernel_words(const std::string& op, const ModelRow& row) {
  if (op == "logarithm") {
    std::vector<double> results = sums_of(row);
    for (double& s : results) s = kernels::logarithm_of_one_plus(s);
    return words(results);
  }
  if (op == "compensated") {
    const kernels::CompensatedSum<float> sum = compensated_sum(row);
    return words<float>({sum.value, sum.rest});
  }
  const auto n = static_cast<std::int64_t>(row.logits.size());
  kernel_tests::Tensor<float> in(kernel_tests::dtype_of<float>(), {1, n});
  in.set_row(0, row.logits);
  const bool of_items = op.ends_with("softmax");
  kernel_tests::Tensor<float> out(kernel_tests::dtype_of<float>(),
                                  of_items ? std::vector<std::int64_t>{1, n} : std::vector<std::int64_t>{1});
  kernel_tests::Call call(in.view, out.view);
  call.call.theta = row.theta;
  const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
  if (kernel == nullptr || kernel(&call.call) != 0) return "refused";
  return words(out.row(0));
}

double drawn_theta(Draw& draw) {
  switch (draw.below(4)) {
    case 0:
      return std::ldexp(1.0, draw.between(-8, 8));
    case 1:
      return 0.1 + 10 * draw.unit();
    default:
      return 1;
  }
}

/// Mostly short: what is beyond 128 threads or 4096 items is met once in a while.
std::uint64_t drawn_length(Draw& draw) {
  return draw.one_in(50) ? draw.log_uniform(512, 6000) : draw.log_uniform(1, 48);
}

std::vector<float> finite_row(Draw& draw, RowFamily family, double theta) {
  const std::uint64_t length = drawn_length(draw);
  std::vector<double> row;
  if (draws_runs(family)) {
    row = RunLengthRow(draw_runs(draw, family, numerics::Format::f32, theta, length)).expand();
  } else {
    row = draw_values(draw, family == RowFamily::masked ? RowFamily::normal : family, numerics::Format::f32, length);
  }
  std::vector<float> logits(row.begin(), row.end());
  if (family == RowFamily::masked) {
    for (float& x : logits) x = draw.one_in(3) ? -infinity : x;
  }
  return logits;
}

/// What no family has: rows that are undefined, or nearly, and the largest differences.
enum class Special { nan, infinite, hidden, zeros, overflowing, count };
constexpr const char* special_names[] = {"with NaN", "with +inf", "all masked", "zeros of both signs", "overflowing"};

std::vector<float> special_row(Draw& draw, Special kind) {
  std::vector<float> logits = finite_row(draw, RowFamily::normal, 1);
  float& some = logits[draw.below(logits.size())];
  switch (kind) {
    case Special::nan:
      some = std::nanf("");
      break;
    case Special::infinite:
      some = infinity;
      break;
    case Special::hidden:
      for (float& x : logits) x = -infinity;
      break;
    case Special::zeros:
      for (float& x : logits) x = draw.one_in(2) ? 0.0F : -0.0F;
      break;
    default:
      for (float& x : logits) x *= draw.one_in(2) ? 0x1p121F : 1;
  }
  return logits;
}

/// Rows on which one rounding more or a constant's last bit shows: found among all arguments of exp below -0.17, and
/// among temperatures at which a log-sum-exp lies between two numbers of f32.
std::vector<ModelRow> rows_at_the_edge_of_a_rounding() {
  const std::string edge = "at the edge of a rounding";
  return {
      // exp: ln2_low's last bit (the first two behind 0), its product rounded (the next two), the highest coefficient's
      // last bit. All coefficients but the first are so small that the sum is 1.
      {edge,
       1,
       {0, -0x1.419948p+5F, -0x1.687274p+5F, -0x1.8f30bep+5F, -0x1.8f34d2p+5F, -0x1.e59206p+5F, -0x1.08f746p+6F}},
      // Log-sum-exp: the remainder of m / theta, and k ln 2, k = 3.
      {edge, 0x1.3937127fe6744p-10, std::vector<float>(2, 1.25F)},
      {edge, 0x1.57fb06f6e1fd3p+0, std::vector<float>(7, -1.25F)},
  };
}

std::vector<ModelRow> rows_of_every_family(std::size_t wanted) {
  Draw draw(20241125);
  std::vector<ModelRow> rows = rows_at_the_edge_of_a_rounding();
  const std::span<const RowFamily> families = kernel_row_families();
  while (rows.size() < wanted) {
    for (const RowFamily family : families) {
      const double theta = drawn_theta(draw);
      rows.push_back({to_string(family), theta, finite_row(draw, family, theta)});
    }
    for (int kind = 0; kind < static_cast<int>(Special::count); ++kind) {
      rows.push_back({special_names[kind], drawn_theta(draw), special_row(draw, static_cast<Special>(kind))});
    }
  }
  return rows;
}

class StrictModel : public testing::TestWithParam<const char*> {};

void expect_the_bits_of_the_kernel(const std::string& op, std::size_t wanted) {
  const std::vector<ModelRow> rows = rows_of_every_family(wanted);
  std::size_t items = 0;
  std::map<std::string, std::size_t> compared;
  constexpr std::size_t at_once = 100;
  for (std::size_t begin = 0; begin < rows.size(); begin += at_once) {
    const std::size_t end = std::min(rows.size(), begin + at_once);
    std::string questions;
    for (std::size_t i = begin; i < end; ++i) questions += question(op, rows[i]);
    const std::vector<std::string> answers = answers_to(questions);
    ASSERT_EQ(answers.size(), end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      ASSERT_EQ(answers[i - begin], kernel_words(op, rows[i]))
          << rows[i].family << ", " << rows[i].logits.size() << " items, theta " << std::hexfloat << rows[i].theta
          << "; the model's answer comes first";
      ++compared[rows[i].family];
      items += rows[i].logits.size();
    }
  }
  constexpr std::size_t edges = 1;
  EXPECT_EQ(compared.size(), kernel_row_families().size() + static_cast<std::size_t>(Special::count) + edges);
  std::cout << rows.size() << " rows of " << compared.size() << " families, " << items << " items\n";
}

#define SKIP_WITHOUT_MODELS() \
  if (!fs::exists(model_program())) GTEST_SKIP() << "no extracted models (Coq, OCaml and Zarith make them)"

TEST_P(StrictModel, HasTheBitsOfTheKernel) {
  SKIP_WITHOUT_MODELS();
  expect_the_bits_of_the_kernel(GetParam(), 1'000);
}

TEST_P(StrictModel, HasThemOnManyRows) {
  SKIP_WITHOUT_MODELS();
  if (effort_from_environment() != Effort::deep)
    GTEST_SKIP() << "a hundred thousand rows are for SOFTCHECK_EFFORT=deep";
  expect_the_bits_of_the_kernel(GetParam(), 100'000);
}

INSTANTIATE_TEST_SUITE_P(Of, StrictModel,
                         testing::Values("softmax", "logsumexp", "entropy", "logarithm", "compensated"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace softcheck::proptests
