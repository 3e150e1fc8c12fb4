// The third oracle: the interval evaluator that is proved in Coq and extracted to OCaml, against the enclosures of
// MPFI.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

namespace fs = std::filesystem;

struct ProvedBounds {
  std::string name;
  Enclosure lower;
  Enclosure upper;
};

/// "-0x1fp-80" as an exact point; needs the scope's precision to hold the mantissa.
Enclosure point_of(const std::string& text) {
  const bool negative = text.starts_with("-");
  const std::size_t digits = text.find('x') + 1, exponent = text.find('p');
  Enclosure mantissa(0);
  for (std::size_t i = digits; i < exponent; ++i) {
    mantissa = mantissa * Enclosure(16) + Enclosure(std::stoi(text.substr(i, 1), nullptr, 16));
  }
  const Enclosure value = mantissa * Enclosure::power_of_two(std::stol(text.substr(exponent + 1)));
  return negative ? -value : value;
}

/// Rows without their masked items: the oracle of Coq has no -inf.
std::vector<double> visible(const std::vector<double>& logits) {
  std::vector<double> result;
  for (double logit : logits) {
    if (std::isfinite(logit)) result.push_back(logit);
  }
  return result;
}

std::vector<std::vector<double>> rows() {
  std::vector<std::vector<double>> result;
  for (std::size_t n : {1, 2, 3, 17, 40}) {
    for (const tests::NamedRow& row : tests::row_families(n, 20241001)) {
      // Exponentials of numbers beyond 2^20 take Coq's integers minutes.
      if (row.name.starts_with("full range") || row.name.starts_with("wide spread")) continue;
      result.push_back(visible(row.logits));
      if (result.back().empty()) result.pop_back();
    }
  }
  return result;
}

/// What the oracle answers to each row, in order.
std::vector<std::vector<ProvedBounds>> ask(const std::vector<std::vector<double>>& questions) {
  const fs::path folder = fs::path(::testing::TempDir()) / "softcheck_verified_oracle";
  fs::create_directories(folder);
  const fs::path asked = folder / "rows", answered = folder / "enclosures";
  {
    std::ofstream file(asked);
    for (const std::vector<double>& row : questions) {
      file << "100" << std::hexfloat;
      for (double logit : row) file << ' ' << logit;
      file << '\n';
    }
  }
  const std::string command =
      std::string("'" SOFTCHECK_VERIFIED_ORACLE "' <'") + asked.string() + "' >'" + answered.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::vector<std::vector<ProvedBounds>> answers;
  std::ifstream file(answered);
  std::vector<ProvedBounds> answer;
  for (std::string line; std::getline(file, line);) {
    if (line == "end") {
      answers.push_back(std::move(answer));
      answer.clear();
      continue;
    }
    std::istringstream words(line);
    std::string name, lower, upper;
    words >> name >> lower >> upper;
    EXPECT_NE(lower, "unbounded") << line;
    if (lower != "unbounded") answer.push_back({name, point_of(lower), point_of(upper)});
  }
  return answers;
}

bool meet(const ProvedBounds& proved, const Enclosure& ours) {
  return !(proved.upper - ours).certainly_negative() && !(ours - proved.lower).certainly_negative();
}

TEST(VerifiedOracle, EveryEnclosureMeetsTheProvedOne) {
  if (!fs::exists(SOFTCHECK_VERIFIED_ORACLE)) GTEST_SKIP() << "no verified oracle (Coq, OCaml and Zarith make one)";
  const PrecisionScope precision(256);
  const std::vector<std::vector<double>> questions = rows();
  const std::vector<std::vector<ProvedBounds>> answers = ask(questions);
  ASSERT_EQ(answers.size(), questions.size());
  std::size_t compared = 0;
  for (std::size_t r = 0; r < questions.size(); ++r) {
    const RowOracle ours(questions[r]);
    ASSERT_EQ(answers[r].size(), questions[r].size() + 2);
    for (std::size_t i = 0; i < answers[r].size(); ++i) {
      const ProvedBounds& proved = answers[r][i];
      const Enclosure value = i == 0 ? ours.logsumexp() : i == 1 ? ours.entropy() : ours.softmax(i - 2);
      EXPECT_TRUE(meet(proved, value)) << proved.name << " of row " << r << ": " << value.to_string();
      // A proof that tells nothing would meet everything.
      EXPECT_LT((proved.upper - proved.lower).upper_double(), 0x1p-60 * (1 + std::fabs(value.upper_double())));
      // The same enclosure of another number must not pass.
      EXPECT_FALSE(meet(proved, value + Enclosure(0x1p-50) * (Enclosure(1) + value * value)));
      ++compared;
    }
  }
  std::cout << compared << " enclosures of " << questions.size() << " rows\n";
}

}  // namespace
}  // namespace softcheck::numerics
