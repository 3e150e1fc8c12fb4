#include "proptests/generators/attention/attention_second.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {
namespace {

// FNV-1a over whole numbers; the high bits mix best.
std::uint64_t hash_of(std::span<const double> numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const double x : numbers) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

bool is_of_second_map(std::size_t element, std::size_t dim) { return dim > 1 && element % 2 == 1; }

TwoMaps two_maps(std::span<const double> vectors, std::size_t dim, numerics::Format format) {
  static constexpr std::array<double, 8> factors{1, -1, 0.5, 1, -0.5, 0, -1, 1};
  const auto is_nan = [](double x) { return std::isnan(x); };
  TwoMaps maps{{vectors.begin(), vectors.end()}, std::vector<double>(vectors.size())};
  for (std::size_t at = 0; at < vectors.size(); at += dim) {
    const std::span<double> one = std::span(maps.first).subspan(at, dim),
                            other = std::span(maps.second).subspan(at, dim);
    const bool one_nan = dim > 1 && std::ranges::count_if(one, is_nan) == 1;
    const auto nan_at = static_cast<std::size_t>(std::ranges::find_if(one, is_nan) - one.begin());
    if (one_nan) one[nan_at] = 0;
    const double factor = factors[hash_of(one) % factors.size()];
    for (std::size_t t = 0; t < dim; ++t) other[t] = factor * one[(t + 1) % dim];
    if (std::fabs(factor) == 0.5) {  // the other products are exact
      for (double& x : other) x = numerics::round_to(format, x);
    }
    if (one_nan) (is_of_second_map(nan_at, dim) ? other : one)[nan_at] = numerics::nan;
  }
  return maps;
}

std::vector<double> usual_lambdas(const AttentionCase& a) {
  // Seven, so that an index of heads that wraps at a power of two reads another number.
  static constexpr std::array<double, 7> values{0.8, 0.2, 0.5, 1, 0.355, -0.25, 1.5};
  const numerics::Format format = scalars_of(a.format);
  const std::size_t first = hash_of(std::span(&a.scale, 1)) % values.size();
  std::vector<double> lambdas;
  for (std::size_t h = 0; h < a.shape.heads(); ++h) {
    const std::size_t other = a.attributes.one_lambda ? 0 : h;
    lambdas.push_back(numerics::round_to(format, values[(first + other) % values.size()]));
  }
  return lambdas;
}

}  // namespace softcheck::proptests
