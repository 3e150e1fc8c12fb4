// Corollary B.1 of a trained network: the set it gets wrong, in reals and in formats, and the kernels that show it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "certificates_oracle.hpp"
#include "experiments/certificates/collapse.hpp"
#include "numerics/formats/fp_environment.hpp"
#include "theory/corollary_b_1.hpp"

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

}  // namespace
}  // namespace softcheck::experiments
