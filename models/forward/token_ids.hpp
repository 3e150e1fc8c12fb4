#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace softcheck::models {

/// Inputs of a language model: for each the ids of its tokens, in order.
using TokenIds = std::vector<std::vector<std::int64_t>>;

/// Reads a text of ids: each line that is not blank is one input, ids from 0 to 2^31 - 1 between blanks or commas, with
/// or without brackets around them. So a line may be a JSON array, and numpy.savetxt(fmt="%d") writes such files.
///
/// returns  at least one input, each of at least one id
/// throws   MissingTensorFile where it is not there; TensorFileError naming the line where a line is something else,
///          where there is none, or where the file is larger than 64 MiB
TokenIds read_token_ids(const std::filesystem::path& path);

}  // namespace softcheck::models
