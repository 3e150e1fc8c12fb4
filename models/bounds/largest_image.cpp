#include "models/bounds/largest_image.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

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

}  // namespace softcheck::models
