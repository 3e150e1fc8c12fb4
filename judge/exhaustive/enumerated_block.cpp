#include "judge/exhaustive/enumerated_block.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/ops/rows/row_op.hpp"

namespace softcheck::proptests {

using namespace numerics;

const QuickFindings& BlockFindings::closest() const {
  return *std::ranges::max_element(tests, {}, &QuickFindings::share);
}

void LogitsBlock::read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) {
  const bool scalar = subject_.op->one_value_per_row;
  bytes_ = bytes.rows;
  logits_.resize(rows * shape.columns);
  got_.resize(scalar ? rows : logits_.size());
  decode_all(subject_.contract.input, bytes_, logits_);
  decode_all(subject_.contract.output, results.at(0), got_);
  if (!quick_ || shape_.columns != shape.columns) {
    quick_.emplace(*subject_.op.rows().arguments(), subject_.contract, shape);
  }
  shape_ = shape;
}

BlockFindings LogitsBlock::judge() {
  QuickFindings found = quick_->judge(logits_, got_);
  BlockFindings result;
  result.open = found.open;
  result.shares = {found.share, found.row_sum_share};
  result.shares.resize(std::min(result.shares.size(), subject_.op->claims.size()));
  result.tests.push_back(std::move(found));
  return result;
}

EnumeratedRow LogitsBlock::row(std::size_t number) {
  const std::size_t columns = shape_.columns, values = subject_.op->one_value_per_row ? 1 : columns;
  const std::size_t bytes = bytes_.size() / logits_.size();
  return {shape_,
          bytes_.subspan(number * columns * bytes, columns * bytes),
          {},
          std::span(logits_).subspan(number * columns, columns),
          std::span(got_).subspan(number * values, values)};
}

std::string LogitsBlock::text(std::size_t number, std::optional<std::size_t>) {
  return case_text_of(subject_.op, subject_.contract.input, row(number));
}

}  // namespace softcheck::proptests
