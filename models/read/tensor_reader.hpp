#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "models/read/checkpoint.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

/// A stored tensor's bytes.
struct TensorBytes {
  ByteSource source;
  std::string file;         // for errors
  std::uint64_t begin = 0;  // of its first element in the file
};

/// Checkpoint::read of a tensor that stands in a file row by row, without gaps, and wholly. About a mebibyte of the
/// file is in memory at a time; parts of rows that lie far apart take a read each.
///
/// tensor   rows of whole blocks
/// throws   as Checkpoint::read does
TensorBlock read_tensor_block(const TensorBytes& place, const StoredTensor& tensor, IndexRange rows,
                              IndexRange columns);

/// Checkpoint::read_pieces of such a tensor.
void read_tensor_pieces(const TensorBytes& place, const StoredTensor& tensor, std::uint64_t most,
                        const std::function<void(std::span<const std::byte>)>& piece);

}  // namespace softcheck::models
