// The quick test of exhaustive effort: what it proves is within the contract's own threshold.
#include "judge/exhaustive/quick_rows.hpp"

#include <random>

#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
// Sources of this folder are compiled as one: the names below are common ones.
namespace quick_rows {
namespace {

using namespace numerics;

// A row of a shape with its lowest item at about x: neighbours in f32, equal logits and one, or anything.
std::vector<double> row_of(const RowShape& shape, float x, std::mt19937_64& random) {
  std::vector<double> row(shape.columns, 0.0);
  switch (shape.kind) {
    case RowKind::pairs:
      row[1] = x;
      break;
    case RowKind::beside_maximum:
      for (std::size_t k = 0; k + 1 < row.size(); ++k) {
        row[shape.maximum_first ? k + 1 : k] = x;
        x = std::nextafterf(x, -1e30F);
      }
      break;
    case RowKind::odd_one:
      row.back() = x;
      break;
    case RowKind::any:
      for (double& logit : row) logit = static_cast<float>(std::uniform_real_distribution<double>(x, 3)(random));
      break;
  }
  return row;
}

struct Rows {
  std::vector<double> logits, within, beyond;
  std::size_t count = 0;
};

// Values in the middle, but one of each row: at a part of its threshold, and at the first number beyond it.
Rows rows_of(Op op, const Contract& contract, const RowShape& shape) {
  std::mt19937_64 random(20241001);
  Rows rows;
  for (; rows.count < 150; ++rows.count) {
    const double exponent = std::uniform_real_distribution<double>(-35, 6.3)(random);
    const std::vector<double> row = row_of(shape, -static_cast<float>(std::exp2(exponent)), random);
    const auto [lower, upper, allowed] = RowBounds(op, contract, row, shape.theta);
    const std::size_t count = lower.size();
    const std::size_t changed = rows.count % count;
    for (std::size_t i = 0; i < count; ++i) {
      const double side = rows.count % 3 == 0 && lower[i] > allowed[i] ? -1 : 1;
      double edge = (side > 0 ? upper[i] : lower[i]) + side * allowed[i];
      for (int step = 0; step < 2; ++step) edge = std::nextafter(edge, side * 1e300);
      rows.within.push_back(i == changed ? lower[i] + side * 0.75 * allowed[i] : lower[i]);
      rows.beyond.push_back(i == changed ? edge : lower[i]);
    }
    rows.logits.insert(rows.logits.end(), row.begin(), row.end());
  }
  return rows;
}

// most_open   of the rows within: coefficients above 1 are left to enclosures, too
void expect_sound(Op op, const std::string& words, const RowShape& shape, std::size_t most_open) {
  const Contract contract = numerics::parse_contract(words, Format::f32, Format::f32);
  QuickRows quick(*op.rows().arguments(), contract, shape);
  const Rows rows = rows_of(op, contract, shape);
  const std::string what = std::string(to_string(op)) + " n=" + std::to_string(shape.columns) + " " + words;
  EXPECT_EQ(quick.judge(rows.logits, rows.beyond).open.size(), rows.count) << what;
  EXPECT_LE(quick.judge(rows.logits, rows.within).open.size(), most_open) << what;
}

TEST(QuickRows, LeavesOpenWhatIsBeyondAThreshold) {
  for (const Op op : {Op::softmax, Op::log_softmax, Op::logsumexp, Op::entropy}) {
    for (const std::string words :
         {"subnormal=kept", "exp=E:4,A:3 sum=tree subnormal=kept", "theta=before lse=uncentred"}) {
      expect_sound(op, words, {RowKind::pairs, 2, 1, true}, 8);
      expect_sound(op, words, {RowKind::beside_maximum, 65, 1, true}, 8);
      expect_sound(op, words, {RowKind::beside_maximum, 65, 0.7, false}, 8);
      // All rows have the threshold of the least of them.
      expect_sound(op, words, {RowKind::any, 3, 1, true}, 150);
      if (op->one_value_per_row) expect_sound(op, words, {RowKind::odd_one, 100, 1, true}, 8);
    }
  }
}

}  // namespace
}  // namespace quick_rows
}  // namespace softcheck::proptests
