#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

struct AttentionCase;
struct AttentionOptions;
class Draw;

/// What version 2 of a call can say of attention beside version 1 (kernels/abi/softcheck_kernel.h); all off.
struct AttentionAttributes {
  /// Keys beside its own that a query sees; nothing: all.
  std::optional<std::size_t> window_left, window_right;
  bool top_left = false;           // query i stands at key i, else at key i + keys - queries
  double softcap = 0;              // > 0, or 0 for none
  std::vector<double> sinks;       // (heads) or none
  std::vector<double> slopes;      // (heads) or none: ALiBi's
  bool bias_for_each_head = true;  // else one bias for all heads of a batch
  std::vector<double> bias;        // (batch, heads or 1, queries, keys) or none
  /// (batch, heads, queries), of scalars_of() the inputs' format, or none: of a gradient's call, that of the loss by
  /// the log-sum-exps.
  std::vector<double> lse_gradients;

  bool window() const { return window_left || window_right; }
};

/// " window=3:all alignment=top-left softcap=0x1p+5 sinks slopes bias=heads dlse", as far as they are on.
std::string head_text(const AttentionAttributes& attributes);

/// The format of a call's sinks and slopes, and of its gradients by the log-sum-exps.
numerics::Format scalars_of(numerics::Format inputs);

/// Draws some of the attributes that the domain of the options names, at least one where it names any. Scores stay
/// within what the options' score_unit can tell apart.
void draw_attributes(Draw& draw, AttentionCase& attention, const AttentionOptions& options);

/// Draws the gradient of the loss by the output of a case whose queries, keys and values are there.
///
/// distinct   rows of it that are drawn; row i of the others is row i % distinct
void draw_gradients(Draw& draw, AttentionCase& attention, std::size_t distinct);

}  // namespace softcheck::proptests
