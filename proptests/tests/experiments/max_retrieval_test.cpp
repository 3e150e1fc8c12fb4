// Compiled alone: it includes the bodies of the network.
// The network's forward and backward pass against its definition and against derivatives carried along.
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <numbers>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

#include "experiments/heads.hpp"
#include "experiments/max_retrieval_layout.hpp"
#include "experiments/max_retrieval_sets.hpp"
// clang-format off
#include "experiments/max_retrieval_pass.inl"
// clang-format on

namespace softcheck::experiments {
namespace {

using LongReal = long double;
using Derivative = Eigen::AutoDiffScalar<Eigen::Matrix<LongReal, 1, 1>>;  // a value and its slope in one direction

template <class Scalar>
struct Sets {
  Sets(const RetrievalSets& drawn)
      : items(drawn.items.begin(), drawn.items.end()),
        queries(drawn.queries.begin(), drawn.queries.end()),
        targets(drawn.targets),
        view{drawn.size, drawn.count, items.data(), queries.data(), targets.data()} {}
  std::vector<Scalar> items, queries;
  std::vector<int> targets;
  SetsView<Scalar> view;
};

// Initial weights, and biases that are not zero: a zero hides what a wrong place would show.
std::vector<LongReal> some_parameters(RandomWords& words) {
  const Floats drawn = initial_parameters(words);
  std::vector<LongReal> parameters(drawn.begin(), drawn.end());
  for (const LayerPlace& layer : layers) {
    for (std::size_t i = layer.biases(); i < layer.end(); ++i) parameters[i] = uniform(words) - 0.5L;
  }
  return parameters;
}

// As Appendix A has it: every item gets its key and its value, and nothing is folded.
class DirectNetwork {
 public:
  using RealVector = Eigen::Matrix<LongReal, Eigen::Dynamic, 1>;

  explicit DirectNetwork(const std::vector<LongReal>& parameters) : parameters_(parameters) {}

  LongReal loss(const RetrievalSets& sets) const {
    LongReal total = 0;
    for (int s = 0; s < sets.count; ++s) total += loss_of_set(sets, s);
    return total / sets.count;
  }

 private:
  RealVector dense(Layer layer, const RealVector& in) const {
    const LayerPlace& place = place_of(layer);
    RealVector out(place.outputs);
    for (int o = 0; o < place.outputs; ++o) {
      out(o) = parameters_[place.biases() + static_cast<std::size_t>(o)];
      for (int i = 0; i < place.inputs; ++i) {
        out(o) += parameters_[place.weights + static_cast<std::size_t>(o * place.inputs + i)] * in(i);
      }
    }
    return out;
  }

  static RealVector gelu_of(const RealVector& x) {
    const LongReal pi = 3.141592653589793238462643383279502884L;
    return x.unaryExpr(
        [&](LongReal v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (v + 0.044715L * v * v * v))); });
  }

  LongReal loss_of_set(const RetrievalSets& sets, int s) const {
    RealVector scalar(1);
    scalar << sets.queries[static_cast<std::size_t>(s)];
    const RealVector query =
        dense(Layer::attention_query, dense(Layer::query_2, gelu_of(dense(Layer::query_1, scalar)))) /
        std::sqrt(128.0L);
    std::vector<LongReal> logits;
    std::vector<RealVector> values;
    for (int i = 0; i < sets.size; ++i) {
      const float* features = &sets.items[static_cast<std::size_t>((s * sets.size + i) * item_features)];
      RealVector item(item_features);
      for (int f = 0; f < item_features; ++f) item(f) = features[f];
      const RealVector encoded = gelu_of(dense(Layer::item_2, gelu_of(dense(Layer::item_1, item))));
      logits.push_back(dense(Layer::attention_key, encoded).dot(query));
      values.push_back(dense(Layer::attention_value, encoded));
    }
    LongReal sum = 0;
    RealVector mixed = RealVector::Zero(width);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      sum += std::exp(logits[i]);
      mixed += std::exp(logits[i]) * values[i];
    }
    const RealVector scores =
        dense(Layer::head_2, gelu_of(dense(Layer::head_1, dense(Layer::attention_output, mixed / sum))));
    return std::log(scores.array().exp().sum()) - scores(sets.targets[static_cast<std::size_t>(s)]);
  }

  const std::vector<LongReal>& parameters_;
};

// Both evaluate in long double, u = 2^-64. The longest path adds some 128 terms in each of 10 layers, each error
// multiplied by what follows; 2^20 u, a million roundings of the full size, is far from any wrong formula.
constexpr LongReal rounding = 0x1p-44L;

TEST(MaxRetrieval, FoldedAttentionIsDirectAttention) {
  RandomWords words(1);
  Workspace<LongReal> workspace;
  for (const int size : {1, 2, 5, 16}) {
    const std::vector<LongReal> parameters = some_parameters(words);
    const RetrievalSets drawn = draw_sets(size, 2, words);
    const Sets<LongReal> sets(drawn);
    const LongReal folded = loss_and_gradient<LongReal>(parameters.data(), sets.view, nullptr, workspace);
    const LongReal direct = DirectNetwork(parameters).loss(drawn);
    EXPECT_LE(std::fabs(folded - direct), rounding * direct) << size;
  }
}

// The slope of the loss along a direction, carried through the forward pass, is gradient * direction: one direction for
// each tensor, whose entries are random signs.
TEST(MaxRetrieval, TheGradientIsTheDerivative) {
  RandomWords words(2);
  const std::vector<LongReal> parameters = some_parameters(words);
  const RetrievalSets drawn = draw_sets(3, 2, words);
  const Sets<LongReal> real_sets(drawn);
  std::vector<LongReal> gradient(parameter_count);
  Workspace<LongReal> workspace;
  loss_and_gradient<LongReal>(parameters.data(), real_sets.view, gradient.data(), workspace);

  const Sets<Derivative> sets(drawn);
  Workspace<Derivative> derivative_workspace;
  std::vector<Derivative> moving(parameters.begin(), parameters.end());
  for (const LayerPlace& layer : layers) {
    for (const auto& [begin, end] :
         {std::pair{layer.weights, layer.biases()}, std::pair{layer.biases(), layer.end()}}) {
      LongReal expected = 0, size = 0;
      for (std::size_t i = 0; i < parameter_count; ++i) {
        const bool moves = begin <= i && i < end;
        const LongReal sign = !moves ? 0 : words() % 2 == 0 ? 1 : -1;
        moving[i].derivatives()(0) = sign;
        expected += sign * gradient[i];
        if (moves) size += std::fabs(gradient[i]);
      }
      const Derivative loss = loss_and_gradient<Derivative>(moving.data(), sets.view, nullptr, derivative_workspace);
      // b_K moves all logits of a set alike: its gradient is 0 in the code and a rounding error along the way.
      const LongReal room = std::max(size, LongReal(1)) * rounding;
      EXPECT_LE(std::fabs(loss.derivatives()(0) - expected), room) << layer.name << " from " << begin;
    }
  }
}

// The other heads, along one direction of all parameters at once; ten items, so that top-k leaves some out.
TEST(MaxRetrieval, TheGradientIsTheDerivativeForEveryHead) {
  RandomWords words(6);
  const std::vector<LongReal> parameters = some_parameters(words);
  const RetrievalSets drawn = draw_sets(10, 2, words);
  for (const HeadKind head : head_kinds()) {
    Sets<LongReal> real_sets(drawn);
    real_sets.view.head = head;
    std::vector<LongReal> gradient(parameter_count);
    Workspace<LongReal> workspace;
    loss_and_gradient<LongReal>(parameters.data(), real_sets.view, gradient.data(), workspace);
    Sets<Derivative> sets(drawn);
    sets.view.head = head;
    Workspace<Derivative> derivative_workspace;
    std::vector<Derivative> moving(parameters.begin(), parameters.end());
    LongReal expected = 0, size = 1, key_bias = 0;
    for (std::size_t i = 0; i < parameter_count; ++i) {
      const LongReal sign = words() % 2 == 0 ? 1 : -1;
      moving[i].derivatives()(0) = sign;
      expected += sign * gradient[i];
      size += std::fabs(gradient[i]);
    }
    const LayerPlace& key = place_of(Layer::attention_key);
    for (std::size_t i = key.biases(); i < key.end(); ++i) key_bias += std::fabs(gradient[i]);
    EXPECT_EQ(key_bias > 0, sees_offset(head)) << to_string(head);
    const Derivative loss = loss_and_gradient<Derivative>(moving.data(), sets.view, nullptr, derivative_workspace);
    EXPECT_LE(std::fabs(loss.derivatives()(0) - expected), size * rounding) << to_string(head);
  }
}

TEST(MaxRetrieval, TheTargetIsTheClassOfTheLargestPriority) {
  RandomWords words(3);
  const RetrievalSets sets = draw_sets(7, 500, words);
  std::array<int, class_count> seen{};
  for (int s = 0; s < sets.count; ++s) {
    int best = 0, label = -1;
    for (int i = 0; i < sets.size; ++i) {
      const float* item = &sets.items[static_cast<std::size_t>((s * sets.size + i) * item_features)];
      EXPECT_TRUE(item[0] >= 0 && item[0] < 1);
      float ones = 0;
      for (int c = 0; c < class_count; ++c) ones += item[1 + c];
      EXPECT_EQ(ones, 1);
      if (item[0] > sets.items[static_cast<std::size_t>((s * sets.size + best) * item_features)]) best = i;
    }
    const float* item = &sets.items[static_cast<std::size_t>((s * sets.size + best) * item_features)];
    for (int c = 0; c < class_count; ++c) label = item[1 + c] == 1 ? c : label;
    EXPECT_EQ(sets.targets[static_cast<std::size_t>(s)], label);
    ++seen[static_cast<std::size_t>(label)];
  }
  for (const int count : seen) EXPECT_GT(count, 0);
}

TEST(MaxRetrieval, WeightsAreLecunNormalAndBiasesZero) {
  RandomWords words(4);
  const Floats parameters = initial_parameters(words);
  // The standard deviation of a normal variable cut off at two of its own.
  const double density = std::exp(-2.0) / std::sqrt(2 * std::numbers::pi), inside = std::erf(std::numbers::sqrt2);
  const double cut_off = std::sqrt(1 - 4 * density / inside);
  for (const LayerPlace& layer : layers) {
    double squares = 0;
    const double deviation = 1 / std::sqrt(layer.inputs);
    for (std::size_t i = layer.weights; i < layer.biases(); ++i) {
      EXPECT_LE(std::fabs(parameters[i]), 2 * deviation / cut_off * (1 + 0x1p-23)) << layer.name;
      squares += static_cast<double>(parameters[i]) * parameters[i];
    }
    const auto count = static_cast<double>(layer.biases() - layer.weights);
    // Five standard deviations of a mean of squares: cutting off brings the kurtosis below 3, a square's variance
    // below 2.
    EXPECT_NEAR(squares / count / deviation / deviation, 1, 5 * std::sqrt(2 / count)) << layer.name;
    for (std::size_t i = layer.biases(); i < layer.end(); ++i) EXPECT_EQ(parameters[i], 0);
  }
}

}  // namespace
}  // namespace softcheck::experiments
