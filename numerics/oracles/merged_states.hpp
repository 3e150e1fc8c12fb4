#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rows/enclosed_row.hpp"

namespace softcheck::numerics {

/// The base of the log-sum-exps.
enum class LseBase { e, two };

/// The parts of a merge in natural units; empty parts have items of 0.
template <class T>
struct MergedStatesRow {
  RowStatistics<T> statistics;  // of the L_k
  std::vector<T> coefficients;  // (K) w_k
  std::vector<T> deviations;    // (K) max L - L_k
  std::vector<T> magnitudes;    // (K) |L_k|
};

/// The exact merge of partial attention results (O_k, L_k), which are exact inputs: with weights w = softmax(L),
///  O_c = sum_k w_k O_kc,   L = ln sum e^(L_k)   (or log2 sum 2^(L_k)).
/// An empty part has L_k = -inf; its O is not read. If all parts are empty there is no result, and masked= says what a
/// kernel returns.
///
/// error    enclosures at the working precision at construction, as those of EnclosedRow
class MergedStatesOracle {
 public:
  /// lse        (K) finite or -inf, K >= 1
  /// outputs    (K, dimension) row by row, finite for nonempty parts
  /// throws     std::invalid_argument for other numbers, or if the sizes disagree
  MergedStatesOracle(std::span<const double> lse, std::span<const double> outputs, std::size_t dimension,
                     LseBase base = LseBase::e);

  std::size_t parts() const { return lse_.size(); }
  std::size_t dimension() const { return dimension_; }
  LseBase base() const { return base_; }
  std::span<const double> lse() const { return lse_; }
  bool all_empty() const { return row_.fully_masked(); }

  // The following need a nonempty part and throw std::logic_error otherwise.
  Enclosure weight(std::size_t part) const;  // the point 0 for an empty part
  Enclosure output(std::size_t column) const;
  Enclosure logsumexp() const;  // in the base
  /// |O_kc|, 0 for an empty part.
  double magnitude(std::size_t part, std::size_t column) const;
  /// The quantities that the thresholds need. T is UpperBound or Enclosure.
  template <class T>
  MergedStatesRow<T> row(const Contract& contract) const;

 private:
  std::vector<double> lse_, outputs_;
  std::size_t dimension_;
  LseBase base_;
  EnclosedRow row_;
};

/// B16: the thresholds of a merge: B9 for the row L_k, whose scores have only reading errors. Base 2 adds one rounding
/// of the argument and two of the logarithm. Parts may be merged in the contract's order or two at a time (R rescalings
/// are granted). Interpolation, O - sigmoid(L_b - L)(O - O_b), and weights e^(L_k - L) are not covered.
///
/// contract    acc, exp, sum, subnormal, values, input (of O), output (of O)
/// lse         the format of the L_k
template <class T>
class MergedStatesThreshold {
 public:
  /// row   with at least one nonempty part
  MergedStatesThreshold(const Contract& contract, Format lse, LseBase base, const MergedStatesRow<T>& row,
                        Grants grants = Grants::all);

  /// |computed O_c - O_c|.
  ///
  /// outputs   (K) |O_kc|          merged   |O_c|
  ScalarThreshold<T> column(std::span<const T> outputs, const T& merged) const;
  /// The thresholds of attention, whose formulas these are.
  const AttentionThreshold<T>& attention() const { return attention_; }
  /// |computed L - L|, in the base, in an output format.
  ScalarThreshold<T> logsumexp(Format output) const;

 private:
  static AttentionThreshold<T> threshold_of(const Contract& contract, Format lse, LseBase base,
                                            const MergedStatesRow<T>& row, Grants grants);

  LseBase base_;
  AttentionThreshold<T> attention_;
};

}  // namespace softcheck::numerics
