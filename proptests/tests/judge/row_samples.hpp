#pragma once

#include <rapidcheck.h>

#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_description.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "proptests/generators/rows/row.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

// Rows that tests judge without a kernel.
namespace softcheck::proptests {

using Row = std::vector<double>;
using Shape = std::vector<std::int64_t>;

/// A row's contract, its other inputs and attributes.
struct RowWords {
  std::string contract = "acc=f32 exp=1ulp masked=zero";
  numerics::Format input = numerics::Format::f32;
  numerics::Format output = numerics::Format::f32;
  double theta = 1;
  std::vector<Row> auxiliary = {};
  Attributes attributes = {};
  CountedWeights counted = {};
};

inline RowVerdicts verdicts_of(Op op, const Row& logits, const Row& got, const RowWords& words = {}) {
  return judge_values(op, numerics::parse_contract(words.contract, words.input, words.output), logits, words.theta, got,
                      words.auxiliary, words.attributes, words.counted);
}

inline bool all_hold(const RowVerdicts& verdicts) {
  return std::ranges::all_of(
      verdicts.findings, [](const ValueFinding& finding) { return finding.decision == numerics::Decision::proved; });
}

/// The claims that do not hold, without the name of their op: "ids", "masked_row".
inline std::vector<std::string> broken_claims(const RowVerdicts& verdicts) {
  std::vector<std::string> claims;
  for (const ValueFinding& finding : verdicts.findings) {
    if (finding.decision == numerics::Decision::proved) continue;
    claims.emplace_back(finding.claim.substr(finding.claim.rfind('.') + 1));
  }
  return claims;
}

/// The exact values of a row and what its contract grants them.
struct RowBounds {
  Row lower, upper, allowed;

  RowBounds(Op op, const numerics::Contract& contract, const Row& logits, double theta = 1,
            const std::vector<Row>& auxiliary = {}, const Attributes& attributes = {})
      : lower(op->one_value_per_row ? 1 : logits.size()), upper(lower), allowed(lower) {
    exact_row(op, contract, logits, theta, lower, upper, auxiliary, attributes);
    granted_row(op, contract, logits, theta, allowed, auxiliary, attributes);
  }
};

/// Rows of one call; fewer rows than `count` come again in turn.
inline RowMatrixCase matrix_of_rows(numerics::Format format, const std::vector<Row>& rows, std::uint64_t auxiliary = 0,
                                    std::size_t count = 0) {
  RowMatrixCase matrix;
  matrix.format = format;
  matrix.columns = rows.front().size();
  std::vector<RunLengthRow> cycle;
  for (const Row& row : rows) cycle.push_back(RunLengthRow::of(row));
  matrix.rows = RowCycle(std::move(cycle), std::max(count, rows.size()));
  matrix.auxiliary = auxiliary;
  return matrix;
}

/// What a report says of the row (1, 0, ...) with these other inputs.
inline std::string remark_of(Op op, const RowMatrixCase& matrix) {
  return describe_call(matrix, op, matrix.format, "", 0).remark;
}

inline RowOptions rows_of_f32() {
  RowOptions rows;
  rows.formats = {Format::f32};
  return rows;
}

/// Cases of a generator, the same for the same seed. Sizes go round from 0 to it; 0: all are of size 100.
template <class Case>
std::vector<Case> drawn(const rc::Gen<Case>& generator, int count, std::uint64_t seed, int sizes = 0) {
  rc::Random random(seed);
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) cases.push_back(generator(random.split(), sizes == 0 ? 100 : i % sizes).value());
  return cases;
}

}  // namespace softcheck::proptests
