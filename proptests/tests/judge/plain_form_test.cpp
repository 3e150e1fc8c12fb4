// The plainest call that a failing one becomes: compact, without a mask, nothing hidden.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "judge/ops/rows/row_call.hpp"

namespace softcheck::proptests {
namespace {

TEST(PlainForm, HiddenItemsBecomeTheLowestOfTheirRow) {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  RowMatrixCase matrix;
  matrix.columns = 4;
  const std::vector<double> mixed{hidden, 3, -2, hidden}, blind(4, hidden), plain{1, 2, 3, 4};
  matrix.rows = RowCycle({RunLengthRow::of(mixed), RunLengthRow::of(blind), RunLengthRow::of(plain)});
  matrix.mask = MaskUse::tensor;
  const RowMatrixCase form = plain_form(matrix);
  EXPECT_EQ(form.mask, MaskUse::none);
  EXPECT_EQ(form.rows[0].expand(), (std::vector<double>{-2, 3, -2, -2}));
  EXPECT_EQ(form.rows[1].expand(), blind);  // a row without a number has none to take
  EXPECT_EQ(form.rows[2].expand(), plain);
}

}  // namespace
}  // namespace softcheck::proptests
