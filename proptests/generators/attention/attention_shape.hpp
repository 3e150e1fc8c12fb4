#pragma once

#include <cstddef>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The nearest lengths that the domain has.
void fit_shape(AttentionShape& shape, const Domain& domain);

/// Of queries, keys, values and a mask.
std::size_t numbers_of(const AttentionShape& shape);

}  // namespace softcheck::proptests
