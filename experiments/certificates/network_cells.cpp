#include "experiments/certificates/network_cells.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "experiments/certificates/gelu.hpp"

namespace softcheck::experiments {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using numerics::Enclosure;

namespace {

// 1/sqrt(128), with the error of its nearest double.
BallMatrix scaled(const BallMatrix& matrix) {
  constexpr double inverse_root = 0x1.6a09e667f3bcdp-4;
  const MatrixXd unit = MatrixXd::Ones(matrix.rows(), matrix.cols());
  return entrywise_product(matrix, {inverse_root * unit, 0x1p-56 * unit});
}

BallMatrix in_every_column(const VectorXd& column, Index columns) {
  return BallMatrix::exactly(column.replicate(1, columns));
}

// Comparisons with NaN would be false, and so skip it.
void require_finite(bool finite) {
  if (!finite) throw std::range_error("NetworkCells: the activations of this network leave the range of double");
}

CurveCells require_finite(CurveCells curve) {
  require_finite(curve.centre.all_finite() && curve.slope.all_finite());
  return curve;
}

// Upper bounds of |v . s| over the balls, column by column.
VectorXd products_upper(const BallMatrix& v, const BallMatrix& s) {
  const VectorXd middle = v.middle.cwiseProduct(s.middle).colwise().sum().cwiseAbs().transpose();
  const VectorXd size_v = numerics::column_norms(v.middle), radius_v = numerics::column_norms(v.radius);
  const VectorXd size_s = numerics::column_norms(s.middle), radius_s = numerics::column_norms(s.radius);
  const VectorXd radius = size_v.cwiseProduct(numerics::rounding_share(v.rows()) * size_s + radius_s) +
                          radius_v.cwiseProduct(size_s + radius_s);
  return numerics::raised(middle + radius, 8);
}

Enclosure square_norm(const BallMatrix& x, Index column) {
  Enclosure sum;
  for (Index i = 0; i < x.rows(); ++i) sum += square(x(i, column));
  return sum;
}

}  // namespace

CellGrid unit_cells(int count) {
  CellGrid grid{VectorXd(count + 2), VectorXd::Zero(count + 2)};
  for (int j = 0; j < count; ++j) {
    grid.at(j) = (2 * j + 1) / (2.0 * count);
    grid.half(j) = 1 / (2.0 * count);
  }
  grid.at(count) = 0;
  grid.at(count + 1) = 1;
  return grid;
}

CellGrid points(std::vector<double> at) {
  const auto count = static_cast<Index>(at.size());
  return {Eigen::Map<const VectorXd>(at.data(), count), VectorXd::Zero(count)};
}

NetworkCells::NetworkCells(const Floats& parameters) {
  const numerics::FpEnvironmentGuard environment;
  if (parameters.size() != parameter_count) {
    throw std::invalid_argument("NetworkCells: need " + std::to_string(parameter_count) + " parameters, got " +
                                std::to_string(parameters.size()));
  }
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (const LayerPlace& layer : layers) {
    const Eigen::Map<const RowMajor> weights(parameters.data() + layer.weights, layer.outputs, layer.inputs);
    const Eigen::Map<const Eigen::VectorXf> biases(parameters.data() + layer.biases(), layer.outputs);
    weights_.push_back(BallMatrix::exactly(weights.cast<double>()));
    biases_.push_back(BallMatrix::exactly(biases.cast<double>()));
  }
  projection_ = weights(Layer::attention_query) * weights(Layer::query_2);
  projection_constant_ = weights(Layer::attention_query) * biases(Layer::query_2) + biases(Layer::attention_query);
  MatrixXd key(width, width + 1);
  key << weights(Layer::attention_key).middle, biases(Layer::attention_key).middle;
  const BallMatrix transposed = BallMatrix::exactly(key.transpose());
  fold_ = scaled(transposed * projection_);
  fold_constant_ = scaled(transposed * projection_constant_);
}

std::vector<int> classes_of_cells(Index cells) {
  std::vector<int> classes;
  for (int c = 0; c < class_count; ++c) classes.insert(classes.end(), static_cast<std::size_t>(cells), c);
  return classes;
}

CurveCells NetworkCells::items(const CellGrid& priorities) const {
  return items({priorities.at.replicate(class_count, 1), priorities.half.replicate(class_count, 1)},
               classes_of_cells(priorities.at.size()));
}

CurveCells NetworkCells::items(const CellGrid& priorities, const std::vector<int>& classes) const {
  const Index cells = priorities.at.size();
  const BallMatrix& first = weights(Layer::item_1);
  const VectorXd of_priority = first.middle.col(0);
  MatrixXd of_class(width, cells);
  for (Index j = 0; j < cells; ++j) of_class.col(j) = first.middle.col(1 + classes.at(static_cast<std::size_t>(j)));

  const BallMatrix along_priority = in_every_column(of_priority, cells);
  const BallMatrix at = BallMatrix::exactly(priorities.at.transpose().replicate(width, 1));
  const BallMatrix z1 =
      add_to_columns(entrywise_product(along_priority, at) + BallMatrix::exactly(of_class), biases(Layer::item_1));
  const BallMatrix z2 = add_to_columns(weights(Layer::item_2) * gelu(z1), biases(Layer::item_2));
  const BallMatrix slope1 = entrywise_product(gelu_slope(widened(z1, along_priority, priorities.half)), along_priority);
  const BallMatrix slope2 = weights(Layer::item_2) * slope1;
  const BallMatrix slope = entrywise_product(gelu_slope(widened(z2, slope2, priorities.half)), slope2);
  return require_finite({priorities.at, priorities.half, gelu(z2), slope});
}

CurveCells NetworkCells::along(const CellGrid& queries, const BallMatrix& matrix, const BallMatrix& constant) const {
  const Index cells = queries.at.size();
  const BallMatrix along_query = in_every_column(weights(Layer::query_1).middle.col(0), cells);
  const BallMatrix at = BallMatrix::exactly(queries.at.transpose().replicate(width, 1));
  const BallMatrix z = add_to_columns(entrywise_product(along_query, at), biases(Layer::query_1));
  const BallMatrix slope = entrywise_product(gelu_slope(widened(z, along_query, queries.half)), along_query);
  return require_finite({queries.at, queries.half, add_to_columns(matrix * gelu(z), constant), matrix * slope});
}

CurveCells NetworkCells::queries_encoded(const CellGrid& queries) const {
  return along(queries, weights(Layer::query_2), biases(Layer::query_2));
}
CurveCells NetworkCells::queries_projected(const CellGrid& queries) const {
  return along(queries, projection_, projection_constant_);
}
CurveCells NetworkCells::queries_folded(const CellGrid& queries) const { return along(queries, fold_, fold_constant_); }

Range largest_square_norm(const CurveCells& curve) {
  // ||v + x eta s||^2 = ||v||^2 + 2 x eta v.s + (x eta)^2 ||s||^2.
  const VectorXd size = numerics::column_norms(curve.centre.middle) + numerics::column_norms(curve.centre.radius);
  const VectorXd reach =
      curve.half.cwiseProduct(numerics::column_norms(curve.slope.middle) + numerics::column_norms(curve.slope.radius));
  const VectorXd upper = numerics::raised(
      size.cwiseAbs2() + 2 * curve.half.cwiseProduct(products_upper(curve.centre, curve.slope)) + reach.cwiseAbs2(),
      16);
  require_finite(upper.allFinite());
  Index best = 0;
  size.maxCoeff(&best);
  return {square_norm(curve.centre, best).lower_double(), upper.maxCoeff()};
}

Range largest_square_distance(const CurveCells& curve) {
  // v_i + x eta_i s_i less v_j + y eta_j s_j: ||v_i - v_j||^2 + 2 x eta_i (v_i - v_j).s_i - 2 y eta_j (v_i - v_j).s_j,
  // and the square of the rest.
  const BallMatrix gram = inner_products(curve.centre, curve.centre);
  const BallMatrix turned = inner_products(curve.centre, curve.slope);  // v_i . s_j
  const VectorXd reach = numerics::raised(
      curve.half.cwiseProduct(numerics::column_norms(curve.slope.middle) + numerics::column_norms(curve.slope.radius)),
      8);
  require_finite(gram.all_finite() && turned.all_finite() && reach.allFinite());
  Range range;
  double largest = -1;
  Index first = 0, second = 0;
  for (Index j = 0; j < curve.count(); ++j) {
    for (Index i = 0; i <= j; ++i) {
      const double centre = gram.middle(i, i) + gram.middle(j, j) - 2 * gram.middle(i, j);
      const double sizes = gram.middle(i, i) + gram.middle(j, j) + 2 * std::fabs(gram.middle(i, j));
      const double moved_i = curve.half(i) * (std::fabs(turned.middle(i, i) - turned.middle(j, i)) +
                                              turned.radius(i, i) + turned.radius(j, i));
      const double moved_j = curve.half(j) * (std::fabs(turned.middle(i, j) - turned.middle(j, j)) +
                                              turned.radius(i, j) + turned.radius(j, j));
      const double sum = reach(i) + reach(j);
      const double rest =
          gram.radius(i, i) + gram.radius(j, j) + 2 * gram.radius(i, j) + 2 * (moved_i + moved_j) + sum * sum;
      // At most 20 roundings, each of a part of sizes + rest.
      range.upper = std::max(range.upper, centre + rest + numerics::rounding_share(32) * (sizes + rest));
      if (centre > largest) {
        largest = centre;
        first = i;
        second = j;
      }
    }
  }
  Enclosure square_distance;
  for (Index row = 0; row < curve.dimension(); ++row) {
    square_distance += square(curve.centre(row, first) - curve.centre(row, second));
  }
  range.lower = square_distance.lower_double();
  require_finite(std::isfinite(range.upper));
  return range;
}

}  // namespace softcheck::experiments
