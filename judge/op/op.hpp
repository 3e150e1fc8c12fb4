#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

class RowOp;
class AttentionOp;

/// All ops, those on rows first. Op::NAME is defined by its file in judge/ops/.
#define SOFTCHECK_OPS(OP)         \
  OP(softmax)                     \
  OP(log_softmax)                 \
  OP(logsumexp)                   \
  OP(entropy)                     \
  OP(adaptive_softmax)            \
  OP(softmax_backward)            \
  OP(log_softmax_backward)        \
  OP(cross_entropy)               \
  OP(cross_entropy_backward)      \
  OP(cross_entropy_mean)          \
  OP(cross_entropy_mean_backward) \
  OP(soft_cross_entropy)          \
  OP(soft_cross_entropy_backward) \
  OP(kl_divergence)               \
  OP(kl_divergence_backward)      \
  OP(merge_states)                \
  OP(topk_softmax)                \
  OP(top_p_softmax)               \
  OP(sparsemax)                   \
  OP(entmax15)                    \
  OP(attention)                   \
  OP(adaptive_attention)          \
  OP(sigmoid_attention)           \
  OP(differential_attention)      \
  OP(attention_backward)          \
  OP(linear_cross_entropy)        \
  OP(linear_cross_entropy_backward)

/// The meaning of a tensor to its op: the ABI's softcheck_role (kernels/abi/softcheck_kernel.h).
enum class Role : std::uint32_t {
  logits = SOFTCHECK_ROLE_LOGITS,
  mask = SOFTCHECK_ROLE_MASK,
  query = SOFTCHECK_ROLE_QUERY,
  key = SOFTCHECK_ROLE_KEY,
  value = SOFTCHECK_ROLE_VALUE,
  out = SOFTCHECK_ROLE_OUT,
  lse = SOFTCHECK_ROLE_LSE,
  out_gradient = SOFTCHECK_ROLE_OUT_GRADIENT,
  lse_gradient = SOFTCHECK_ROLE_LSE_GRADIENT,
  saved = SOFTCHECK_ROLE_SAVED,
  labels = SOFTCHECK_ROLE_LABELS,
  class_weights = SOFTCHECK_ROLE_CLASS_WEIGHTS,
  upstream = SOFTCHECK_ROLE_UPSTREAM,
  sinks = SOFTCHECK_ROLE_SINKS,
  slopes = SOFTCHECK_ROLE_SLOPES,
  bias = SOFTCHECK_ROLE_BIAS,
  cu_q = SOFTCHECK_ROLE_CU_Q,
  cu_k = SOFTCHECK_ROLE_CU_K,
  block_table = SOFTCHECK_ROLE_BLOCK_TABLE,
  lengths = SOFTCHECK_ROLE_LENGTHS,
  dropout = SOFTCHECK_ROLE_DROPOUT,
  targets = SOFTCHECK_ROLE_TARGETS,
  k = SOFTCHECK_ROLE_K,
  top_p = SOFTCHECK_ROLE_TOP_P,
  min_p = SOFTCHECK_ROLE_MIN_P,
  temperature = SOFTCHECK_ROLE_TEMPERATURE,
  teacher = SOFTCHECK_ROLE_TEACHER,
  hidden = SOFTCHECK_ROLE_HIDDEN,
  weight = SOFTCHECK_ROLE_WEIGHT,
  second_query = SOFTCHECK_ROLE_SECOND_QUERY,
  second_key = SOFTCHECK_ROLE_SECOND_KEY,
  lambda = SOFTCHECK_ROLE_LAMBDA,
};

/// How many values an input or output has.
///
/// items     one per item                    rows   one per row
/// vectors   RowOp::width numbers: per item of an input, per row of an output
/// classes   one per item, shared by all rows of the call
/// call      one for the whole call
enum class Extent { items, rows, vectors, classes, call };

/// How far a NaN in an input spreads: to every value of its row, or only to the value of its own item.
enum class NanReach { row, item };

/// Element type of an output: a number of its format, or an int32 index of one of the row's items.
enum class OutputElement { number, index };

/// An input of an op.
struct OpInput {
  Role role;
  Extent extent = Extent::items;
  bool is_index = false;  // int32 or int64, as the call draws; else numbers of the first input's dtype
  NanReach nan_reach = NanReach::row;
  bool optional = false;  // a call may omit it (RowOp::has_input); optional inputs stand last
  bool is_wide = false;   // f64 for a first input of f64, else f32
};

/// The fields of the ABI's softcheck_attributes that ops read; zero means off.
struct Attributes {
  double label_smoothing = 0;     // in [0, 1]
  double z_loss = 0;              // >= 0
  std::int64_t ignore_index = 0;  // read if labels are an input
  bool lse_base2 = false;         // log-sum-exps are log2(sum 2^x)
  double softcap = 0;             // >= 0; on attention's scores, or on the logits of a loss
  // Attention.
  std::int64_t window_left_plus_1 = 0, window_right_plus_1 = 0;
  bool causal_top_left = false, interleaved_heads = false;
  std::int64_t page_size = 0;
  double dropout_scale = 0;                 // the factor of kept weights, if the call has a dropout
  std::optional<double> sigmoid_bias = {};  // nothing: -ln(number of keys)
  // Top-k.
  std::int32_t k = 0;  // items chosen per row, at most n
  bool renormalize = false;
  bool mean = false;     // of a loss over whole calls: divide the sum
  bool reverse = false;  // of a divergence: the logits' distribution weighs the terms
  // Routers: sigmoids in place of a softmax; groups of the items, 0: none; a factor of the weights, 0: none.
  bool sigmoid = false;
  std::int32_t groups = 0, groups_kept = 0, group_items = 0;
  double routed_scale = 0;
  // Sampling: in (0, 1].
  double top_p = 0, min_p = 0;
};

/// The name of a tensor in this role: "logits", "q".
std::string_view to_string(Role role);

/// Which contract words --infer can measure from this op's results.
struct ContractAnswers {
  /// Words besides acc, exp, sum and subnormal that the search tries for this op.
  std::span<const std::string_view> words = {};
  std::uint64_t auxiliary_of_sums = 0;  // the RowCase::auxiliary that shows the order of a row's additions best
  bool exponentials = true;             // false: exp= has no effect on this op
  bool coefficients = false;            // results get as small as exponentials, so they show subnormal=
  bool expensive = false;               // the judge encloses elements one by one, so the search uses few rows
  bool at_the_logits = false;           // results are as large as the logits, and are rounded at that size
  bool masked_rows = true;              // masked= says what a fully masked row returns
};

/// The constants of an op.
struct OpTraits {
  std::string_view name;
  std::span<const OpInput> inputs;               // in the ABI's order, without the mask; the first is the drawn row
  std::span<const std::string_view> outputs;     // names, in the ABI's order
  std::span<const Extent> extents = {};          // of outputs; empty if there is one output per row
  std::span<const OutputElement> elements = {};  // of outputs; empty: all are numbers
  std::span<const std::string_view> claims;      // about values, the first output's first
  bool attributes = false;                       // attention: takes windows, softcap, sinks, slopes, bias, alignment
  bool packed = false;                           // attention: sequences may be packed
  bool pages = false;                            // attention: keys may lie in pages
  std::size_t optional_outputs = 0;  // how many of the last outputs are optional; the call's domain chooses them
  std::span<const Role> optional_output_inputs = {};  // per optional output: the input that a call with it must have
  bool all_outputs = false;        // attention: a call asks for all other outputs; else only for the first ones
  bool one_value_per_row = false;  // else one value per element
  bool has_theta = true;
  bool optional_theta = false;  // a loss: calls have a theta other than 1 if the domain has temperature
  bool adaptive = false;        // beta follows from the entropy (Appendix G)
  bool sigmoid = false;         // attention: its weights are sigmoids, not a softmax
  bool differential = false;    // attention: its output is the difference of two maps'
  bool takes_mask = true;
  bool takes_infinities = true;   // -inf marks a masked item
  bool saved_logarithms = false;  // in the first input, -inf is log(0), an ordinary number
  bool has_limit = true;          // +inf has a limit, too
  bool wide_output = false;       // outputs are f64 for f64 inputs, else f32
  bool may_be_in_place = false;   // the output may share memory with the first input
  bool of_whole_calls = false;    // the call has one value of all its rows, or each row depends on all
  bool filters = false;           // sampling: top_p and min_p are its attributes
  // The longest row at quick effort. Default effort lists calls of up to 16 times that. 0: no limit.
  std::uint64_t quick_items = 0;
  std::uint32_t number = 0;  // the ABI's op; 0: version 1 leaves the op to the plug-in
  ContractAnswers answers = {};

  /// Of queries, keys and values; else of rows. A linear layer's loss is judged like attention: its hidden states are
  /// the queries, its classes the keys.
  constexpr bool is_attention() const { return inputs.front().role == Role::query || is_linear(); }
  constexpr bool is_linear() const { return inputs.front().role == Role::hidden; }
  /// May calls have a dropout?
  constexpr bool may_drop() const { return attributes && !sigmoid && !differential; }
  /// The drawn row has the log-sum-exps of states. In a call it is the last input; its shape is (n, rows), that of
  /// vectors (n, rows, width); it is f32 if the other inputs have 16 bits.
  constexpr bool is_of_states() const { return inputs.front().role == Role::lse; }
};

/// Number of values of all outputs for a row of n items whose vectors have `width` numbers.
std::size_t values_of_row(const OpTraits& op, std::size_t n, std::size_t width);
/// The output and the item that value i belongs to; no item if the output has one value per row.
struct ValuePlace {
  std::size_t output = 0;
  std::optional<std::size_t> item;
};
ValuePlace place_of_value(const OpTraits& op, std::size_t i, std::size_t n, std::size_t width);
/// Is value i an index? An index must name one of the n items, whatever the row holds.
bool is_index_value(const OpTraits& op, std::size_t i, std::size_t n, std::size_t width);
/// Is the value an integer in [0, n)?
bool is_item(double value, std::size_t n);

/// An op: one object in judge/ops/.
class OpDefinition {
 public:
  const OpTraits traits;

  /// Null unless the op works on rows.
  virtual const RowOp* rows() const { return nullptr; }
  /// Null unless the op works on queries, keys and values.
  virtual const AttentionOp* attention() const { return nullptr; }

  OpDefinition(const OpDefinition&) = delete;
  OpDefinition& operator=(const OpDefinition&) = delete;

 protected:
  constexpr explicit OpDefinition(const OpTraits& given) : traits(given) {}
  ~OpDefinition() = default;
};

/// What a kernel computes (kernels/abi/softcheck_kernel.h): a reference to one OpDefinition.
class Op {
 public:
#define SOFTCHECK_DECLARED(name) static const Op name;
  SOFTCHECK_OPS(SOFTCHECK_DECLARED)
#undef SOFTCHECK_DECLARED

  constexpr Op(const OpDefinition& definition) : definition_(&definition) {}  // NOLINT(google-explicit-constructor)

  const OpTraits* operator->() const { return &definition_->traits; }
  /// throws   std::logic_error unless the op works on rows
  const RowOp& rows() const;
  /// throws   std::logic_error unless the op works on queries, keys and values
  const AttentionOp& attention_op() const;

  friend bool operator==(Op a, Op b) { return a.definition_ == b.definition_; }

 private:
  const OpDefinition* definition_;
};

/// All ops, the row ops first.
std::span<const Op> all_ops();
std::span<const Op> row_ops();
/// Row ops with logits as their only input, and without attributes.
std::vector<Op> logits_ops();

std::string_view to_string(Op op);

/// throws   std::invalid_argument with the list of known ops
Op parse_op(std::string_view name);

/// Does a call return one value for all its rows?
bool has_one_value(Op op);

/// The format of values of whole rows: f64 for f64 inputs, else f32.
numerics::Format wide_format(numerics::Format input);

/// The format in which rows are drawn for inputs of this format.
numerics::Format row_format(Op op, numerics::Format input);

/// The ABI's output format for this input format: the input's, or f32 for values of whole rows of 16-bit inputs. For
/// attention, the format of lse and entropy; out always has the input's.
numerics::Format output_format(Op op, numerics::Format input);

}  // namespace softcheck::proptests
