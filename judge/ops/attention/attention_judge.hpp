#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// The op, contract and formats of judged attention.
struct AttentionTask {
  Op op = Op::attention;
  numerics::Contract contract;                       // its output is the format of out
  numerics::Format scalars = numerics::Format::f32;  // of lse and entropy
};

/// One query against n keys, row-major. Masked keys and values are not read.
struct AttentionRow {
  std::span<const double> query;   // (d)
  std::span<const double> keys;    // (n, d)
  std::span<const double> values;  // (n, dv)
  std::size_t value_size = 0;      // dv
  double scale = 1;
  std::vector<std::uint8_t> visible;  // (n)
  // The ABI's softcap, slopes, bias and sinks, if the call has them.
  double softcap = 0;
  double slope = 0;
  std::vector<double> distances = {};  // (n) |p - j|, if slope is not 0
  std::vector<double> bias = {};       // (n) or empty
  std::optional<double> sink = {};     // one more item after the keys; its value is 0
  double sigmoid_bias = 0;             // of sigmoid attention
  // Of a linear layer's loss: the key of the label, whose score the loss takes from the log-sum-exp.
  std::optional<std::size_t> label = {};

  // Of differential attention: the query and the keys of the other map, and the factor of its output.
  std::span<const double> second_query = {}, second_keys = {};
  double lambda = 0;

  // The dropout: 1 for each kept key, 0 for the others (n), or empty; and the factor of the kept weights.
  std::vector<double> kept = {};
  double dropout_scale = 1;

  // What spans of numbers that no case holds point into.
  std::vector<std::shared_ptr<const std::vector<double>>> numbers = {};

  /// The row of the other map.
  AttentionRow second() const;
  bool has_terms() const { return softcap != 0 || slope != 0 || !bias.empty(); }
  /// The factor of key j's weight.
  double factor(std::size_t j) const { return kept.empty() ? 1 : kept[j] * dropout_scale; }
};

/// A kernel's results for one query.
struct AttentionValues {
  std::span<const double> out;  // (dv)
  std::optional<double> lse;
  std::optional<double> entropy;
};

/// Judges one query by the thresholds of the contract (numerics/rounding/rounding_attention.hpp, B9 with B10). Returns
/// one finding per claim, for the value that used most of its threshold. Long double with certified errors decides
/// nearly all values, enclosures the rest.
///
/// Claims: kernel.attention.output, .lse and .entropy, or those of kernel.adaptive_attention,
/// kernel.sigmoid_attention or kernel.differential_attention; kernel.masked_row for a query whose keys are all masked.
RowVerdicts judge_attention(const AttentionTask& task, const AttentionRow& row, const AttentionValues& got);

}  // namespace softcheck::proptests
