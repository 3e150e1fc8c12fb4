#pragma once

#include <span>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

struct AttentionCase;

/// The maps of differential attention. The second one's query or key follows from the first one's alone, so that each
/// query and key keeps it in a part of the call: turned by one dimension and multiplied by 0, +-1 or +-1/2, which
/// changes from vector to vector. A NaN among numbers belongs to one map, by its place.
struct TwoMaps {
  std::vector<double> first, second;
};

/// vectors    (..., dim), of queries or of keys
TwoMaps two_maps(std::span<const double> vectors, std::size_t dim, numerics::Format format);
/// Does a NaN in this element of a vector, the only one there, belong to the second map?
bool is_of_second_map(std::size_t element, std::size_t dim);

/// lambda of every head: usual ones, and some beyond [0, 1]. They follow from the scale.
std::vector<double> usual_lambdas(const AttentionCase& attention);

}  // namespace softcheck::proptests
