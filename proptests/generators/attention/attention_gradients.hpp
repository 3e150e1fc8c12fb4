#pragma once

#include <cstddef>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

class Draw;

/// Draws the gradient of the loss by the output of a case whose queries, keys and values are there.
///
/// distinct   rows of it that are drawn; row i of the others is row i % distinct
void draw_gradients(Draw& draw, AttentionCase& attention, std::size_t distinct);

}  // namespace softcheck::proptests
