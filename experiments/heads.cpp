#include "experiments/heads.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "experiments/heads.inl"

namespace softcheck::experiments {
namespace {

constexpr std::array kinds = [] {
  std::array<HeadKind, head_words.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<HeadKind>(i);
  return all;
}();

}  // namespace

std::span<const HeadKind> head_kinds() { return kinds; }

std::string to_string(HeadKind kind) { return std::string(head_words[static_cast<std::size_t>(kind)]); }

HeadKind parse_head(const std::string& word) {
  std::string known;
  for (const HeadKind kind : kinds) {
    if (word == to_string(kind)) return kind;
    known += (known.empty() ? "" : ", ") + to_string(kind);
  }
  throw std::invalid_argument("head: need one of " + known + ", got '" + word + "'");
}

Head head_of(HeadKind kind) {
  return {to_string(kind), [kind](std::span<const float> logits, float offset, std::span<float> coefficients) {
            std::vector<double> x(logits.begin(), logits.end()), alpha(logits.size());
            if (sees_offset(kind)) {
              for (double& logit : x) logit += offset;
            }
            head_coefficients(kind, x.data(), static_cast<int>(x.size()), alpha.data());
            std::ranges::transform(alpha, coefficients.begin(), [](double a) { return static_cast<float>(a); });
          }};
}

}  // namespace softcheck::experiments
