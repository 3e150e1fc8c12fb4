#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "judge/results/given_tensor.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// An array as NumPy saves it, and its dtype as the header has it: "<f4".
struct NpyArray {
  GivenTensor tensor;  // points into the bytes
  std::string descr;
};

/// Reads a .npy file of version 1, 2 or 3 strictly: little-endian f2, f4, f8, u1 and b1 (the last two are masks), C or
/// Fortran order, as many bytes of data as the shape needs and not one more.
/// Format: numpy/lib/format.py, "Format Version 1.0" to "3.0".
///
/// name     of the file, for errors
/// voids    what '|V2' or '|V1' is, a format of as many bytes; nothing: refused
/// throws   models::TensorFileError
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name,
                   std::optional<numerics::Format> voids = std::nullopt);

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
