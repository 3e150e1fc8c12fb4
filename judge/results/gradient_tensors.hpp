#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/results/attention_tensors.hpp"
#include "judge/results/tensor_judge.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The effect of NaNs on the results of one key.
struct NanOfKey {
  bool keys = false;          // dk is NaN
  std::vector<bool> columns;  // the columns of dv that are NaN; empty: none
  bool reached = false;       // a NaN or an infinity contributes, so thresholds do not apply
};

/// The tensors of a task of attention's gradient. Decodes the queries that use one key head at a time, with its keys
/// and values; judging takes some 300 bytes per score.
class GradientTensors {
 public:
  /// task     must outlive this object
  /// throws   std::invalid_argument with the tensor, what is needed and what was given
  explicit GradientTensors(const TensorTask& task);

  std::size_t batches() const { return size_of(inputs_[0], of_batch); }
  std::size_t key_heads() const { return size_of(inputs_[1], of_heads); }
  std::size_t heads() const { return size_of(inputs_[0], of_heads); }
  /// Shape of dq, dk, dv, dsinks or dbias; for the last two the task must have sinks or a bias.
  Shape output_shape(std::size_t which) const;
  void require_outputs(std::span<const GivenTensor> outputs) const;

  /// Makes a key head and the queries that use it the current ones.
  ///
  /// throws   std::invalid_argument if a bias, sink, slope or gradient by a log-sum-exp is not finite
  void load(std::size_t batch, std::size_t key_head);

  const AttentionShape& shape() const { return case_.shape; }  // one batch and one key head
  std::size_t queries() const { return kinds_.size(); }
  std::size_t keys() const { return case_.shape.keys; }
  QueryKind kind(std::size_t query) const { return kinds_[query]; }
  NanOfKey nan_of_key(std::size_t key) const;
  bool sees(std::size_t query, std::size_t key) const;
  /// Row numbers within the task (tensor_tally.hpp).
  std::size_t row_of_query(std::size_t query) const { return first_query_ + query; }
  std::size_t row_of_key(std::size_t key) const { return first_key_ + key; }

  /// The current queries, of which those that thresholds can judge are chosen. Points into this object.
  GradientGroup group() const;
  /// The same for one of its heads.
  GradientGroup head(std::size_t head) const;
  /// The current part of dq, dk or dv, row-major, and where it begins in the whole output.
  std::vector<double> load_output(const GivenTensor& output, std::size_t which) const;
  std::size_t first_value(std::size_t which) const;
  std::size_t values(std::size_t which) const;

 private:
  void require_shapes();
  void require_scores() const;
  void load_terms(std::size_t batch, std::size_t key_head);
  void classify();
  // Reads the current rows of queries or of their saved tensors.
  std::vector<double> heads_of(const GivenTensor& tensor, std::size_t first, std::size_t count) const;
  std::function<bool(std::size_t, std::size_t)> judged_queries() const;

  const TensorTask& task_;
  std::array<GivenTensor, 4> inputs_;  // q, k, v and out_gradient with four dimensions
  GivenTensor out_, lse_;              // saved tensors with four dimensions; lse's last one is 1
  GivenTensor by_lse_;                 // same shape as lse
  GivenTensor mask_, bias_;            // (batch, heads, queries, keys)
  bool saved_ = false, masked_ = false, biased_ = false, has_lse_gradient_ = false;
  std::size_t group_ = 1, batch_ = 0, key_head_ = 0, first_query_ = 0, first_key_ = 0;
  AttentionCase case_;
  std::vector<double> saved_out_, saved_lse_;
  std::vector<QueryKind> kinds_;  // (m)
  std::vector<NumberKinds> of_query_, of_gradient_, of_key_, of_value_;
};

}  // namespace softcheck::proptests
