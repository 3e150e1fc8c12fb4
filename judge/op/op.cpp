#include "judge/op/op.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

const std::vector<Op>& list() {
#define SOFTCHECK_LISTED(name) Op::name,
  static const std::vector<Op> ops{SOFTCHECK_OPS(SOFTCHECK_LISTED)};
#undef SOFTCHECK_LISTED
  return ops;
}

std::size_t values_of(Extent extent, std::size_t n, std::size_t width) {
  return extent == Extent::rows || extent == Extent::call ? 1 : extent == Extent::items ? n : width;
}

}  // namespace

std::span<const Op> all_ops() { return list(); }

std::span<const Op> row_ops() {
  const auto count = std::ranges::count_if(list(), [](Op op) { return !op->is_attention(); });
  return std::span(list()).first(static_cast<std::size_t>(count));
}

std::vector<Op> logits_ops() {
  std::vector<Op> ops(row_ops().begin(), row_ops().end());
  std::erase_if(ops, [](Op op) { return op->number != 0; });
  return ops;
}

const RowOp& Op::rows() const {
  if (const RowOp* op = definition_->rows()) return *op;
  throw std::logic_error("Op::rows: need an op of rows, got " + std::string(definition_->traits.name));
}

const AttentionOp& Op::attention_op() const {
  if (const AttentionOp* op = definition_->attention()) return *op;
  throw std::logic_error("Op::attention_op: need an op of queries, keys and values, got " +
                         std::string(definition_->traits.name));
}

std::size_t values_of_row(const OpTraits& op, std::size_t n, std::size_t width) {
  if (op.extents.empty()) return op.one_value_per_row ? 1 : n;
  std::size_t count = 0;
  for (const Extent extent : op.extents) count += values_of(extent, n, width);
  return count;
}

ValuePlace place_of_value(const OpTraits& op, std::size_t i, std::size_t n, std::size_t width) {
  for (std::size_t k = 0; k < op.extents.size(); ++k) {
    const std::size_t count = values_of(op.extents[k], n, width);
    if (i < count) return {k, op.extents[k] == Extent::rows ? std::nullopt : std::optional(i)};
    i -= count;
  }
  return {0, i};
}

bool is_index_value(const OpTraits& op, std::size_t i, std::size_t n, std::size_t width) {
  return !op.elements.empty() && op.elements[place_of_value(op, i, n, width).output] == OutputElement::index;
}

bool is_item(double value, std::size_t n) {
  return value >= 0 && value < static_cast<double>(n) && value == std::floor(value);
}

std::string_view to_string(Role role) {
  static constexpr std::array<std::string_view, 32> names{"logits",
                                                          "mask",
                                                          "q",
                                                          "k",
                                                          "v",
                                                          "out",
                                                          "lse",
                                                          "out_gradient",
                                                          "lse_gradient",
                                                          "saved",
                                                          "labels",
                                                          "class_weights",
                                                          "upstream",
                                                          "sinks",
                                                          "slopes",
                                                          "bias",
                                                          "cu_q",
                                                          "cu_k",
                                                          "block_table",
                                                          "lengths",
                                                          "dropout",
                                                          "targets",
                                                          "top_k",
                                                          "top_p",
                                                          "min_p",
                                                          "temperature",
                                                          "teacher",
                                                          "hidden",
                                                          "weight",
                                                          "q2",
                                                          "k2",
                                                          "lambdas"};
  return names.at(static_cast<std::size_t>(role));
}

std::string_view to_string(Op op) { return op->name; }

Op parse_op(std::string_view name) {
  std::string known;
  for (const Op op : all_ops()) {
    if (op->name == name) return op;
    known += ' ';
    known += op->name;
  }
  throw std::invalid_argument("--op: need one of" + known + ", got '" + std::string(name) + "'");
}

bool has_one_value(Op op) { return op->of_whole_calls && op->one_value_per_row; }

numerics::Format wide_format(numerics::Format input) {
  using numerics::Format;
  return input == Format::f64 ? Format::f64 : Format::f32;
}

numerics::Format row_format(Op op, numerics::Format input) { return op->is_of_states() ? wide_format(input) : input; }

numerics::Format output_format(Op op, numerics::Format input) {
  return op->one_value_per_row || op->is_attention() || op->wide_output ? wide_format(input) : input;
}

}  // namespace softcheck::proptests
