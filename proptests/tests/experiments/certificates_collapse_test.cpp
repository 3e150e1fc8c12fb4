// Corollary B.1 of a trained network: the set it gets wrong, in reals and in formats, and the kernels that show it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "certificates_oracle.hpp"
#include "experiments/certificates/collapse.hpp"
#include "experiments/certificates/logit_bounds.hpp"
#include "experiments/certificates/set_size_bounds.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/corollary_b_1.hpp"
#include "theory/entropy_bounds.hpp"

namespace softcheck::experiments {
namespace {

using numerics::Certificate;
using numerics::Enclosure;
using numerics::Format;
using numerics::PrecisionScope;
using numerics::Verdict;

constexpr std::uint64_t longest = 1 << 14;

// The class whose score certainly exceeds the others' for the set [a, b, ..., b]; -1 where it cannot be told.
int told_class(const Floats& parameters, const CollapseSet& set, std::uint64_t n) {
  const RealNetwork<Enclosure> network(parameters);
  const auto query = network.projected_query(set.query);
  const auto logit = [&](const ItemPoint& item) {
    return network.logit(query, network.key(item.priority, item.class_index));
  };
  const Enclosure others = Enclosure::integer(n - 1) * exp(logit(set.other) - logit(set.odd));
  const Enclosure alpha = Enclosure(1) / (Enclosure(1) + others);
  auto value = network.value(set.other.priority, set.other.class_index);
  const auto odd = network.value(set.odd.priority, set.odd.class_index);
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = (Enclosure(1) - alpha) * value[i] + alpha * odd[i];
  const auto scores = network.scores(value);
  for (int c = 0; c < class_count; ++c) {
    bool largest = true;
    for (int other = 0; other < class_count; ++other) {
      largest &= other == c ||
                 (scores[static_cast<std::size_t>(c)] - scores[static_cast<std::size_t>(other)]).certainly_positive();
    }
    if (largest) return c;
  }
  return -1;
}

TEST(CertifiedCollapse, TheNetworkIsRightOnTwoAndWrongOnMany) {
  const PrecisionScope scope(113);
  const Floats parameters = trained_network();
  const NetworkCells network(parameters);
  const std::optional<CollapseSet> set = find_collapse(network, longest);
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->right_at_two);
  EXPECT_GT(set->odd.priority, set->other.priority);
  EXPECT_NE(set->odd.class_index, set->other.class_index);
  EXPECT_EQ(told_class(parameters, *set, 2), set->odd.class_index);
  for (const std::uint64_t times : {1ULL, 2ULL, 10ULL, 1000000ULL, 1ULL << 40}) {
    EXPECT_EQ(told_class(parameters, *set, set->wrong_from * times), set->other.class_index) << times;
  }
  EXPECT_EQ(certify_error(network, *set).verdict, Verdict::proved);
}

TEST(CertifiedCollapse, TheSetsAreTheShortestThatAreProved) {
  const numerics::FpEnvironmentGuard environment;
  int found = 0;
  for (const Floats& parameters :
       {trained_network(), random_network(1, 1), random_network(2, 3), random_network(4, 1)}) {
    const NetworkCells network(parameters);
    std::optional<CollapseSet> set = find_collapse(network, longest);
    if (!set || set->wrong_from <= 2) continue;
    ++found;
    EXPECT_EQ(certify_error(network, *set).verdict, Verdict::proved) << set->wrong_from;
    --set->wrong_from;
    EXPECT_NE(certify_error(network, *set).verdict, Verdict::proved) << set->wrong_from;
  }
  EXPECT_GT(found, 0);
}

TEST(CertifiedCollapse, WhatIsNoErrorIsNotCertified) {
  const PrecisionScope scope(113);
  const NetworkCells network(trained_network());
  const CollapseSet set = *find_collapse(network, longest);
  CollapseSet swapped = set;
  std::swap(swapped.odd, swapped.other);
  EXPECT_THROW(certify_error(network, swapped), std::invalid_argument) << "[b, a, ..., a] is told right";
  CollapseSet short_set = set;
  short_set.wrong_from = 2;
  EXPECT_NE(certify_error(network, short_set).verdict, Verdict::proved) << "of two items it is right";
  CollapseSet another = set;
  another.other.class_index = (set.other.class_index + 1) % class_count;
  if (another.other.class_index == set.odd.class_index)
    another.other.class_index = (set.odd.class_index + 1) % class_count;
  const BallMatrix scores =
      scores_of_values(network, network.weights(Layer::attention_value) *
                                        network.items(points({set.other.priority}), {set.other.class_index}).centre +
                                    network.biases(Layer::attention_value));
  EXPECT_TRUE(least_margin(scores, set.other.class_index).certainly_positive());
  EXPECT_TRUE(least_margin(scores, another.other.class_index).certainly_negative());
}

TEST(CertifiedCollapse, ANetworkThatTellsOneClassIsWrongAtOnce) {
  const numerics::FpEnvironmentGuard environment;
  Floats parameters = random_network(1, 1);
  std::fill(parameters.begin() + static_cast<std::ptrdiff_t>(place_of(Layer::head_2).weights), parameters.end(), 0.0F);
  parameters[place_of(Layer::head_2).biases() + 3] = 1;
  const std::optional<CollapseSet> set = find_collapse(NetworkCells(parameters), longest);
  ASSERT_TRUE(set);
  EXPECT_FALSE(set->right_at_two);
  EXPECT_EQ(set->other.class_index, 3);
  EXPECT_EQ(set->wrong_from, 2U);
  // All scores alike: no class is told of anything.
  parameters[place_of(Layer::head_2).biases() + 3] = 0;
  EXPECT_FALSE(find_collapse(NetworkCells(parameters), longest));
}

TEST(CertifiedCollapse, TensorsAreOfTheirFormatAndBoundTheirOwnSpread) {
  const PrecisionScope scope(256);
  const Floats parameters = trained_network();
  const NetworkCells network(parameters);
  const CollapseSet set = *find_collapse(network, longest);
  const RealNetwork<long double> real(parameters);
  const auto value = real.value(set.other.priority, set.other.class_index);
  for (const Format format : {Format::f32, Format::bf16, Format::f16}) {
    const CollapseTensors tensors = collapse_tensors(network, set, format);
    Enclosure spread;
    for (Eigen::Index i = 0; i < width; ++i) {
      EXPECT_EQ(tensors.odd_key(i), numerics::round_to(format, tensors.odd_key(i)));
      EXPECT_EQ(tensors.other_value(i),
                numerics::round_to(format, static_cast<double>(value[static_cast<std::size_t>(i)])));
      spread += Enclosure(tensors.query(i)) * (Enclosure(tensors.odd_key(i)) - Enclosure(tensors.other_key(i)));
    }
    spread *= Enclosure(tensors.scale);
    EXPECT_TRUE((Enclosure(tensors.spread) - spread).certainly_nonnegative());
    EXPECT_LT((Enclosure(tensors.spread) - spread).upper_double(), 1e-12);
    for (const Certificate& c : certify_collapse(network, set, tensors)) {
      EXPECT_EQ(c.verdict, Verdict::proved) << c.witness;
    }
  }
}

TEST(CertifiedCollapse, ShorterSetsAreNotCertified) {
  const PrecisionScope scope(113);
  const NetworkCells network(trained_network());
  const CollapseSet set = *find_collapse(network, longest);
  const auto verdict = [&](const std::function<void(CollapseTensors&)>& change) {
    CollapseTensors tensors = collapse_tensors(network, set, Format::bf16);
    change(tensors);
    return numerics::worst(certify_collapse(network, set, tensors));
  };
  EXPECT_EQ(verdict([](CollapseTensors&) {}), Verdict::proved);
  EXPECT_EQ(verdict([](CollapseTensors& t) { t.collapses_from = t.vanishes_from; }), Verdict::violated)
      << "a coefficient below the unit roundoff is not enough";
  EXPECT_EQ(verdict([](CollapseTensors& t) { t.vanishes_from = *t.vanishes_from - Enclosure(1); }), Verdict::violated);
  EXPECT_NE(verdict([](CollapseTensors& t) { std::swap(t.odd_value, t.other_value); }), Verdict::proved)
      << "b's value gives a's class";
}

// Attention over one head in double, rounded at the end.
int naive_attention(const softcheck_call* call) {
  if (call->n_inputs != 3 || call->n_outputs != 1) return 1;
  const DLTensor &q = *call->inputs[0], &k = *call->inputs[1], &v = *call->inputs[2];
  const Format format = q.dtype.code == kDLBfloat ? Format::bf16 : q.dtype.bits == 16 ? Format::f16 : Format::f32;
  const std::size_t bytes = q.dtype.bits / 8;
  const auto read = [&](const DLTensor& tensor, std::int64_t row, std::int64_t i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(tensor.data) + static_cast<std::size_t>(row * width + i) * bytes,
                bytes);
    return numerics::decode(format, bits);
  };
  const std::int64_t n = k.shape[2];
  std::vector<double> weights;
  double sum = 0, largest = -INFINITY;
  for (std::int64_t j = 0; j < n; ++j) {
    double logit = 0;
    for (std::int64_t i = 0; i < width; ++i) logit += read(q, 0, i) * read(k, j, i);
    weights.push_back(call->scale * logit);
    largest = std::max(largest, weights.back());
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (std::int64_t i = 0; i < width; ++i) {
    double out = 0;
    for (std::int64_t j = 0; j < n; ++j) out += weights[static_cast<std::size_t>(j)] / sum * read(v, j, i);
    const std::uint64_t bits = numerics::encode(format, out);
    std::memcpy(static_cast<char*>(call->outputs[0]->data) + static_cast<std::size_t>(i) * bytes, &bits, bytes);
  }
  return 0;
}

int value_of_the_first(const softcheck_call* call) {
  const DLTensor& v = *call->inputs[2];
  std::memcpy(call->outputs[0]->data, v.data, width * static_cast<std::size_t>(v.dtype.bits) / 8);
  return 0;
}

int refuse(const softcheck_call*) { return 1; }

TEST(CertifiedCollapse, KernelsShowIt) {
  const PrecisionScope scope(113);
  const NetworkCells network(trained_network());
  const CollapseSet set = *find_collapse(network, longest);
  for (const Format format : {Format::bf16, Format::f16}) {
    const CollapseTensors tensors = collapse_tensors(network, set, format);
    const auto n = static_cast<std::uint64_t>(tensors.collapses_from->midpoint());
    const auto verdict = [&](softcheck_kernel kernel, std::uint64_t length) {
      const std::optional<Eigen::VectorXd> output = run_attention(kernel, tensors, length);
      if (!output) return Verdict::undecided;
      return numerics::worst(certify_kernel_output(network, set, tensors, *output, length, true));
    };
    EXPECT_EQ(verdict(naive_attention, n), Verdict::proved);
    EXPECT_EQ(verdict(naive_attention, 2), Verdict::violated) << "two items are told apart";
    EXPECT_EQ(verdict(value_of_the_first, n), Verdict::violated) << "a kernel that does not disperse";
    EXPECT_FALSE(run_attention(refuse, tensors, n));
  }
}

using numerics::Decision;

// Set sizes from which something is certain, and the estimate beside them.

// ln n less the least entropy of n items: what the deficit must not be below.
bool deficit_holds(const std::function<Enclosure(const Enclosure&)>& deficit) {
  const PrecisionScope scope(256);
  for (const double spread : {1e-3, 0.5, 1.0, 5.69, 20.0, 96.8, 171.2}) {
    for (const std::uint64_t n : {2ULL, 3ULL, 17ULL, 1024ULL, 1000003ULL, 1ULL << 40}) {
      const Enclosure gap = log(Enclosure::integer(n)) - theory::entropy_floor(n, {spread, 0, 1});
      if (!(deficit(Enclosure(spread)) - gap).certainly_nonnegative()) return false;
    }
  }
  return true;
}

TEST(CertifiedSetSizes, TheDeficitIsThatOfTheLeastEntropy) {
  EXPECT_TRUE(deficit_holds(theory::largest_entropy_deficit));
  EXPECT_FALSE(deficit_holds([](const Enclosure& d) { return d - Enclosure(1) - log(d); })) << "e^-delta dropped";
  EXPECT_FALSE(deficit_holds([](const Enclosure& d) {
    const Enclosure q = d / -expm1(-d);
    return q - Enclosure(1) - log(q) - Enclosure::decimal("1e-9");
  })) << "it is attained, up to whole items";
  const PrecisionScope scope(256);
  EXPECT_TRUE(theory::largest_entropy_deficit(Enclosure(0)).contains(0.0));
  // Of a million items and a spread of 3 it is attained but for what whole items cost.
  const Enclosure gap = log(Enclosure(1000003)) - theory::entropy_floor(1000003, {3, 0, 1});
  EXPECT_LT((theory::largest_entropy_deficit(Enclosure(3)) - gap).upper_double(), 1e-9);
}

TEST(CertifiedSetSizes, TheDispersionLengthIsSharp) {
  for (const double spread : {0.0, 1.5, 86.7, 171.3, 239.0, 400.0}) {
    const CertainSize size = certify_dispersion_length(spread, 0.1);
    EXPECT_EQ(size.certificate.verdict, Verdict::proved) << spread;
    const double expected = std::log10(1 + std::exp(spread) * 9);
    EXPECT_GE(size.log10_size, expected * (1 - 1e-12));
    // Where it is a power of two: less than twice the smallest.
    EXPECT_LE(size.log10_size, spread <= 240 ? std::log10(std::exp(expected * std::log(10)) + 2)
                                             : expected + std::log10(2) * (1 + 0x1p-40));
  }
}

TEST(CertifiedSetSizes, AdaptiveTemperatureIsTheIdentityFromThereAndNotMuchEarlier) {
  for (const double spread : {0.0, 0.7, 5.0, 20.0, 171.3}) {
    const CertainSize size = certify_adaptive_identity(spread);
    EXPECT_EQ(size.certificate.verdict, Verdict::proved) << spread;
  }
  // A row of spread 5 that reaches the floor: at a tenth less than the size its entropy is in the active interval.
  const double n = std::pow(10, certify_adaptive_identity(5).log10_size);
  const PrecisionScope scope(113);
  const auto floor_at = [](double items) {
    return theory::entropy_floor(static_cast<std::uint64_t>(items), {5, 0, 1});
  };
  const Enclosure from = Enclosure::decimal(theory::inactive_from);
  EXPECT_TRUE((floor_at(std::ceil(n)) - from).certainly_nonnegative());
  EXPECT_TRUE((floor_at(0.9 * n) - from).certainly_negative());
}

TEST(CertifiedSetSizes, TheEntropyFloorStandsBelowWhatIsDrawn) {
  const numerics::FpEnvironmentGuard environment;
  const Floats parameters = random_network(1, 1);
  const NetworkCells network(parameters);
  const double spread = bound_spread(network).upper;
  const numerics::Certificate floor = certify_entropy_floor(network, spread, 200, 3);
  EXPECT_EQ(floor.verdict, Verdict::proved);
  EXPECT_TRUE(floor.left.certainly_positive());
  EXPECT_TRUE((log(Enclosure(200)) - floor.right).certainly_nonnegative());
  // A spread a thousand times too small claims that all logits are equal.
  EXPECT_EQ(certify_entropy_floor(network, spread / 1000, 200, 3).verdict, Verdict::violated);
  EXPECT_EQ(certify_entropy_floor(network, spread, std::uint64_t{1} << 40, 3).verdict, Verdict::proved);
}

TEST(CertifiedSetSizes, TheRankOfTheMedianHasItsConfidence) {
  // Exact binomials, in long double: of 25 values the 8th is below the median but for 2.164 %, the 9th for 5.388 %.
  for (const int sets : {25, 101, 401}) {
    std::vector<long double> row{1};
    for (int i = 0; i < sets; ++i) {
      std::vector<long double> next(row.size() + 1, 0);
      for (std::size_t j = 0; j < row.size(); ++j) {
        next[j] += row[j] / 2;
        next[j + 1] += row[j] / 2;
      }
      row = next;
    }
    const int rank = median_rank(sets, 0.95);
    long double below = 0;
    for (int j = 0; j < rank; ++j) below += row[static_cast<std::size_t>(j)];
    EXPECT_LE(below, 0.025L);
    EXPECT_GT(below + row[static_cast<std::size_t>(rank)], 0.025L) << "no larger rank would do";
  }
  EXPECT_EQ(median_rank(25, 0.95), 8);
  EXPECT_EQ(median_rank(3, 0.95), 0);
}

TEST(CertifiedSetSizes, EqualLogitsDisperseAtOnce) {
  const numerics::FpEnvironmentGuard environment;
  Floats parameters = random_network(1, 1);
  std::fill_n(parameters.begin() + static_cast<std::ptrdiff_t>(place_of(Layer::attention_key).weights), width * width,
              0.0F);
  // 1/n < 0.1 from n = 11 on.
  const TypicalLength typical = estimate_typical_length(NetworkCells(parameters), 0.1, 1);
  EXPECT_EQ(typical.lower, 11U);
  EXPECT_EQ(typical.median, 11U);
  EXPECT_EQ(typical.upper, 11U);
}

TEST(CertifiedSetSizes, TheTypicalLengthIsThatOfSetsDrawnOneByOne) {
  const numerics::FpEnvironmentGuard environment;
  const Floats parameters = random_network(2, 2);
  const TypicalLength typical = estimate_typical_length(NetworkCells(parameters), 0.1, 1);
  const RealNetwork<long double> network(parameters);
  RandomWords words(9);
  std::vector<int> lengths;
  constexpr int sets = 41;
  for (int i = 0; i < sets; ++i) {
    const auto query = network.projected_query(uniform(words));
    std::vector<long double> logits;
    long double largest = -INFINITY, sum = 0;
    do {
      const double priority = uniform(words);
      logits.push_back(
          network.logit(query, network.key(priority, static_cast<int>(uniform_below(words, class_count)))));
      largest = std::max(largest, logits.back());
      sum = 0;
      for (const long double logit : logits) sum += std::exp(logit - largest);
    } while (1 / sum >= 0.1L);
    lengths.push_back(static_cast<int>(logits.size()));
  }
  std::ranges::sort(lengths);
  // Both hold the true median with 95 % each: two seeds for which they meet.
  const auto rank = static_cast<std::size_t>(median_rank(sets, 0.95));
  EXPECT_LE(lengths[rank - 1], static_cast<int>(typical.upper));
  EXPECT_GE(lengths[sets - rank], static_cast<int>(typical.lower));
}

// Against sums computed anew for each length, for logits that rise, fall, tie and wander.
TEST(CertifiedSetSizes, TheFirstPassageIsThatOfTheSumsThemselves) {
  RandomWords words(3);
  std::vector<double> rising, falling, wandering;
  for (int i = 0; i < 400; ++i) {
    rising.push_back(0.01 * i);
    falling.push_back(-0.01 * i);
    wandering.push_back(4 * static_cast<double>(uniform(words)));
  }
  for (const auto& logits : {rising, falling, wandering, std::vector<double>(400, 2.5)}) {
    for (const double eps : {0.3, 0.11, 0.017}) {
      std::uint64_t expected = 0;
      for (long double largest = 0; expected < logits.size() && !(expected > 0 && largest < eps);) {
        ++expected;
        long double sum = 0;
        const double m = *std::max_element(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(expected));
        for (std::size_t j = 0; j < expected; ++j) sum += std::exp(static_cast<long double>(logits[j]) - m);
        largest = 1 / sum;
      }
      std::size_t next = 0;
      EXPECT_EQ(first_passage([&] { return logits.at(next++); }, eps, logits.size()), expected) << eps;
    }
  }
}

}  // namespace
}  // namespace softcheck::experiments
