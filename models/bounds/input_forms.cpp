#include "models/bounds/input_forms.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "models/bounds/plane_weights.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::models {
using Eigen::ArrayXXd;

namespace {

constexpr std::int64_t block_tokens = 256;
constexpr double rounding = 0x1p-53;

// Largest values in doubles, before any radius.
struct Largest {
  std::vector<double> square;  // of each map: |g|^2
  std::vector<TokenInput> at;
  double reach = 0;  // (|token| + |added|) / sigma
};

class Sweep {
 public:
  Sweep(const TokenTable& table, const std::vector<InputMap>& maps) : table_(table), maps_(maps) {
    const Index n = maps.front().linear.rows(), d = table.width();
    stacked_.resize(n * static_cast<Index>(maps.size()), d);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      stacked_.middleRows(n * static_cast<Index>(i), n) = maps[i].linear;
    }
    added_ = stacked_ * table.added().vectors;
    added_squares_ = table.added().vectors.colwise().squaredNorm();
  }

  Largest start() const { return {std::vector<double>(maps_.size(), 0), std::vector<TokenInput>(maps_.size()), 0}; }

  // std::max would drop a NaN.
  [[noreturn]] static void refuse_overflow() {
    throw std::range_error("largest_images: stored numbers are so large that a square of one overflows");
  }

  void visit(IndexRange tokens, Largest& found) const {
    const CentredVectors block = table_.block(tokens);
    const MatrixXd images = stacked_ * block.vectors;
    const RowVectorXd squares = block.vectors.colwise().squaredNorm();
    const auto d = static_cast<double>(table_.width());
    // (added, tokens): Eigen's columns are contiguous, and a block's tokens are few.
    ArrayXXd inverse = (2.0 * (table_.added().vectors.transpose() * block.vectors)).array();
    inverse.colwise() += added_squares_.transpose().array();
    inverse.rowwise() += squares.array();
    inverse = (inverse / d + table_.epsilon()).max(table_.epsilon()).sqrt().inverse();
    ArrayXXd reach = table_.added().sizes.array().replicate(1, tokens.count);
    reach.rowwise() += block.sizes.transpose().array();
    reach *= inverse;
    const bool has_sizes = squares.allFinite() && inverse.allFinite() && (inverse > 0).all() && reach.allFinite();
    if (!has_sizes) refuse_overflow();
    found.reach = std::max(found.reach, reach.maxCoeff());
    const Index n = maps_.front().linear.rows();
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      const auto of_tokens = images.middleRows(n * static_cast<Index>(i), n);
      const auto of_added = added_.middleRows(n * static_cast<Index>(i), n);
      ArrayXXd value = (2.0 * (of_added.transpose() * of_tokens)).array();
      value.colwise() += of_added.colwise().squaredNorm().transpose().array();
      value.rowwise() += of_tokens.colwise().squaredNorm().array();
      value *= inverse;
      const VectorXd& c = maps_[i].constant;
      ArrayXXd linear = value;
      linear.colwise() += 2 * (of_added.transpose() * c).array();
      linear.rowwise() += 2 * (of_tokens.transpose() * c).transpose().array();
      value = linear * inverse + c.squaredNorm();
      if (!value.allFinite()) refuse_overflow();
      Index added = 0, token = 0;
      const double largest = value.maxCoeff(&added, &token);
      if (!(largest > found.square[i])) continue;
      found.square[i] = largest;
      found.at[i] = {tokens.first + token, added};
    }
  }

  // What |g| can be at most. With u = 2^-53, F >= |M|, W >= (|x_t| + |x_m|) / sigma, |g| <= S = F W + |c|:
  //   centred vectors are off by (d + 4) u of their sizes, their inner products by d u more, so that sigma^2 is off by
  //   at most its share e = (3 d + 16) u (W^2 / d + 1);
  //   M x_t is off by E |x_t|, E = (2 d + 8) u F + radius, and S^2 by 2 S (2 E W + radius of c);
  //   the expansion of |g|^2 is of sums of n products, three deep: (n + 16) u S^2, four times for its four parts.
  // Twice the sum leaves room for products of these small numbers; the last term is what underflows can lose.
  LargestImage certified(std::size_t i, const Largest& found) const {
    const auto d = static_cast<double>(table_.width());
    const auto n = static_cast<double>(maps_[i].linear.rows());
    const Enclosure u(rounding), two(2);
    const Enclosure computed(found.reach * (1 + 0x1p-40));
    const Enclosure share = Enclosure(3 * d + 16) * u * (square(computed) / Enclosure(d) + Enclosure(1)) * two;
    if (!(share.upper_double() < 0x1p-10)) {
      throw std::range_error("largest_images: an input's parts cancel so far that its norm is not certain");
    }
    const Enclosure reach = computed * (Enclosure(1) + share);
    const Eigen::Map<const VectorXd> entries(maps_[i].linear.data(), maps_[i].linear.size());
    const Enclosure norm = Enclosure(numerics::column_norms(entries)(0)) + Enclosure(maps_[i].linear_radius);
    const Enclosure constant =
        Enclosure(numerics::column_norms(maps_[i].constant)(0)) + Enclosure(maps_[i].constant_radius);
    const Enclosure size = norm * reach + constant;
    const Enclosure of_map = Enclosure(2 * d + 8) * u * norm + Enclosure(maps_[i].linear_radius);
    const Enclosure error = two * ((Enclosure(4 * (n + 16)) * u + share) * square(size) +
                                   two * size * (two * of_map * reach + Enclosure(maps_[i].constant_radius))) +
                            Enclosure(0x1p-800);
    return {sqrt(Enclosure(std::max(found.square[i], 0.0)) + error).upper_double(), found.at[i]};
  }

 private:
  const TokenTable& table_;
  const std::vector<InputMap>& maps_;
  MatrixXd stacked_;           // every map's M, one below the other
  MatrixXd added_;             // of positions and types
  RowVectorXd added_squares_;  // |x|^2 of them
};

}  // namespace

std::vector<LargestImage> largest_images(const TokenTable& table, const std::vector<InputMap>& maps, unsigned threads,
                                         const std::function<bool()>& stop) {
  const Sweep sweep(table, maps);
  const std::int64_t blocks = (table.tokens() + block_tokens - 1) / block_tokens;
  Largest all = sweep.start();
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> ended = false;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    const numerics::FpEnvironmentGuard environment;
    Largest found = sweep.start();
    try {
      for (std::int64_t block = next++; block < blocks && !ended; block = next++) {
        if (stop && stop()) ended = true;
        const std::int64_t first = block * block_tokens;
        sweep.visit({first, std::min(block_tokens, table.tokens() - first)}, found);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      ended = true;
    }
    const std::lock_guard lock(mutex);
    all.reach = std::max(all.reach, found.reach);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      // Of equal values the first token's, whatever thread has it.
      const bool earlier = found.square[i] == all.square[i] && found.at[i].token < all.at[i].token;
      if (!(found.square[i] > all.square[i]) && !earlier) continue;
      all.square[i] = found.square[i];
      all.at[i] = found.at[i];
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < threads; ++i) workers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  if (ended) return {};
  std::vector<LargestImage> result;
  for (std::size_t i = 0; i < maps.size(); ++i) result.push_back(sweep.certified(i, all));
  return result;
}

namespace {

// Directions in which a sample says nothing get this share of the mean: L stays well conditioned, so that its roundings
// stay far below a share of 1e-6 of a bound.
constexpr double ridge = 1e-4;

MatrixXd second_moments(const MatrixXd& columns) {
  MatrixXd moments = columns * columns.transpose() / static_cast<double>(std::max<Index>(columns.cols(), 1));
  const double mean = moments.trace() / static_cast<double>(moments.rows());
  moments.diagonal().array() += ridge * mean + 1e-300;
  return moments;
}

MatrixXd root_power(const MatrixXd& symmetric, double exponent) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
  const VectorXd powers = solver.eigenvalues().cwiseMax(1e-300).array().pow(exponent);
  return solver.eigenvectors() * powers.asDiagonal() * solver.eigenvectors().transpose();
}

double largest_norm(const MatrixXd& columns) { return std::sqrt(columns.colwise().squaredNorm().maxCoeff()); }

double product_of(const MatrixXd& l, const MatrixXd& queries, const MatrixXd& keys) {
  return largest_norm(l * queries) * largest_norm(l.transpose().partialPivLu().solve(keys));
}

MatrixXd best_of(const std::vector<MatrixXd>& candidates, const MatrixXd& queries, const MatrixXd& keys) {
  MatrixXd best = MatrixXd::Identity(queries.rows(), queries.rows());
  double least = product_of(best, queries, keys);
  for (const MatrixXd& candidate : candidates) {
    if (!candidate.allFinite()) continue;
    const double value = product_of(candidate, queries, keys);
    if (!(value < least)) continue;
    least = value;
    best = candidate;
  }
  // Of size 1: only the form counts.
  return best / best.cwiseAbs().maxCoeff();
}

// Squares of each plane's part of each column.
MatrixXd plane_squares(const MatrixXd& columns, const std::vector<theory::Plane>& planes) {
  MatrixXd squares(planes.size(), columns.cols());
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto [first, second] = planes[p];
    squares.row(static_cast<Index>(p)) = columns.row(static_cast<Index>(first)).cwiseAbs2();
    if (first != second) squares.row(static_cast<Index>(p)) += columns.row(static_cast<Index>(second)).cwiseAbs2();
  }
  return squares;
}

// Downhill plane by plane on the sample's maxima.
VectorXd polished(VectorXd weights, const MatrixXd& queries, const MatrixXd& keys) {
  Eigen::RowVectorXd of_queries = weights.transpose() * queries, of_keys = weights.cwiseInverse().transpose() * keys;
  double least = of_queries.maxCoeff() * of_keys.maxCoeff();
  for (double step = 0.5; step > 0.05; step /= 2) {
    for (Index p = 0; p < weights.size(); ++p) {
      for (const double factor : {std::exp(step), std::exp(-step)}) {
        const double next = weights(p) * factor;
        const Eigen::RowVectorXd q = of_queries + (next - weights(p)) * queries.row(p);
        const Eigen::RowVectorXd k = of_keys + (1 / next - 1 / weights(p)) * keys.row(p);
        const double value = q.maxCoeff() * k.maxCoeff();
        if (!(value < least)) continue;
        least = value;
        of_queries = q;
        of_keys = k;
        weights(p) = next;
        break;
      }
    }
  }
  return weights;
}

AffineImage moments_image(const MatrixXd& columns) {
  const MatrixXd moments = second_moments(columns);
  return {symmetrised(BallMatrix::exactly(moments)), BallMatrix::exactly(MatrixXd::Zero(columns.rows(), 1)), 1};
}

double norm_of_all(const MatrixXd& matrix) { return frobenius_upper(matrix); }

}  // namespace

DualPair dual_pair(const MatrixXd& query) {
  DualPair pair{query, query.transpose().inverse(), 0};
  const Index n = query.rows();
  if (!pair.key.allFinite()) throw std::range_error("dual_pair: the form has no inverse");
  const BallMatrix product = BallMatrix::exactly(query.transpose()) * BallMatrix::exactly(pair.key);
  const MatrixXd off = numerics::raised((product.middle - MatrixXd::Identity(n, n)).cwiseAbs() + product.radius, 4);
  const Enclosure residual(norm_of_all(off));
  if (!(residual.upper_double() < 0.5)) throw std::range_error("dual_pair: the form's inverse is not certain");
  // L^-T - K = L^-T (I - L^T K), hence its norm is at most |K| r / (1 - r).
  pair.key_radius = (Enclosure(norm_of_all(pair.key)) * residual / (Enclosure(1) - residual)).upper_double();
  return pair;
}

InputMap input_map(const HeadMap& map) {
  return {map.linear.middle.transpose(), norm_of_all(map.linear.radius), map.constant.middle.col(0),
          norm_of_all(map.constant.radius)};
}

InputMap mapped(const InputMap& map, const MatrixXd& l, double radius, const VectorXd& centre) {
  const auto n = static_cast<double>(l.rows());
  const VectorXd constant = map.constant - centre;
  InputMap result{l * map.linear, 0, l * constant, 0};
  const Enclosure norm(norm_of_all(l)), off(radius), unit(0x1p-53);
  // A product of n numbers is off by n u of its factors' norms, the difference before it by u of its parts.
  const auto radius_of = [&](double size, double of_map) {
    return ((off + Enclosure(2 * n + 4) * unit * norm) * (Enclosure(size) + Enclosure(of_map)) +
            norm * Enclosure(of_map))
        .upper_double();
  };
  result.linear_radius = radius_of(norm_of_all(map.linear), map.linear_radius);
  result.constant_radius = radius_of(norm_of_all(map.constant) + norm_of_all(centre), map.constant_radius);
  return result;
}

MatrixXd plane_form(const MatrixXd& queries, const MatrixXd& keys, const std::vector<theory::Plane>& planes) {
  const MatrixXd of_queries = plane_squares(queries, planes), of_keys = plane_squares(keys, planes);
  const PlaneWeights found = search_plane_weights(moments_image(queries), moments_image(keys), planes);
  std::vector<MatrixXd> candidates;
  for (const VectorXd& roots : {found.start, found.better, VectorXd(VectorXd::Ones(queries.rows()))}) {
    // Queries are divided by the roots.
    VectorXd weights(planes.size());
    for (std::size_t p = 0; p < planes.size(); ++p) {
      const double root = roots(static_cast<Index>(planes[p].first));
      weights(static_cast<Index>(p)) = 1 / (root * root);
    }
    weights = polished(weights, of_queries, of_keys);
    VectorXd diagonal(queries.rows());
    for (std::size_t p = 0; p < planes.size(); ++p) {
      diagonal(static_cast<Index>(planes[p].first)) = std::sqrt(weights(static_cast<Index>(p)));
      diagonal(static_cast<Index>(planes[p].second)) = std::sqrt(weights(static_cast<Index>(p)));
    }
    candidates.emplace_back(diagonal.asDiagonal());
  }
  return best_of(candidates, queries, keys);
}

MatrixXd full_form(const MatrixXd& queries, const MatrixXd& keys) {
  const MatrixXd of_queries = second_moments(queries), of_keys = second_moments(keys);
  // L^T L = S: the keys' moments, the inverse of the queries', and the mean of both in the geometry of such matrices.
  const MatrixXd root = root_power(of_keys, 0.5), inverse = root_power(of_keys, -0.5);
  const MatrixXd middle =
      root_power(symmetrised(BallMatrix::exactly(inverse * root_power(of_queries, -1) * inverse)).middle, 0.5);
  const MatrixXd mean = symmetrised(BallMatrix::exactly(root * middle * root)).middle;
  return best_of({root, root_power(of_queries, -0.5), root_power(mean, 0.5)}, queries, keys);
}

}  // namespace softcheck::models
