#include "experiments/figures/spread_history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "experiments/evaluation.hpp"
#include "theory/proposition_3_1.hpp"

namespace softcheck::experiments {
namespace {

constexpr int sample_sets = 256, sample_size = 16;

Eigen::MatrixXd weights_of(const Floats& parameters, Layer layer) {
  const LayerPlace& place = place_of(layer);
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(&parameters[place.weights], place.outputs, place.inputs).cast<double>();
}

Eigen::VectorXd biases_of(const Floats& parameters, Layer layer) {
  const LayerPlace& place = place_of(layer);
  return Eigen::Map<const Eigen::VectorXf>(&parameters[place.biases()], place.outputs).cast<double>();
}

double gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }

// The query branch: Dense-GELU-Dense of the scalar query.
Eigen::VectorXd encoded_query(const Floats& parameters, float query) {
  const Eigen::VectorXd hidden =
      (weights_of(parameters, Layer::query_1) * query + biases_of(parameters, Layer::query_1)).unaryExpr(&gelu);
  return weights_of(parameters, Layer::query_2) * hidden + biases_of(parameters, Layer::query_2);
}

// Encoded items of all sets, and the spread of each set.
struct SampleSpreads {
  Floats encoded;
  std::vector<double> spreads;
};

SampleSpreads spreads_of(const Floats& parameters, const RetrievalSets& sample) {
  const auto size = static_cast<std::size_t>(sample.size), count = static_cast<std::size_t>(sample.count);
  SampleSpreads result{Floats(size * count * width), {}};
  encode(parameters, sample.items, result.encoded);
  const FoldedQueries queries = fold(parameters, sample.queries);
  for (std::size_t s = 0; s < count; ++s) {
    std::vector<double> logits;
    const float* const query = &queries.vectors[s * width];
    for (std::size_t i = 0; i < size; ++i) {
      logits.push_back(std::inner_product(query, query + width, &result.encoded[(s * size + i) * width], 0.0));
    }
    const auto [least, most] = std::ranges::minmax(logits);
    result.spreads.push_back(most - least);
  }
  return result;
}

const numerics::Certificate& certificate_of(const SpreadPoint& point, const std::string& form) {
  const auto found = std::ranges::find(point.certificates, "proposition_3_1." + form, &numerics::Certificate::claim);
  if (found == point.certificates.end())
    throw std::invalid_argument("spread_history: need the claim proposition_3_1." + form);
  return *found;
}

std::string csv_of(const std::vector<SpreadPoint>& points) {
  std::string text =
      "step,loss,mean spread,widest spread,direct bound,joint bound,difference bound,product bound,verdict\n";
  for (const SpreadPoint& point : points) {
    text += fmt::format("{},{:.9g},{:.9g},{:.9g}", point.step, point.loss, point.mean_spread,
                        certificate_of(point, "direct").left.upper_double());
    for (const char* form : {"direct", "joint", "difference", "biased"}) {
      text += fmt::format(",{:.9g}", certificate_of(point, form).right.lower_double());
    }
    text += fmt::format(",{}\n", numerics::to_string(numerics::worst(point.certificates)));
  }
  return text;
}

constexpr const char* orders = R"(
set title 'Spread of the logits (256 sets of 16) and Proposition 3.1 while a network trains'
set xlabel 'training step'
set ylabel 'spread δ of the logits'
set logscale xy
set format x '10^{%T}'
set format y '10^{%T}'
set key bottom right spacing 1.3
)";

}  // namespace

std::vector<std::int64_t> log_spaced_steps(std::int64_t steps, int count) {
  if (steps < 1 || count < 1) {
    throw std::invalid_argument(
        fmt::format("log_spaced_steps: need steps and count >= 1, got {} and {}", steps, count));
  }
  std::vector<std::int64_t> result;
  for (int i = 0; i < count; ++i) {
    const double share = count == 1 ? 1 : static_cast<double>(i) / (count - 1);
    const auto step = std::llround(std::pow(static_cast<double>(steps), share));
    if (result.empty() || step > result.back()) result.push_back(step);
  }
  return result;
}

RetrievalSets spread_sample(std::uint64_t seed) {
  RandomWords words(seed);
  return draw_sets(sample_size, sample_sets, words);
}

SpreadPoint spread_point(const Floats& parameters, const RetrievalSets& sample, std::int64_t step, double loss) {
  const SampleSpreads measured = spreads_of(parameters, sample);
  const auto widest = static_cast<std::size_t>(std::ranges::max_element(measured.spreads) - measured.spreads.begin());
  theory::QueryAndItems input;
  input.query = weights_of(parameters, Layer::attention_query);
  input.query_bias = biases_of(parameters, Layer::attention_query);
  input.key = weights_of(parameters, Layer::attention_key);
  input.key_bias = biases_of(parameters, Layer::attention_key);
  input.y = encoded_query(parameters, sample.queries[widest]);
  const float* const first = &measured.encoded[widest * static_cast<std::size_t>(sample.size) * width];
  using Items = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  input.items = Eigen::Map<const Items>(first, sample.size, width).cast<double>();
  const double sum = std::accumulate(measured.spreads.begin(), measured.spreads.end(), 0.0);
  std::vector<numerics::Certificate> certificates =
      theory::certify_spread_forms(theory::SpreadEvaluation(std::move(input)));
  // The step is enough to replay it; the matrices' digits would take a megabyte a certificate.
  for (numerics::Certificate& certificate : certificates) certificate.witness = fmt::format("training step {}", step);
  return {step, loss, sum / static_cast<double>(measured.spreads.size()), std::move(certificates)};
}

Figure spread_history(const std::vector<SpreadPoint>& points) {
  struct Line {
    const char* column;
    const char* title;
    Colour colour;
    const char* style;
  };
  constexpr Line lines[] = {
      {"product bound", "bound, product of σ_{max}", Colour::vermillion, "linespoints pointtype 5 pointsize 0.6"},
      {"joint bound", "bound, joint σ_{max}", Colour::orange, "linespoints pointtype 9 pointsize 0.6"},
      {"direct bound", "bound, folded query", Colour::sky, "linespoints pointtype 13 pointsize 0.6"},
      {"widest spread", "observed, widest set", Colour::blue, "linespoints pointtype 7 pointsize 0.6"},
      {"mean spread", "observed, mean", Colour::blue, "lines dashtype 2"},
  };
  const std::string table = csv_of(points);
  std::string script = data_block("history", table) + orders + "plot ";
  for (const Line& line : lines) {
    script += fmt::format("{}$history using 'step':'{}' with {} linewidth 2 linecolor rgb '{}' title '{}'",
                          &line == lines ? "" : ", ", line.column, line.style, code_of(line.colour), line.title);
  }
  return {{{"figure_9", table}}, {{"figure_9", 900, 600, script + "\n"}}};
}

}  // namespace softcheck::experiments
