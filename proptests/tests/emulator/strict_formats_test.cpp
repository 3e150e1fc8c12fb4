// The conversions of the strict kernels, on vectors, against those of one number after the other: all numbers of the
// 16-bit formats, and all that lie in the middle between two of them.
#include "proptests/tests/emulator/strict_formats.hpp"

#include <cmath>

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::Tensor;

/// One column for each number: attention to one key gives its value, to two keys that are alike the middle of theirs.
template <class Element>
std::vector<std::uint16_t> attended(const std::vector<std::uint16_t>& first, const std::vector<std::uint16_t>& second) {
  const auto columns = static_cast<std::int64_t>(first.size());
  const std::int64_t keys = second.empty() ? 1 : 2;
  constexpr DLDataType type = Format<Element>::type;
  Tensor<std::uint16_t> q(type, {1, 1, 1, 1}), k(type, {1, 1, keys, 1}), v(type, {1, 1, keys, columns}),
      out(type, {1, 1, 1, columns});
  std::copy(first.begin(), first.end(), v.elements.begin());
  std::copy(second.begin(), second.end(), v.elements.begin() + columns);
  const softcheck_kernel kernel = kernel_tests::load_kernel("softcheck_strict_kernels", "softcheck_strict_attention");
  if (!kernel_tests::takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view}))
    ADD_FAILURE() << "no kernel, or it refused the call";
  return out.elements;
}

template <class Element>
class StrictFormats : public testing::Test {};
using NarrowElements = testing::Types<Half, BFloat>;
TYPED_TEST_SUITE(StrictFormats, NarrowElements);

TYPED_TEST(StrictFormats, RoundAsOneNumberAfterTheOther) {
  std::vector<std::uint16_t> numbers, next;
  for (std::uint32_t bits = 0; bits + 1 < 0x10000u; ++bits) {
    const auto one = static_cast<std::uint16_t>(bits), other = static_cast<std::uint16_t>(bits + 1);
    // A sum keeps what it rounds away: of what is infinite, and of a sum that is, that is NaN.
    if (!std::isfinite(kernels::widened(TypeParam{one}) + kernels::widened(TypeParam{other}))) continue;
    numbers.push_back(one);
    next.push_back(other);
  }
  ASSERT_GT(numbers.size(), 63000u);
  const std::vector<std::uint16_t> same = attended<TypeParam>(numbers, {}), middle = attended<TypeParam>(numbers, next);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float x = kernels::widened(TypeParam{numbers[i]}), y = kernels::widened(TypeParam{next[i]});
    // 0 is no sum's -0.
    if (x != 0) {
      ASSERT_EQ(same[i], numbers[i]);
    }
    ASSERT_EQ(middle[i], kernels::narrowed<TypeParam>((x + y) * 0.5F).bits) << x << ' ' << y;
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
