#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "judge/results/given_tensor.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// An array in NumPy's format, with the header's dtype: "<f4".
struct NpyArray {
  GivenTensor tensor;  // points into the bytes
  std::string descr;
};

/// Parses a .npy file of version 1, 2 or 3 strictly: little-endian f2, f4, f8, u1 and b1 (the last two are masks), C or
/// Fortran order, and exactly the shape's number of bytes. Format: numpy/lib/format.py, "Format Version 1.0" to "3.0".
///
/// name     of the file, for errors
/// voids    format of '|V2' or '|V1' elements, with as many bytes; nothing: refuse them
/// throws   models::TensorFileError
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name,
                   std::optional<numerics::Format> voids = std::nullopt);

/// A member of an .npz archive, unpacked: a .npy file in memory.
struct NpzMember {
  std::string name;  // without ".npy"
  std::shared_ptr<const std::byte[]> holder;
  std::span<const std::byte> bytes;
};

/// Unpacks this member, stored or deflated, and checks its checksum; the only member if `wanted` is empty. Checks the
/// archive's sizes against the file and the machine's memory before allocating.
///
/// bytes    of the archive
/// name     of the file, for errors
/// throws   models::TensorFileError; models::UnsupportedTensorFile if this build has no libzip
NpzMember read_npz_member(std::span<const std::byte> bytes, const std::string& name, const std::string& wanted);

}  // namespace softcheck::proptests
