#include "proptests/properties/normed_sequence.hpp"

#include <cmath>
#include <optional>

#include "proptests/generators/matrices/eigen_matrix.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

constexpr double most_spread = 500;
constexpr double long_input = 0x1p+12;  // the norm's epsilon is small compared to its square

// W diag(g); for LayerNorm each row minus its mean.
Eigen::MatrixXd folded(const theory::NormedHead& head, const Eigen::MatrixXd& weights) {
  Eigen::MatrixXd result = weights * head.gain.asDiagonal();
  if (head.norm == theory::Norm::layer_norm) result.colwise() -= result.rowwise().mean().eval();
  return result;
}

std::optional<NormedSequence> worst_of(const theory::NormedHead& head) {
  constexpr int steps = 32;
  const Eigen::MatrixXd query = folded(head, head.query), key = folded(head, head.key);
  const Eigen::VectorXd offset = head.query * head.shift + head.query_bias;
  const double radius = std::sqrt(static_cast<double>(head.gain.size()));
  Eigen::VectorXd z = query.row(0).transpose();
  for (int step = 0; step < steps; ++step) {
    const Eigen::VectorXd next = query.transpose() * (key * (key.transpose() * (query * z + offset)));
    if (!(next.norm() > 0)) break;
    z = next * (radius / next.norm());
  }
  const Eigen::VectorXd seen = key.transpose() * (query * z + offset);
  if (!(seen.norm() > 0)) return std::nullopt;
  NormedSequence result{head, long_input * shortened(z), Eigen::MatrixXd(2, seen.size())};
  result.items.row(0) = long_input * shortened(seen / seen.norm()).transpose();
  result.items.row(1) = -result.items.row(0);
  return result;
}

}  // namespace

std::vector<NormedSequence> normed_sequences(const NormedHeadCase& head_case) {
  theory::NormedHead head = normed_head(head_case);
  while (theory::normalised_spread(head) > most_spread) head.scale /= 2;
  const Eigen::MatrixXd items = to_eigen(head_case.inputs);
  std::vector<NormedSequence> result{{head, items.bottomRows(1).transpose(), items}};
  if (auto worst = worst_of(head)) result.push_back(std::move(*worst));
  return result;
}

}  // namespace softcheck::proptests
