#include "experiments/certificates/network_proof.hpp"

#include <mpfr.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "experiments/certificates/plain_layers.hpp"
#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// The units of the checker: activations, weights, bounds (fixed_point.v, matrix_norms.v, spread_check.v).
constexpr double activation_unit = 0x1p-14, weight_unit = 0x1p-16, bound_unit = 0x1p-10;
constexpr std::int64_t full_priority = std::int64_t{1} << 14;
// The checker's additions to an operator norm for rounded weights, and to the radius of a ball in each layer.
constexpr double rounded_weights = 64 * weight_unit;
constexpr double dense_share = 9 * activation_unit, gelu_share = 62 * activation_unit;
// How far above the suprema the cells may end, relatively: fewer cells take Coq less time.
constexpr double allowed_excess = 0.03;

// gram_above and frobenius_above, rounding included.
double gram_norm(const MatrixXd& a) { return std::sqrt((a * a.transpose()).norm()) + rounded_weights + weight_unit; }
double frobenius_norm(const MatrixXd& a) { return a.norm() + rounded_weights + weight_unit; }

// The radius after an affine layer and after GELU (ball_layers.v).
double behind_dense(double sigma, double radius, double size) {
  return sigma * radius + rounded_weights * size + dense_share;
}
double behind_gelu(double radius) { return gelu_slope_bound * radius + gelu_share; }

struct PlainBall {
  VectorXd centre;
  double radius = 0;
};

class ItemBranch {
 public:
  explicit ItemBranch(const Floats& parameters)
      : first_(plain_layer(parameters, Layer::item_1)),
        second_(plain_layer(parameters, Layer::item_2)),
        slope_of_first_(frobenius_norm(first_.weights.col(0))),
        slope_of_second_(gram_norm(second_.weights)) {}

  PlainBall ball(int class_index, const ProofCell& cell) const {
    const double at = static_cast<double>(cell.at) * activation_unit;
    const VectorXd z = first_.weights.col(0) * at + first_.weights.col(1 + class_index) + first_.biases;
    const VectorXd hidden = z.unaryExpr(&tanh_gelu);
    const double half = static_cast<double>(cell.half) * activation_unit;
    const double behind_first = behind_gelu(behind_dense(slope_of_first_, half, std::fabs(at)));
    return {second_(hidden).unaryExpr(&tanh_gelu),
            behind_gelu(behind_dense(slope_of_second_, behind_first, hidden.norm()))};
  }

 private:
  PlainLayer first_, second_;
  double slope_of_first_, slope_of_second_;
};

// The items on a grid of priorities, and the largest distance of each from any other.
struct ItemGrid {
  static constexpr std::int64_t step = 64;
  static constexpr Index points = full_priority / step + 1;
  MatrixXd items;  // (width, classes * points)
  VectorXd farthest;
  double largest_norm = 0;
  double largest_distance = 0;
};

ItemGrid item_grid(const ItemBranch& branch) {
  ItemGrid grid;
  grid.items.resize(width, class_count * ItemGrid::points);
  for (int c = 0; c < class_count; ++c) {
    for (Index i = 0; i < ItemGrid::points; ++i) {
      grid.items.col(c * ItemGrid::points + i) = branch.ball(c, {i * ItemGrid::step, 0}).centre;
    }
  }
  const VectorXd squares = grid.items.colwise().squaredNorm();
  grid.farthest.resize(squares.size());
  for (Index i = 0; i < squares.size(); ++i) {
    const VectorXd distances = squares.array() + squares(i) - 2 * (grid.items.transpose() * grid.items.col(i)).array();
    grid.farthest(i) = std::sqrt(std::max(0.0, distances.maxCoeff()));
  }
  grid.largest_norm = std::sqrt(squares.maxCoeff());
  grid.largest_distance = grid.farthest.maxCoeff();
  return grid;
}

// From 0 to 1, each cell as wide as its ball allows.
std::vector<ProofCell> cells_of_class(const ItemBranch& branch, const ItemGrid& grid, int c) {
  const double least_radius = branch.ball(c, {full_priority, 0}).radius;
  const double norm_target = grid.largest_norm * (1 + allowed_excess) + least_radius;
  const double distance_target = grid.largest_distance * (1 + allowed_excess) + 2 * least_radius;
  const auto fits = [&](const ProofCell& cell) {
    const PlainBall ball = branch.ball(c, cell);
    const Index near = c * ItemGrid::points + (cell.at + ItemGrid::step / 2) / ItemGrid::step;
    return ball.centre.norm() + ball.radius <= norm_target && grid.farthest(near) + 2 * ball.radius <= distance_target;
  };
  std::vector<ProofCell> cells;
  std::int64_t reached = -1;
  while (reached < full_priority) {
    // At least eight units, even if the checker's bounds then exceed the targets.
    std::int64_t half = 8;
    const auto cell_of = [&](std::int64_t h) { return ProofCell{std::min(reached + h, full_priority), h}; };
    for (std::int64_t wider = half + half / 4; reached + 2 * half < full_priority && fits(cell_of(wider));
         wider += wider / 4 + 1) {
      half = wider;
    }
    cells.push_back(cell_of(half));
    reached = cells.back().at + cells.back().half;
  }
  return cells;
}

struct ItemSuprema {
  double norm = 0;
  double distance = 0;
};

ItemSuprema suprema_of_cells(const ItemBranch& branch, const std::vector<std::vector<ProofCell>>& cells) {
  std::vector<PlainBall> balls;
  for (int c = 0; c < class_count; ++c) {
    for (const ProofCell& cell : cells.at(static_cast<std::size_t>(c))) balls.push_back(branch.ball(c, cell));
  }
  ItemSuprema suprema;
  for (const PlainBall& a : balls) {
    suprema.norm = std::max(suprema.norm, a.centre.norm() + a.radius);
    for (const PlainBall& b : balls) {
      suprema.distance = std::max(suprema.distance, (a.centre - b.centre).norm() + a.radius + b.radius);
    }
  }
  return suprema;
}

double query_norm(const Floats& parameters) {
  const PlainLayer first = plain_layer(parameters, Layer::query_1), second = plain_layer(parameters, Layer::query_2);
  const VectorXd hidden = (first.weights.col(0) * 0.5 + first.biases).unaryExpr(&tanh_gelu);
  const double behind_first = behind_gelu(behind_dense(frobenius_norm(first.weights), 0.5, 0.5));
  return second(hidden).norm() + behind_dense(frobenius_norm(second.weights), behind_first, hidden.norm());
}

std::int64_t in_bound_units(double bound) {
  // The checker's integers round up by less than this share.
  const double raised = bound * (1 + 0x1p-12) / bound_unit;
  if (!(raised < 0x1p30)) throw std::range_error("propose_claims: need a spread of logits below 2^20");
  return static_cast<std::int64_t>(std::ceil(raised));
}

// A number of mpfr's.
class LongReal {
 public:
  explicit LongReal(mpfr_prec_t bits) { mpfr_init2(value_, bits); }
  ~LongReal() { mpfr_clear(value_); }
  LongReal(const LongReal&) = delete;
  LongReal& operator=(const LongReal&) = delete;
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

mpfr_prec_t bits_of_length(std::int64_t folded) {
  return static_cast<mpfr_prec_t>(static_cast<double>(folded) * bound_unit * 1.4427) + 200;
}

// floor(1 + 9 e^D) + 1.
void set_length(ProofClaims& claims) {
  LongReal length(bits_of_length(claims.folded));
  mpfr_set_si_2exp(length.get(), claims.folded, -10, MPFR_RNDN);
  mpfr_exp(length.get(), length.get(), MPFR_RNDN);
  mpfr_mul_ui(length.get(), length.get(), 9, MPFR_RNDN);
  mpfr_add_ui(length.get(), length.get(), 2, MPFR_RNDN);
  mpfr_floor(length.get(), length.get());
  char* digits = nullptr;
  if (mpfr_asprintf(&digits, "%.0Rf", length.get()) < 0)
    throw std::range_error("propose_claims: a length without digits");
  claims.length = digits;
  mpfr_free_str(digits);
  mpfr_log10(length.get(), length.get(), MPFR_RNDU);
  claims.log10_length = mpfr_get_d(length.get(), MPFR_RNDU);
}

// The least of 1/2 and (1 + D) r / (1 + r), r = (n - 1) e^-D, less 2^-30 of it.
void set_floor(ProofClaims& claims) {
  if (claims.items < 2) return;
  LongReal spread(128), ratio(128), value(128);
  mpfr_set_si_2exp(spread.get(), claims.folded, -10, MPFR_RNDN);
  mpfr_neg(ratio.get(), spread.get(), MPFR_RNDN);
  mpfr_exp(ratio.get(), ratio.get(), MPFR_RNDN);
  mpfr_mul_ui(ratio.get(), ratio.get(), claims.items - 1, MPFR_RNDN);
  mpfr_add_ui(value.get(), ratio.get(), 1, MPFR_RNDN);
  mpfr_div(value.get(), ratio.get(), value.get(), MPFR_RNDN);
  mpfr_add_ui(spread.get(), spread.get(), 1, MPFR_RNDN);
  mpfr_mul(value.get(), value.get(), spread.get(), MPFR_RNDN);
  if (mpfr_cmp_d(value.get(), 0.5) > 0) mpfr_set_d(value.get(), 0.5, MPFR_RNDN);
  long exponent = 0;
  const double share = mpfr_get_d_2exp(&exponent, value.get(), MPFR_RNDD);
  claims.floor_mantissa = static_cast<std::int64_t>(std::floor(std::ldexp(share * (1 - 0x1p-30), 40)));
  claims.floor_bits = 40 - exponent;
}

}  // namespace

double product_bound(const ProofClaims& claims) { return static_cast<double>(claims.product) * bound_unit; }
double folded_bound(const ProofClaims& claims) { return static_cast<double>(claims.folded) * bound_unit; }
double entropy_floor(const ProofClaims& claims) {
  return std::ldexp(static_cast<double>(claims.floor_mantissa), -static_cast<int>(claims.floor_bits));
}

ProofClaims propose_claims(const Floats& parameters, std::uint64_t items) {
  const ItemBranch branch(parameters);
  const ItemGrid grid = item_grid(branch);
  ProofClaims claims;
  claims.items = items;
  for (int c = 0; c < class_count; ++c) claims.cells.push_back(cells_of_class(branch, grid, c));
  const ItemSuprema item = suprema_of_cells(branch, claims.cells);

  const PlainLayer query = plain_layer(parameters, Layer::attention_query),
                   key = plain_layer(parameters, Layer::attention_key);
  const double sigma_query = gram_norm(query.weights), sigma_key = gram_norm(key.weights);
  const double sigma_joint =
      gram_norm(key.weights.transpose() * query.weights) + (sigma_query + sigma_key) * rounded_weights;
  const double bias = query.biases.norm() + 7 * weight_unit;
  const double joint_bias =
      (key.weights.transpose() * query.biases).norm() + rounded_weights * bias + (6 * sigma_key + 1) * weight_unit;
  const double of_query = query_norm(parameters), root = std::sqrt(static_cast<double>(width));
  claims.product = in_bound_units(2 / root * (sigma_query * of_query + bias) * sigma_key * item.norm);
  claims.folded = in_bound_units((sigma_joint * of_query + joint_bias) / root * item.distance);
  set_length(claims);
  set_floor(claims);
  claims.mistake = propose_mistake(parameters);
  return claims;
}

}  // namespace softcheck::experiments
