#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "judge/survivors/attention_case.hpp"
#include "judge/survivors/row_case.hpp"
#include "numerics/filter/row_filter.hpp"

namespace softcheck::proptests {
namespace {

using numerics::round_to;

// Row-major (batch, heads, length, dim), whatever the strides are.
struct Gradients {
  std::vector<double> dq, dk, dv;
};

struct Saved {
  std::vector<double> out, lse;
};

std::span<const double> vector_of(const InputTensor& tensor, std::int64_t row, std::int64_t dim) {
  return std::span(tensor.values).subspan(static_cast<std::size_t>(row * dim), static_cast<std::size_t>(dim));
}

double inner_product_of(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t t = 0; t < a.size(); ++t) sum += a[t] * b[t];
  return sum;
}

void add(std::vector<double>& to, std::int64_t row, double factor, std::span<const double> vector) {
  const std::size_t first = static_cast<std::size_t>(row) * vector.size();
  for (std::size_t t = 0; t < vector.size(); ++t) to[first + t] += factor * vector[t];
}

// `round` rounds each step; `saved` may be null.
template <class Round>
Gradients gradients_of(const PublishedTensors& tensors, const std::vector<InputTensor>& in, const InputTensor& upstream,
                       Round round, Saved* saved) {
  const std::int64_t dim = tensors.dim;
  const InputTensor &q = in[0], &k = in[1], &v = in[2];
  Gradients result{std::vector<double>(q.values.size()), std::vector<double>(k.values.size()),
                   std::vector<double>(v.values.size())};
  std::vector<double> scaled_keys(k.values.size());
  std::ranges::transform(k.values, scaled_keys.begin(), [&](double x) { return round(tensors.scale * x); });
  for (std::int64_t head = 0; head < tensors.batch * tensors.heads; ++head) {
    for (std::int64_t i = 0; i < tensors.queries; ++i) {
      const auto [from, end] = seen_keys(tensors, i);
      const std::int64_t row = head * tensors.queries + i, first = head * tensors.keys;
      const std::span<const double> query = vector_of(q, row, dim), g = vector_of(upstream, row, dim);
      std::vector<double> scores, products;
      for (std::int64_t j = first + from; j < first + end; ++j) {
        const auto key = std::span(scaled_keys).subspan(static_cast<std::size_t>(j * dim), query.size());
        scores.push_back(round(inner_product_of(query, key)));
        products.push_back(round(inner_product_of(g, vector_of(v, j, dim))));
      }
      std::vector<double> p = exact_coefficients(scores);
      std::ranges::transform(p, p.begin(), round);
      // ATen's CUDA kernel stores g p in the tensor's type (SoftMax.cu, softmax_backward_cuda_out).
      std::vector<double> weighted;
      for (std::size_t n = 0; n < p.size(); ++n) weighted.push_back(round(p[n] * products[n]));
      const double delta = std::accumulate(weighted.begin(), weighted.end(), 0.0);
      for (std::size_t n = 0; n < p.size(); ++n) {
        const std::int64_t j = first + from + static_cast<std::int64_t>(n);
        const double ds = round(weighted[n] - p[n] * delta);
        add(result.dq, row, ds, std::span(scaled_keys).subspan(static_cast<std::size_t>(j * dim), query.size()));
        add(result.dk, j, ds, query);
        add(result.dv, j, p[n], g);
      }
      if (saved == nullptr) continue;
      std::vector<double> out(query.size());
      for (std::size_t n = 0; n < p.size(); ++n) {
        const std::int64_t j = first + from + static_cast<std::int64_t>(n);
        add(out, 0, p[n], vector_of(v, j, dim));
      }
      saved->out.insert(saved->out.end(), out.begin(), out.end());
      const numerics::FilterStatistics statistics = numerics::filter_row(scores);
      saved->lse.push_back(statistics.maximum + std::log1p(statistics.sum_minus_one.value));
    }
  }
  for (double& x : result.dk) x = tensors.scale * round(x);
  return result;
}

std::vector<double> rounded(std::vector<double> values, numerics::Format format) {
  for (double& x : values) x = round_to(format, x);
  return values;
}

double largest_error(const std::vector<double>& got, const std::vector<double>& expected, numerics::Format format) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::fabs(round_to(format, got[i]) - expected[i]));
  }
  return largest;
}

}  // namespace

GradientCase attention_gradient_case(const PublishedTensors& tensors, const std::function<double()>& value,
                                     const std::function<double()>& upstream) {
  const numerics::Format format = tensors.format;
  std::vector<InputTensor> in;
  for (const std::int64_t length : {tensors.queries, tensors.keys, tensors.keys}) {
    in.push_back(attention_input(tensors, length, value));
  }
  const InputTensor g = attention_input(tensors, tensors.queries, upstream);
  Saved saved;
  const Gradients exact = gradients_of(
      tensors, in, g, [](double x) { return x; }, &saved);
  const Gradients unfused = gradients_of(
      tensors, in, g, [&](double x) { return round_to(format, x); }, nullptr);

  GradientCase result;
  CriterionCase& asked = result.criterion_case;
  add_attributes(tensors, asked.call);
  asked.call.op = SOFTCHECK_OP_ATTENTION_BACKWARD;
  asked.call.roles = {Role::query, Role::key, Role::value, Role::out, Role::lse, Role::out_gradient};
  asked.call.scale = tensors.scale;
  asked.call.causal = tensors.causal;
  for (const InputTensor& one : in) asked.call.outputs.push_back({one.place, {}});
  InputTensor out{in[0].place, rounded(std::move(saved.out), format)}, lse{in[0].place, {}};
  lse.place.format = numerics::Format::f32;
  lse.place.shape.pop_back();
  lse.place.strides.clear();
  lse.values = rounded(std::move(saved.lse), numerics::Format::f32);
  asked.call.inputs = {std::move(in[0]), std::move(in[1]), std::move(in[2]), std::move(out), std::move(lse), g};
  asked.row_length = static_cast<std::size_t>(tensors.dim);
  asked.expected = rounded(exact.dq, format);
  asked.others = {{rounded(exact.dk, format), {}}, {rounded(exact.dv, format), {}}};
  result.errors_of_unfused = {largest_error(unfused.dq, asked.expected, format),
                              largest_error(unfused.dk, asked.others[0].expected, format),
                              largest_error(unfused.dv, asked.others[1].expected, format)};
  return result;
}

void ask_gradients(CriterionCase& criterion_case, const std::vector<Comparison>& of_each) {
  criterion_case.comparisons = {of_each[0]};
  criterion_case.others[0].comparisons = {of_each[1]};
  criterion_case.others[1].comparisons = {of_each[2]};
}

}  // namespace softcheck::proptests
