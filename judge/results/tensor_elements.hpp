#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "judge/results/given_tensor.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// Elements of a tensor that stand a stride apart, as doubles, exactly.
///
/// tensor   has a format
/// offset   of the first, in elements from tensor.first
/// stride   in elements, of any sign
void decode_elements(const GivenTensor& tensor, std::int64_t offset, std::int64_t stride, std::span<double> values);

/// Element of a tensor of integers.
std::int64_t integer_at(const GivenTensor& tensor, std::int64_t offset);

/// The items that a mask hides: masked_items[i] becomes hidden where the byte is 0, and stays as it is elsewhere.
void hide_masked(const GivenTensor& mask, std::int64_t offset, std::int64_t stride, double hidden,
                 std::span<double> items);

/// The byte of a mask: nonzero is visible.
bool mask_shows(const GivenTensor& mask, std::int64_t offset);

}  // namespace softcheck::proptests
