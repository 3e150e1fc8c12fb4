#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace softcheck::proptests {

/// Which of a file's tensors is wanted: the one of that name, or the only one where wanted is empty.
///
/// file     its name, for errors
/// throws   models::TensorFileError naming those that the file holds
std::size_t place_of_name(std::span<const std::string> names, const std::string& wanted, const std::string& file);

}  // namespace softcheck::proptests
