#include "proptests/judge/op.hpp"

#include <array>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

// The softmax family's first.
constexpr std::array<Op, 7> ops{Op::softmax,          Op::log_softmax, Op::logsumexp,         Op::entropy,
                                Op::adaptive_softmax, Op::attention,   Op::adaptive_attention};

}  // namespace

std::span<const Op> all_ops() { return ops; }

std::span<const Op> row_ops() { return std::span(ops).first<5>(); }

bool is_attention(Op op) { return op == Op::attention || op == Op::adaptive_attention; }

std::string_view to_string(Op op) {
  switch (op) {
    case Op::softmax:
      return "softmax";
    case Op::log_softmax:
      return "log_softmax";
    case Op::logsumexp:
      return "logsumexp";
    case Op::entropy:
      return "entropy";
    case Op::adaptive_softmax:
      return "adaptive_softmax";
    case Op::attention:
      return "attention";
    case Op::adaptive_attention:
      return "adaptive_attention";
  }
  return "?";
}

Op parse_op(std::string_view name) {
  std::string known;
  for (Op op : ops) {
    if (to_string(op) == name) return op;
    known += ' ';
    known += to_string(op);
  }
  throw std::invalid_argument("--op: need one of" + known + ", got '" + std::string(name) + "'");
}

bool is_row_scalar(Op op) { return op == Op::logsumexp || op == Op::entropy; }

numerics::Format output_format(Op op, numerics::Format input) {
  using numerics::Format;
  return (is_row_scalar(op) || is_attention(op)) && input != Format::f64 ? Format::f32 : input;
}

}  // namespace softcheck::proptests
