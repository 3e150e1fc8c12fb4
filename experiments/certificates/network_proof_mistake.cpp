#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>

#include "experiments/certificates/certify_model.hpp"
#include "experiments/certificates/collapse.hpp"
#include "experiments/certificates/network_proof.hpp"
#include "experiments/certificates/plain_layers.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double priority_unit = 0x1p-14;
// Larger than the errors of double, and than the checker's rounding to 2^-40 a layer.
constexpr double least_margin_left = 0x1p-10;
constexpr int most_alpha_cells = 256;

// mistake_check.v in plain doubles: the layers after attention, up to GELU, for a alone and for b alone, and the
// mixtures.
class MistakePreview {
 public:
  MistakePreview(const Floats& parameters, const ProofMistake& mistake)
      : head_2_(plain_layer(parameters, Layer::head_2)), other_class_(mistake.other_class) {
    const VectorXd a = encoded(parameters, mistake.odd, mistake.odd_class);
    const VectorXd b = encoded(parameters, mistake.other, mistake.other_class);
    const PlainLayer query_of = plain_layer(parameters, Layer::query_2),
                     key = plain_layer(parameters, Layer::attention_key);
    const VectorXd at = VectorXd::Constant(1, static_cast<double>(mistake.query) * priority_unit);
    const VectorXd query =
        plain_layer(parameters, Layer::attention_query)(query_of(gelu_of(plain_layer(parameters, Layer::query_1)(at))));
    const double difference = query.dot(key(a) - key(b)) / std::sqrt(static_cast<double>(width));
    largest_alpha_ = 1 / (1 + static_cast<double>(mistake.wrong_from - 1) * std::exp(-difference));
    odd_ = behind(parameters, a);
    other_ = behind(parameters, b);
  }

  // The least margin of b's class over so many cells.
  double margin(int cells) const {
    const double half = largest_alpha_ / (2 * cells);
    const VectorXd radius = gelu_slope_bound * half * (odd_ - other_).cwiseAbs();
    const VectorXd off = head_2_.weights.cwiseAbs() * radius;
    double least = INFINITY;
    for (int k = 0; k < cells; ++k) {
      const VectorXd scores = head_2_(gelu_of(other_ + (2 * k + 1) * half * (odd_ - other_)));
      for (int c = 0; c < class_count; ++c) {
        if (c != other_class_) least = std::min(least, scores(other_class_) - off(other_class_) - scores(c) - off(c));
      }
    }
    return least;
  }

 private:
  static VectorXd gelu_of(const VectorXd& x) { return x.unaryExpr(&tanh_gelu); }

  static VectorXd encoded(const Floats& parameters, std::int64_t at, int class_index) {
    VectorXd features = VectorXd::Zero(item_features);
    features(0) = static_cast<double>(at) * priority_unit;
    features(1 + class_index) = 1;
    return gelu_of(plain_layer(parameters, Layer::item_2)(gelu_of(plain_layer(parameters, Layer::item_1)(features))));
  }

  static VectorXd behind(const Floats& parameters, const VectorXd& item) {
    const VectorXd value = plain_layer(parameters, Layer::attention_value)(item);
    return plain_layer(parameters, Layer::head_1)(plain_layer(parameters, Layer::attention_output)(value));
  }

  PlainLayer head_2_;
  int other_class_;
  double largest_alpha_ = 0;
  VectorXd odd_, other_;
};

std::optional<std::int64_t> in_units(double priority) {
  const double units = priority / priority_unit;
  if (units != std::floor(units)) return std::nullopt;
  return static_cast<std::int64_t>(units);
}

}  // namespace

std::optional<ProofMistake> propose_mistake(const Floats& parameters) {
  const numerics::FpEnvironmentGuard environment;
  // The pair that the command's claim model.error shows by default.
  const std::uint64_t longest = ModelOptions{}.kernel_bytes / (std::uint64_t{8} * width);
  const std::optional<CollapseSet> set = find_collapse(NetworkCells(parameters), longest);
  if (!set || !set->right_at_two) return std::nullopt;
  const auto query = in_units(set->query), odd = in_units(set->odd.priority), other = in_units(set->other.priority);
  if (!query || !odd || !other) return std::nullopt;
  ProofMistake mistake{*query, *odd, set->odd.class_index, *other, set->other.class_index, set->wrong_from, 1};
  const MistakePreview preview(parameters, mistake);
  while (preview.margin(mistake.cells) <= least_margin_left) {
    mistake.cells *= 2;
    if (mistake.cells > most_alpha_cells) return std::nullopt;
  }
  return mistake;
}

}  // namespace softcheck::experiments
