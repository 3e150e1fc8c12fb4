#pragma once

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The nearest lengths that the domain has.
void fit_shape(AttentionShape& shape, const Domain& domain);

}  // namespace softcheck::proptests
