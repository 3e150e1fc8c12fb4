#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace softcheck::proptests {

class Draw;

/// A class per dimension, or none yet.
using ClassChoice = std::vector<std::optional<std::size_t>>;

/// Choices of one class per dimension that contain every pair of classes of two dimensions that some possible choice
/// contains: a covering array of strength 2, built greedily.
///
/// counts     number of classes per dimension, each >= 1
/// possible   can a call have these classes, with the unchosen dimensions free? If not, no extension of the choice may
///            be possible
/// returns    complete choices
std::vector<std::vector<std::size_t>> covering_choices(const std::vector<std::size_t>& counts,
                                                       const std::function<bool(const ClassChoice&)>& possible,
                                                       Draw& draw);

/// Choices that contain every class: strength 1.
std::vector<std::vector<std::size_t>> touching_choices(const std::vector<std::size_t>& counts,
                                                       const std::function<bool(const ClassChoice&)>& possible,
                                                       Draw& draw);

}  // namespace softcheck::proptests
