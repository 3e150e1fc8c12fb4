#include "proptests/judge/op.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

// A line for each op; those of rows first.
const std::vector<Op>& list() {
  static const std::vector<Op> ops{
      Op::softmax,                 //
      Op::log_softmax,             //
      Op::logsumexp,               //
      Op::entropy,                 //
      Op::adaptive_softmax,        //
      Op::softmax_backward,        //
      Op::log_softmax_backward,    //
      Op::cross_entropy,           //
      Op::cross_entropy_backward,  //
      Op::attention,               //
      Op::adaptive_attention,      //
  };
  return ops;
}

}  // namespace

std::span<const Op> all_ops() { return list(); }

std::span<const Op> row_ops() {
  const auto count = std::ranges::count_if(list(), [](Op op) { return !op->attention; });
  return std::span(list()).first(static_cast<std::size_t>(count));
}

std::vector<Op> logits_ops() {
  std::vector<Op> ops(row_ops().begin(), row_ops().end());
  std::erase_if(ops, [](Op op) { return op->inputs.size() > 1; });
  return ops;
}

const RowOp& Op::rows() const {
  if (const RowOp* op = definition_->rows()) return *op;
  throw std::logic_error("Op::rows: need an op of rows, got " + std::string(definition_->traits.name));
}

std::string_view to_string(Role role) {
  static constexpr std::array<std::string_view, 13> names{
      "logits", "mask",          "q",       "k", "v", "out", "lse", "out_gradient", "lse_gradient", "saved",
      "labels", "class_weights", "upstream"};
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

numerics::Format output_format(Op op, numerics::Format input) {
  using numerics::Format;
  return (op->one_value_per_row || op->attention) && input != Format::f64 ? Format::f32 : input;
}

}  // namespace softcheck::proptests
