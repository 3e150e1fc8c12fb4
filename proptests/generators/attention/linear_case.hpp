#pragma once

#include <cstddef>
#include <cstdint>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The label of row i of a linear layer's loss, or usual_ignore_index. It follows from the row's numbers and the first
/// weight, so that the row keeps it alone and in another layout: the first, last, likeliest or least likely class, any
/// other, or the ignored one.
std::int64_t label_of_row(const AttentionCase& attention, std::size_t i);

}  // namespace softcheck::proptests
