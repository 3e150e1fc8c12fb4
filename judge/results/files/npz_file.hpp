#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace softcheck::proptests {

/// A member of an .npz archive, unpacked: a .npy file in memory.
struct NpzMember {
  std::string name;  // without ".npy"
  std::shared_ptr<const std::byte[]> holder;
  std::span<const std::byte> bytes;
};

/// Unpacks the member of that name, stored or deflated, and checks its sum; the only one where wanted is empty. What
/// the archive says of sizes is held against the file and the machine's memory before any is taken.
///
/// bytes    of the archive
/// name     of the file, for errors
/// throws   models::TensorFileError; models::UnsupportedTensorFile where this build has no libzip
NpzMember read_npz_member(std::span<const std::byte> bytes, const std::string& name, const std::string& wanted);

}  // namespace softcheck::proptests
