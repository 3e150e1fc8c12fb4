#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace softcheck::proptests {

class Draw;

/// A class of each dimension, or none yet.
using ClassChoice = std::vector<std::optional<std::size_t>>;

/// Choices of one class in each dimension such that every two classes of two dimensions stand together in one of them,
/// wherever some choice that is possible has both: a covering array of strength 2, made greedily.
///
/// counts     classes of each dimension, each >= 1
/// possible   may a call have these classes, those that are not chosen yet being free? If it may not, no choice that
///            adds to them may.
/// returns    complete choices
std::vector<std::vector<std::size_t>> covering_choices(const std::vector<std::size_t>& counts,
                                                       const std::function<bool(const ClassChoice&)>& possible,
                                                       Draw& draw);

/// Choices such that every class stands in one of them: strength 1.
std::vector<std::vector<std::size_t>> touching_choices(const std::vector<std::size_t>& counts,
                                                       const std::function<bool(const ClassChoice&)>& possible,
                                                       Draw& draw);

}  // namespace softcheck::proptests
