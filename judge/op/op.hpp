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

/// All ops that are shipped, those of rows first: each is Op::NAME, which its file in judge/ops/ defines.
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
  OP(merge_states)                \
  OP(topk_softmax)                \
  OP(top_p_softmax)               \
  OP(sparsemax)                   \
  OP(entmax15)                    \
  OP(attention)                   \
  OP(adaptive_attention)          \
  OP(attention_backward)

/// What a tensor of a call is to its op: the ABI's softcheck_role (kernels/abi/softcheck_kernel.h).
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
};

/// Values per row of an input or output.
///
/// items     one per item                    rows   one
/// vectors   RowOp::width numbers, for each item of an input, once for an output
/// classes   one per item, shared by all rows of the call
/// call      one for the whole call
enum class Extent { items, rows, vectors, classes, call };

/// What a NaN in an input makes NaN: every value of its row, or that of its own item.
enum class NanReach { row, item };

/// What an output's elements are: numbers of its format, or int32, each the index of one of the row's items.
enum class OutputElement { number, index };

/// An input of an op.
struct OpInput {
  Role role;
  Extent extent = Extent::items;
  bool is_index = false;  // integers: int32 or int64, as the call draws; else numbers of the first input's dtype
  NanReach nan_reach = NanReach::row;
  bool optional = false;  // a call may lack it (RowOp::has_input); those that may stand last
};

/// The ABI's softcheck_attributes, as far as ops read them; zero is off.
struct Attributes {
  double label_smoothing = 0;     // in [0, 1]
  double z_loss = 0;              // >= 0
  std::int64_t ignore_index = 0;  // read where labels are an input
  bool lse_base2 = false;         // log-sum-exps are log2 sum 2^x
  double softcap = 0;             // >= 0; of attention's scores, or of the logits of a loss
  // Of attention.
  std::int64_t window_left_plus_1 = 0, window_right_plus_1 = 0;
  bool causal_top_left = false;
  std::int64_t page_size = 0;
  // Of top-k.
  std::int32_t k = 0;  // items chosen of each row, at most as many as it has
  bool renormalize = false;
  bool mean = false;  // of a loss of whole calls: it is divided
  // Of sampling: in (0, 1].
  double top_p = 0, min_p = 0;
};

/// The name of a tensor in this role: "logits", "q".
std::string_view to_string(Role role);

/// Which contract words --infer can measure from this op's results.
struct ContractAnswers {
  /// Words that the op's arithmetic has beside acc, exp, sum and subnormal, for the search to try.
  std::span<const std::string_view> words = {};
  std::uint64_t auxiliary_of_sums = 0;  // the RowCase::auxiliary by which a row's additions show best
  bool exponentials = true;             // else exp= has no part in it
  bool coefficients = false;            // results as small as exponentials: they show subnormal=
  bool expensive = false;               // elements are enclosed one by one: few rows are asked
  bool at_the_logits = false;           // results are as large as the logits, and rounded there
  bool masked_rows = true;              // masked= says what a row with nothing visible becomes
};

/// What is fixed of an op.
struct OpTraits {
  std::string_view name;
  std::span<const OpInput> inputs;               // in the ABI's order, without the mask; the first is the drawn row
  std::span<const std::string_view> outputs;     // names, in the ABI's order
  std::span<const Extent> extents = {};          // of outputs, where there are several of a row
  std::span<const OutputElement> elements = {};  // of outputs; empty: all are numbers
  std::span<const std::string_view> claims;      // on values, the first output's first
  bool attributes = false;                       // of attention: windows, softcap, sinks, slopes, bias, alignment
  bool packed = false;                           // of attention: sequences may be packed
  bool pages = false;                            // of attention: and keys may lie in pages
  std::size_t asked_outputs = 0;                 // the last ones, of which a call has those that its domain asks for
  std::span<const Role> asked_by = {};           // of each of these: the input that a call with it has
  bool all_outputs = false;                      // a call of attention asks for all others, else for the first ones
  bool one_value_per_row = false;                // not one for each element
  bool has_theta = true;
  bool adaptive = false;  // beta follows from the entropy (Appendix G)
  bool takes_mask = true;
  bool takes_infinities = true;   // -inf stands for a masked item
  bool saved_logarithms = false;  // one of -inf in the first input is that of 0, a number as any other
  bool has_limit = true;          // and +inf has a limit
  bool wide_output = false;       // numbers of the output are f64 for f64 inputs, else f32
  bool may_be_in_place = false;   // the output may be the first input
  bool of_whole_calls = false;    // its one value is made of all rows of a call, or its rows depend on all
  bool filters = false;           // of sampling: top_p and min_p are its attributes
  std::uint64_t quick_items =
      0;                     // longest row at quick effort, a 16th of the longest listed at default; 0: the effort's
  std::uint32_t number = 0;  // the ABI's op; 0: version 1 says it by the plug-in's own knowledge
  ContractAnswers answers = {};

  /// Of queries, keys and values; else of rows.
  constexpr bool is_attention() const { return inputs.front().role == Role::query; }
  /// The drawn row has log-sum-exps of states: f32 where the other inputs are of 16 bits, behind these in a call, and
  /// (n, rows) in memory, where vectors are (n, rows, width).
  constexpr bool is_of_states() const { return inputs.front().role == Role::lse; }
};

/// Values of all outputs for a row of n items and vectors of so many numbers.
std::size_t values_of_row(const OpTraits& op, std::size_t n, std::size_t width);
/// Where value i of them stands: the output's number, and the item there, nothing of an output of one value a row.
struct ValuePlace {
  std::size_t output = 0;
  std::optional<std::size_t> item;
};
ValuePlace place_of_value(const OpTraits& op, std::size_t i, std::size_t n, std::size_t width);
/// Is value i of them an index? It then names one of the n items, whatever the row holds.
bool is_index_value(const OpTraits& op, std::size_t i, std::size_t n, std::size_t width);
/// Is the number the index of one of n items?
bool is_item(double value, std::size_t n);

/// An op: one object in judge/ops/.
class OpDefinition {
 public:
  const OpTraits traits;

  /// Nothing unless the op is one of rows.
  virtual const RowOp* rows() const { return nullptr; }
  /// Nothing unless it is one of queries, keys and values.
  virtual const AttentionOp* attention() const { return nullptr; }

  OpDefinition(const OpDefinition&) = delete;
  OpDefinition& operator=(const OpDefinition&) = delete;

 protected:
  constexpr explicit OpDefinition(const OpTraits& given) : traits(given) {}
  ~OpDefinition() = default;
};

/// What a kernel computes (kernels/abi/softcheck_kernel.h): one of the definitions.
class Op {
 public:
#define SOFTCHECK_DECLARED(name) static const Op name;
  SOFTCHECK_OPS(SOFTCHECK_DECLARED)
#undef SOFTCHECK_DECLARED

  constexpr Op(const OpDefinition& definition) : definition_(&definition) {}  // NOLINT(google-explicit-constructor)

  const OpTraits* operator->() const { return &definition_->traits; }
  /// throws   std::logic_error unless the op is one of rows
  const RowOp& rows() const;
  /// throws   std::logic_error unless it is one of queries, keys and values
  const AttentionOp& attention_op() const;

  friend bool operator==(Op a, Op b) { return a.definition_ == b.definition_; }

 private:
  const OpDefinition* definition_;
};

/// All that are shipped, those of rows first.
std::span<const Op> all_ops();
std::span<const Op> row_ops();
/// Those of rows of logits and nothing else: neither other inputs nor attributes.
std::vector<Op> logits_ops();

std::string_view to_string(Op op);

/// throws   std::invalid_argument naming the known ops
Op parse_op(std::string_view name);

/// Has a call one value, made of all its rows?
bool has_one_value(Op op);

/// f64 of f64, f32 of the others: that of values of whole rows.
numerics::Format wide_format(numerics::Format input);

/// The format of the rows that are drawn for inputs of some format.
numerics::Format row_format(Op op, numerics::Format input);

/// Format that the ABI gives an output for an input of some format: the input's, but f32 for values of whole rows of
/// 16-bit inputs. Of attention that of lse and entropy: out always has the input's.
numerics::Format output_format(Op op, numerics::Format input);

}  // namespace softcheck::proptests
