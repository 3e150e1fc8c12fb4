#include "numerics/oracles/attention_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "numerics/enclosures/decision.hpp"

namespace softcheck::numerics {
namespace {

struct Problem {
  std::vector<double> query, keys, values;
  std::vector<std::uint8_t> visible;
  std::size_t items, value_size;
  double scale;

  AttentionInputs inputs() const {
    return {.query = query,
            .keys = keys,
            .values = values,
            .value_size = value_size,
            .scale = scale,
            .visible = visible,
            .items = items};
  }
};

std::vector<Problem> problems() {
  std::vector<Problem> result;
  std::mt19937_64 engine(20241001);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {1u, 2u, 7u, 50u}) {
    for (const double spread : {0.0, 0x1p-500, 1.0, 30.0}) {
      for (const bool masked : {false, true}) {
        const std::size_t d = 6, dv = 3;
        Problem problem{{}, {}, {}, {}, n, dv, 1 / std::sqrt(6.0)};
        for (std::size_t t = 0; t < d; ++t) problem.query.push_back(spread * normal(engine));
        for (std::size_t t = 0; t < n * d; ++t) problem.keys.push_back(normal(engine));
        for (std::size_t t = 0; t < n * dv; ++t) problem.values.push_back(normal(engine));
        if (masked) {
          for (std::size_t j = 0; j < n; ++j) problem.visible.push_back(j % 3 != 1);
        }
        result.push_back(problem);
      }
    }
  }
  return result;
}

struct Answers {
  Enclosure maximum, logsumexp, entropy;
  std::vector<Enclosure> output;
};

using Attention = std::function<Answers(const Problem&, std::optional<EntropyDefinition>)>;

Answers query_by_oracle(const Problem& problem, std::optional<EntropyDefinition> adaptive) {
  const AttentionOracle oracle(problem.inputs(), adaptive);
  return {oracle.maximum(), oracle.logsumexp(), oracle.entropy(), oracle.output()};
}

// The definition, unshifted, at 512 bits: exponentials of the scores themselves, entropy as -sum p ln p.
Answers query_by_definition(const Problem& problem, std::optional<EntropyDefinition> adaptive) {
  const PrecisionScope scope(512);
  std::vector<Enclosure> scores;
  std::vector<std::size_t> items;
  for (std::size_t j = 0; j < problem.items; ++j) {
    if (!problem.visible.empty() && !problem.visible[j]) continue;
    Enclosure dot;
    for (std::size_t t = problem.query.size(); t-- > 0;) {
      dot += Enclosure(problem.query[t]) * Enclosure(problem.keys[j * problem.query.size() + t]);
    }
    scores.push_back(dot * Enclosure(problem.scale));
    items.push_back(j);
  }
  const auto softmax = [&](const Enclosure& beta, Enclosure& sum) {
    std::vector<Enclosure> p;
    sum = Enclosure(0);
    for (const Enclosure& score : scores) p.push_back(exp(beta * score));
    for (const Enclosure& weight : p) sum += weight;
    for (Enclosure& weight : p) weight /= sum;
    return p;
  };
  const auto entropy = [](const std::vector<Enclosure>& p, const Enclosure& epsilon) {
    Enclosure result;
    for (const Enclosure& value : p) result -= value * log(value + epsilon);
    return result;
  };
  Enclosure beta(1), sum;
  if (adaptive) {
    const Enclosure epsilon = *adaptive == EntropyDefinition::paper ? Enclosure::decimal("1e-9") : Enclosure(0);
    beta = inverse_temperature(entropy(softmax(beta, sum), epsilon));
  }
  const std::vector<Enclosure> p = softmax(beta, sum);
  Answers answers{scores.at(0), log(sum), entropy(p, Enclosure(0)), std::vector<Enclosure>(problem.value_size)};
  for (std::size_t k = 0; k < p.size(); ++k) {
    answers.maximum = maximum(answers.maximum, scores[k]);
    for (std::size_t c = 0; c < problem.value_size; ++c) {
      answers.output[c] += p[k] * Enclosure(problem.values[items[k] * problem.value_size + c]);
    }
  }
  return answers;
}

std::size_t query_disagreements(const Attention& attention, std::optional<EntropyDefinition> adaptive, unsigned bits) {
  std::size_t found = 0;
  for (const Problem& problem : problems()) {
    const PrecisionScope scope(bits);
    const Answers got = attention(problem, adaptive), truth = query_by_definition(problem, adaptive);
    bool same = got.maximum.overlaps(truth.maximum) && got.logsumexp.overlaps(truth.logsumexp) &&
                got.entropy.overlaps(truth.entropy);
    for (std::size_t c = 0; c < truth.output.size(); ++c) same = same && got.output[c].overlaps(truth.output[c]);
    if (!same) ++found;
  }
  return found;
}

const std::vector<std::optional<EntropyDefinition>> kinds{std::nullopt, EntropyDefinition::exact,
                                                          EntropyDefinition::paper};

TEST(AttentionOracle, EnclosesTheDefinition) {
  for (const auto& kind : kinds) {
    for (const unsigned bits : {64u, 113u, 256u})
      EXPECT_EQ(query_disagreements(query_by_oracle, kind, bits), 0u) << bits;
  }
}

TEST(AttentionOracle, IsAsNarrowAsItsSteps) {
  for (const Problem& problem : problems()) {
    const AttentionOracle oracle(problem.inputs());
    // Weights carry at most 36 * 2^-precision (RowOracle's statement for softmax; the scores have 64 bits more), each
    // product and each addition one rounding of 2 * 2^-precision on either end.
    double largest = 0;
    for (const double value : problem.values) largest = std::max(largest, std::abs(value));
    const Enclosure roundings = Enclosure(36) + 8 + Enclosure(4) * problem.items;
    const Enclosure allowed = roundings * Enclosure(largest) * Enclosure::power_of_two(-113);
    for (const Enclosure& value : oracle.output()) {
      EXPECT_EQ(less_equal(Enclosure(value.width()), allowed), Decision::proved) << value.to_string(40);
    }
  }
}

Answers scale_forgotten(Problem problem, std::optional<EntropyDefinition> adaptive) {
  problem.scale = 1;
  return query_by_oracle(problem, adaptive);
}

Answers mask_ignored(Problem problem, std::optional<EntropyDefinition> adaptive) {
  problem.visible.clear();
  return query_by_oracle(problem, adaptive);
}

Answers values_of_the_next_item(Problem problem, std::optional<EntropyDefinition> adaptive) {
  std::rotate(problem.values.begin(), problem.values.begin() + static_cast<std::ptrdiff_t>(problem.value_size),
              problem.values.end());
  return query_by_oracle(problem, adaptive);
}

Answers query_never_adapts(const Problem& problem, std::optional<EntropyDefinition>) {
  return query_by_oracle(problem, std::nullopt);
}

TEST(AttentionOracle, WrongVersionsAreRejected) {
  for (const Attention& wrong :
       {Attention(scale_forgotten), Attention(mask_ignored), Attention(values_of_the_next_item)}) {
    EXPECT_GT(query_disagreements(wrong, std::nullopt, 113), 0u);
  }
  EXPECT_GT(query_disagreements(query_never_adapts, EntropyDefinition::exact, 113), 0u);
}

TEST(AttentionOracle, WrongCallsSayWhatTheyNeed) {
  Problem problem = problems().back();
  const auto attempt = [](const Problem& wrong) { return AttentionOracle(wrong.inputs()).fully_masked(); };
  EXPECT_FALSE(attempt(problem));
  Problem wrong = problem;
  wrong.keys.pop_back();
  EXPECT_THROW(attempt(wrong), std::invalid_argument);
  wrong = problem;
  wrong.visible.push_back(1);
  EXPECT_THROW(attempt(wrong), std::invalid_argument);
  wrong = problem;
  wrong.values[0] = NAN;
  EXPECT_THROW(attempt(wrong), std::invalid_argument);
  wrong = problem;
  wrong.visible.assign(problem.items, 0);
  const AttentionOracle masked(wrong.inputs(), EntropyDefinition::exact);
  EXPECT_TRUE(masked.fully_masked());
  EXPECT_THROW(masked.output(), std::logic_error);
  EXPECT_THROW(masked.entropy(), std::logic_error);
  EXPECT_THROW(masked.logsumexp(), std::logic_error);
}

}  // namespace
}  // namespace softcheck::numerics
