#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

struct AttentionCase;
struct AttentionOptions;
class Draw;
struct Domain;

/// What version 2 of an attention call adds to version 1 (kernels/abi/softcheck_kernel.h); initially all off.
struct AttentionAttributes {
  /// Visible keys on each side of a query's own; nothing: all.
  std::optional<std::size_t> window_left, window_right;
  bool top_left = false;                  // query i is at key i; else at key i + keys - queries
  bool interleaved = false;               // query head h reads key head h % kv_heads
  bool expanded = false;                  // numbers that repeat along batch or heads are passed once, by strides of 0
  bool values_view = false;               // values are the first numbers of their keys, in the same memory
  double softcap = 0;                     // > 0, or 0 for none
  std::vector<double> sinks;              // (heads) or empty
  std::vector<double> slopes;             // (heads) or empty: ALiBi's
  bool bias_for_each_head = true;         // else one bias for all heads of a batch
  std::vector<double> bias;               // (batch, heads or 1, queries, keys) or empty
  std::optional<numerics::Format> cache;  // the format of keys and values, if not the call's
  double dropout_scale = 0;               // the factor of kept weights, if there is a dropout
  std::vector<double> kept;               // the dropout: (batch, heads, queries, keys) of 0 and 1, or empty
  /// For a gradient: that of the loss by the log-sum-exps, (batch, heads, queries) in the format scalars_of(), or
  /// empty.
  std::vector<double> lse_gradients;
  std::optional<double> sigmoid_bias;  // of every call of sigmoid attention: b of sigmoid(score + b)
  std::vector<double> lambdas;         // of every call of differential attention: (heads)
  bool one_lambda = false;             // all are equal
  bool classes = false;     // a linear layer's loss: keys are its classes, gradients the rows' upstream gradients
  bool no_ignored = false;  // of such a loss: no label is the ignored one

  bool window() const { return window_left || window_right; }
};

/// " window=3:all alignment=top-left softcap=0x1p+5 sinks slopes bias=heads dlse sigmoid_bias=-0x1p+1 noignored
/// lambda=0x1p-1,0x1p-2": those that are on.
std::string head_text(const AttentionAttributes& attributes);

/// The format of sinks, slopes, and gradients by the log-sum-exps.
numerics::Format scalars_of(numerics::Format inputs);

/// Draws some of the attributes that the options' domain names, at least one if it names any. Keeps scores within what
/// score_unit can resolve.
void draw_attributes(Draw& draw, AttentionCase& attention, const AttentionOptions& options);

/// -ln(keys), rounded to double; 0 without keys.
double usual_sigmoid_bias(std::size_t keys);

/// Gives the case what its domain fixes: alignment, grouping, mask and bias.
void take_conventions(AttentionCase& attention, const Domain& domain);

/// Draws the gradient of the loss by the output of a case with queries, keys and values.
///
/// distinct   number of rows to draw; row i of the others repeats row i % distinct
void draw_gradients(Draw& draw, AttentionCase& attention, std::size_t distinct);

}  // namespace softcheck::proptests
