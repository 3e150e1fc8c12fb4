#include "experiments/heads.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "experiments/heads.inl"

namespace softcheck::experiments {
namespace {

constexpr std::array kinds{HeadKind::softmax, HeadKind::log_n,     HeadKind::top_k,  HeadKind::sink,
                           HeadKind::sigmoid, HeadKind::sparsemax, HeadKind::entmax, HeadKind::softpick};
constexpr std::array words{"softmax", "log-n", "top-k", "sink", "sigmoid", "sparsemax", "entmax", "softpick"};

}  // namespace

std::span<const HeadKind> head_kinds() { return kinds; }

std::string to_string(HeadKind kind) {
  return words[static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin())];
}

HeadKind parse_head(const std::string& word) {
  std::string known;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) return kinds[i];
    known += std::string(i == 0 ? "" : ", ") + words[i];
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
