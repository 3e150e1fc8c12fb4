// Compiled alone: it includes the bodies of the network.
// Networks evaluated by the kernels, and by heads, against the same sets in long double and against themselves.
#include "experiments/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <random>
#include <vector>

#include "experiments/heads.hpp"
#include "experiments/trained_models.hpp"
#include "theory/adaptive_temperature.hpp"
// clang-format off
#include "experiments/max_retrieval_pass.inl"
// clang-format on

namespace softcheck::experiments {
namespace {

using Real = long double;
constexpr double u = 0x1p-24;

const AttentionKernels& kernels() {
  static const AttentionKernels loaded(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  return loaded;
}

Floats some_network(std::uint64_t seed) {
  RandomWords words(seed);
  Floats parameters = initial_parameters(words);
  for (const LayerPlace& layer : layers) {
    for (std::size_t i = layer.biases(); i < layer.end(); ++i) parameters[i] = uniform(words) - 0.5F;
  }
  return parameters;
}

// What layers of sums of at most 128 terms may lose to first order, relative to the largest entry: a wrong layer is
// wrong by as much as that itself.
void expect_near(std::span<const float> got, const Matrix<Real>& want, int layer_sums, const char* what) {
  const Real room = want.cwiseAbs().maxCoeff() * layer_sums * width * static_cast<Real>(u);
  ASSERT_EQ(got.size(), static_cast<std::size_t>(want.size())) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::fabs(got[i] - want.data()[i]), room) << what << " " << i;
  }
}

TEST(Evaluation, EncodesAndFoldsAsTheNetworkDoes) {
  const Floats parameters = some_network(1);
  RandomWords words(2);
  const RetrievalSets sets = draw_sets(700, 2, words);  // more than is encoded at once, and not a multiple of it
  const std::vector<Real> real(parameters.begin(), parameters.end()), items(sets.items.begin(), sets.items.end()),
      queries(sets.queries.begin(), sets.queries.end());
  Workspace<Real> w;
  encode_items(real.data(), Eigen::Map<const Matrix<Real>>(items.data(), item_features, 1400), w);
  fold_queries(real.data(), Eigen::Map<const Matrix<Real>>(queries.data(), 1, 2), w);

  Floats got(w[Place::encoded].size());
  encode(parameters, sets.items, got);
  expect_near(got, w[Place::encoded], 2, "encoded");
  const FoldedQueries folded_queries = fold(parameters, sets.queries);
  expect_near(folded_queries.vectors, w[Place::folded], 4, "folded");
  const Matrix<Real> offsets = w[Place::query].transpose() * biases_of(real.data(), Layer::attention_key);
  // A sum may cancel, so that it is held against its terms.
  const Real terms = w[Place::query].cwiseAbs().maxCoeff() * width;
  for (int s = 0; s < 2; ++s) EXPECT_LE(std::fabs(folded_queries.offsets[s] - offsets(s)), 4 * width * u * terms);
}

// The kernels' and a head's entropies and largest coefficients against softmax in double of the logits that evaluate()
// shows to other heads. Those logits and the kernels' are sums of 128 products in two orders: eta apart, at most 2 *
// 128 u times the sum of their sizes. That moves the entropy by at most eta times the spread, softmax itself by some u;
// beta multiplies both, and moves by 2.52543 times what H does.
TEST(Evaluation, TheKernelsMeasureWhatSoftmaxDoes) {
  const Floats parameters = some_network(3);
  struct Row {
    double entropy, adaptive_entropy, largest, adaptive_largest, room;
    float spread;
  };
  std::vector<Row> rows;
  const Head listening{"listening", [&](std::span<const float> x, float, std::span<float> alpha) {
                         const float least = std::ranges::min(x), most = std::ranges::max(x);
                         const auto entropy_at = [&](double beta, double& largest) {
                           double sum = 0, deviations = 0;
                           for (const float logit : x) {
                             const double d = beta * (static_cast<double>(most) - logit);
                             sum += std::exp(-d);
                             deviations += d * std::exp(-d);
                           }
                           largest = 1 / sum;
                           return std::log(sum) + deviations / sum;
                         };
                         Row row{};
                         row.entropy = entropy_at(1, row.largest);
                         const double beta = theory::inverse_temperature<double>(row.entropy), spread = most - least;
                         row.adaptive_entropy = entropy_at(beta, row.adaptive_largest);
                         double size = 0;
                         for (const float logit : x) size = std::max(size, std::fabs(static_cast<double>(logit)));
                         const double eta = 2 * width * u * width * size, own = 64 * u * (1 + std::log(x.size()));
                         row.room = beta * spread * (eta + own) * (1 + 2.52543 * spread) + own;
                         row.spread = most - least;
                         rows.push_back(row);
                         std::ranges::fill(alpha, 0.0F);
                       }};
  EvaluationOptions options;
  options.sizes = {1, 2, 40, 3000};
  options.sets = 3;
  options.others = {listening, head_of(HeadKind::softmax)};
  const std::vector<SizeMeasure> measures = evaluate(parameters, 1, kernels(), options);
  ASSERT_EQ(rows.size(), 12U);
  // Rows arrive in the order of the tasks, the longest first; sizes 3000, 40, 2, 1.
  std::size_t next = 0;
  for (const std::size_t size : {3U, 2U, 1U, 0U}) {
    for (std::size_t s = 0; s < 3; ++s, ++next) {
      const HeadMeasure &plain = measures[size].heads[0][s], &adaptive = measures[size].heads[1][s],
                        &head = measures[size].heads[3][s];
      const Row& row = rows[next];
      EXPECT_EQ(measures[size].spreads[s], row.spread);
      EXPECT_LE(row.room, 0.05) << "a bound that says nothing";
      EXPECT_LE(std::fabs(plain.entropy - row.entropy), row.room);
      EXPECT_LE(std::fabs(plain.largest - row.largest), row.room);
      EXPECT_LE(std::fabs(head.entropy - row.entropy), row.room);
      EXPECT_LE(std::fabs(head.largest - row.largest), row.room);
      EXPECT_LE(std::fabs(adaptive.entropy - row.adaptive_entropy), row.room);
      EXPECT_LE(std::fabs(adaptive.largest - row.adaptive_largest), row.room);
    }
  }
}

// Softmax as a head, in double, against the kernels, on a network that has learnt: the same sets are right. They are
// more than guesses among ten classes, 6.4 of 64 with a deviation of 2.4, by four of these, and not all. And a largest
// coefficient is at least exp(-entropy): the mean of -ln p is never below its least. It comes of the evaluation's own
// logits, which are eta from the kernel's as above; beta is below 2.5.
TEST(Evaluation, AHeadInPlaceOfSoftmaxIsRightWhereTheKernelsAre) {
  const TrainedModel model =
      read_model(std::filesystem::path(SOFTCHECK_SOURCE_DIR) / "experiments/models/seeds/seed-01.safetensors");
  EvaluationOptions options;
  options.sizes = {16, 1024};
  options.sets = 64;
  float size = 0;
  options.others = {head_of(HeadKind::softmax),
                    {"listening", [&](std::span<const float> x, float, std::span<float> alpha) {
                       for (const float logit : x) size = std::max(size, std::fabs(logit));
                       std::ranges::fill(alpha, 0.0F);
                     }}};
  for (const SizeMeasure& measure : evaluate(model.parameters, 1, kernels(), options)) {
    int right = 0;
    for (std::size_t s = 0; s < 64; ++s) {
      const HeadMeasure &kernel = measure.heads[0][s], &head = measure.heads[2][s];
      right += kernel.correct ? 1 : 0;
      EXPECT_EQ(head.correct, kernel.correct) << measure.size << " " << s;
      for (const HeadMeasure& any : {measure.heads[0][s], measure.heads[1][s]}) {
        EXPECT_GE(std::log(any.largest) + any.entropy, -2.5 * 2 * width * u * width * size) << measure.size << " " << s;
      }
    }
    EXPECT_GT(right, 16) << measure.size;
    EXPECT_LT(right, measure.size == 1024 ? 64 : 65) << measure.size;
  }
}

bool same(const std::vector<SizeMeasure>& a, const std::vector<SizeMeasure>& b) {
  const auto same_set = [](const HeadMeasure& x, const HeadMeasure& y) {
    return x.correct == y.correct && x.entropy == y.entropy && x.largest == y.largest;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].spreads != b[i].spreads) return false;
    for (std::size_t h = 0; h < a[i].heads.size(); ++h) {
      if (!std::ranges::equal(a[i].heads[h], b[i].heads[h], same_set)) return false;
    }
  }
  return a.size() == b.size();
}

TEST(Evaluation, ThreadsChangeNothingAndStreamsDo) {
  const Floats parameters = some_network(4);
  EvaluationOptions options;
  options.sizes = {16, 1000};
  options.sets = 80;
  options.others = {head_of(HeadKind::sparsemax)};
  const std::vector<SizeMeasure> one = evaluate(parameters, 1, kernels(), options);
  EXPECT_FALSE(same(one, evaluate(parameters, 2, kernels(), options)));
  options.threads = 3;
  EXPECT_TRUE(same(one, evaluate(parameters, 1, kernels(), options)));
}

TEST(Evaluation, BadOptionsAreNamed) {
  EvaluationOptions options;
  options.sizes = {16, 0};
  EXPECT_THROW(evaluate(some_network(1), 1, kernels(), options), std::invalid_argument);
  EXPECT_THROW(evaluate(Floats(5), 1, kernels(), {}), std::invalid_argument);
  EXPECT_THROW(AttentionKernels("/nowhere.so"), std::runtime_error);
}

TEST(Evaluation, MemoryLimitsTheLargestSets) {
  EvaluationOptions options;
  options.items = 1000;
  options.sets = 50;
  EXPECT_EQ(sets_of_size(options, 10), 50);
  EXPECT_EQ(sets_of_size(options, 100), 10);
  EXPECT_EQ(sets_of_size(options, 5000), 1);
}

// What turns logits into coefficients, against other definitions: by sorting, in long double.

using Reals = std::vector<long double>;

std::vector<std::size_t> falling_order(const Reals& x) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  return order;
}

Reals softmax_beside(const Reals& x, const std::vector<bool>& kept, long double rest) {
  Reals alpha(x.size());
  long double sum = rest;
  for (std::size_t i = 0; i < x.size(); ++i) sum += kept[i] ? std::exp(x[i]) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) alpha[i] = kept[i] ? std::exp(x[i]) / sum : 0;
  return alpha;
}

// Support sizes by the definition: the largest k for which the k-th largest logit is above the threshold of k.
Reals sparsemax(const Reals& x) {
  const std::vector<std::size_t> order = falling_order(x);
  long double sum = 0, threshold = 0;
  for (std::size_t k = 1; k <= x.size(); ++k) {
    sum += x[order[k - 1]];
    if (1 + static_cast<long double>(k) * x[order[k - 1]] > sum) threshold = (sum - 1) / static_cast<long double>(k);
  }
  Reals alpha;
  for (const long double value : x) alpha.push_back(std::max(value - threshold, 0.0L));
  return alpha;
}

Reals entmax(const Reals& x) {
  const std::vector<std::size_t> order = falling_order(x);
  long double sum = 0, squares = 0, threshold = 0;
  for (std::size_t k = 1; k <= x.size(); ++k) {
    const long double half = x[order[k - 1]] / 2, count = static_cast<long double>(k);
    sum += half;
    squares += half * half;
    const long double mean = sum / count, scatter = count * (squares / count - mean * mean);
    if (scatter > 1) break;
    const long double candidate = mean - std::sqrt((1 - scatter) / count);
    if (candidate <= half) threshold = candidate;
  }
  Reals alpha;
  for (const long double value : x) alpha.push_back(std::pow(std::max(value / 2 - threshold, 0.0L), 2));
  return alpha;
}

Reals expected(HeadKind kind, Reals x) {
  const std::vector<bool> all(x.size(), true);
  switch (kind) {
    case HeadKind::softmax:
      return softmax_beside(x, all, 0);
    case HeadKind::log_n:
      for (long double& value : x) value *= std::log2(static_cast<long double>(x.size())) / 4;
      return softmax_beside(x, all, 0);
    case HeadKind::top_k: {
      std::vector<bool> kept(x.size());
      const std::vector<std::size_t> order = falling_order(x);
      for (std::size_t i = 0; i < std::min<std::size_t>(8, x.size()); ++i) kept[order[i]] = true;
      return softmax_beside(x, kept, 0);
    }
    case HeadKind::sink:
      return softmax_beside(x, all, 1);
    case HeadKind::sigmoid:
      for (long double& value : x) value = std::exp(value) / (16 + std::exp(value));
      return x;
    case HeadKind::sparsemax:
      return sparsemax(x);
    case HeadKind::entmax:
      return entmax(x);
    case HeadKind::softpick: {
      long double sum = 0;
      for (const long double value : x) sum += std::fabs(std::expm1(value));
      for (long double& value : x) value = std::max(std::expm1(value), 0.0L) / sum;
      return x;
    }
  }
  return {};
}

Reals coefficients(HeadKind kind, const std::vector<float>& logits, float offset) {
  std::vector<float> result(logits.size());
  head_of(kind).coefficients(logits, offset, result);
  return {result.begin(), result.end()};
}

// Coefficients are at most 1 and computed in double: the rounding to float, 2^-25, and n roundings of 2^-53 in each of
// a few sums, which 2^-24 covers for n <= 1000 by far. Softpick subtracts 1 from exponentials of up to e^20 times the
// smallest that counts: absolute errors stay of the same size.
constexpr long double room = 0x1p-24L;

TEST(Heads, AreWhatTheirDefinitionsSay) {
  std::mt19937_64 words(1);
  for (const HeadKind kind : head_kinds()) {
    for (const int n : {1, 2, 3, 7, 8, 9, 40, 1000}) {
      for (const float spread : {0.0F, 0.5F, 3.0F, 20.0F}) {
        std::uniform_real_distribution<float> uniform(-spread, spread);
        std::vector<float> logits(static_cast<std::size_t>(n));
        for (float& logit : logits) logit = uniform(words);
        const float offset = 0.25F;
        Reals x(logits.begin(), logits.end());
        if (sees_offset(kind)) {
          for (long double& value : x) value += offset;
        }
        const Reals want = expected(kind, x), got = coefficients(kind, logits, offset);
        for (std::size_t i = 0; i < want.size(); ++i) {
          ASSERT_LE(std::fabs(got[i] - want[i]), room) << to_string(kind) << " n = " << n << " spread " << spread;
        }
      }
    }
  }
}

TEST(Heads, LargeLogitsDoNotOverflow) {
  for (const HeadKind kind : head_kinds()) {
    for (const float level : {-300.0F, 300.0F}) {
      const Reals got = coefficients(kind, {level, level + 1, level - 1}, 0);
      for (const long double alpha : got) EXPECT_TRUE(alpha >= 0 && alpha <= 1) << to_string(kind) << " at " << level;
    }
  }
}

// What the paper's followers promise: no dispersion. An item ahead of all others by 4 keeps its coefficient among 2^16
// others, where softmax has lost it.
TEST(Heads, TheSparseOnesKeepAnItemAmongAnyNumberOfOthers) {
  std::vector<float> logits(65536, 0);
  logits[7] = 4;
  const long double weight = std::exp(4.0L);
  EXPECT_NEAR(coefficients(HeadKind::softmax, logits, 0)[7], weight / (weight + 65535), room);  // less than 1/1000
  for (const HeadKind kind : {HeadKind::sparsemax, HeadKind::entmax}) {
    EXPECT_EQ(coefficients(kind, logits, 0)[7], 1) << to_string(kind);
  }
  EXPECT_NEAR(coefficients(HeadKind::top_k, logits, 0)[7], weight / (weight + 7), room);
}

TEST(Heads, WordsComeBack) {
  for (const HeadKind kind : head_kinds()) EXPECT_EQ(parse_head(to_string(kind)), kind);
  EXPECT_THROW(parse_head("softmin"), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::experiments
