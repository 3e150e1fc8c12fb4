#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {

/// A compact tensor in an ordinary allocation: a stray read finds other data instead of crashing.
///
/// format   nothing: integers of integer_bits
TensorPlace plain_place(std::optional<numerics::Format> format, std::vector<std::int64_t> shape, int integer_bits = 32);

/// softmax of scores. numerics/filter/row_filter.hpp certifies it to about 2^-47, exact compared to a published
/// tolerance.
std::vector<double> exact_coefficients(const std::vector<double>& scores, double theta = 1);

/// A matrix of logits as a published test makes it.
struct LogitMatrix {
  std::string op = "softmax";  // or log_softmax, logsumexp, top_p_softmax, sparsemax, topk_softmax
  numerics::Format format = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  double theta = 1;
  std::int64_t input_stride = 0;  // elements between rows; 0: columns
  std::int64_t output_stride = 0;
  double top_p = 0;    // for top_p_softmax; in (0, 1]
  std::int32_t k = 0;  // for topk_softmax
  bool renormalize = false;
};

/// The logit in a row and column; the caller rounds it to the format.
using LogitSource = std::function<double(std::int64_t row, std::int64_t column)>;

/// Number of rows to take: at most max(2, 2^16 / columns).
std::int64_t rows_taken(std::int64_t published, std::int64_t columns);

/// The call, and the exact values rounded to the format. Top-p keeps the smallest set of largest items that reaches
/// top_p, and divides by its sum. Top-k requires equal ids; of equal logits the lower index is chosen.
///
/// throws   std::invalid_argument if a row has no visible item
CriterionCase softmax_case(const LogitMatrix& matrix, const LogitSource& logit, std::vector<Comparison> comparisons);

/// The saved output y = softmax(x) for normal x, rounded, and the gradient y (g - sum y g) for normal g.
CriterionCase softmax_gradient_case(Draw& draw, const LogitMatrix& matrix, std::vector<Comparison> comparisons);

/// Partial attentions to merge, as a published test makes them. Natural logarithms.
struct PartialStates {
  numerics::Format format = numerics::Format::f32;
  std::int64_t parts = 2;
  std::int64_t rows = 1;
  std::int64_t dim = 1;
  std::vector<double> lse = {};  // (parts, rows), f32 values or -inf
};

/// The call of merge_states with the exact outputs and log-sum-exps, both compared by the same rules.
/// throws   std::invalid_argument if all parts of a row are empty
CriterionCase merge_case(const PartialStates& states, const std::function<double()>& value,
                         std::vector<Comparison> comparisons);

/// Logits with labels as a published test of cross-entropy makes them.
struct LossBatch {
  numerics::Format format = numerics::Format::f32;
  std::int64_t rows = 1;
  std::int64_t columns = 1;  // classes
  double label_smoothing = 0;
  double z_loss = 0;
  std::int64_t ignore_index = -100;
  double softcap = 0;                     // logits become softcap tanh(x / softcap)
  std::vector<std::int64_t> labels = {};  // (rows), int64
};

using LossLogits = std::function<double()>;

/// The call of cross_entropy, and the exact loss of each row.
CriterionCase loss_case(const LossBatch& batch, const LossLogits& logit, std::vector<Comparison> comparisons);

/// The call of cross_entropy_backward, and the exact gradient.
///
/// upstream   the upstream gradient of a row, as a function of its loss
CriterionCase loss_gradient_case(const LossBatch& batch, const LossLogits& logit,
                                 const std::function<double(double loss)>& upstream,
                                 std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests
