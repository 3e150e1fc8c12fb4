#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

// Writers of files of tensors for tests: small ones of our own, so that a test can write wrong files too.
namespace softcheck::proptests {

/// A folder that goes with the test.
class TensorFolder {
 public:
  TensorFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "softcheck_tensors.XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TensorFolder() { std::filesystem::remove_all(path_); }
  TensorFolder(const TensorFolder&) = delete;
  TensorFolder& operator=(const TensorFolder&) = delete;
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  /// The file's path.
  std::string write(std::string_view name, std::string_view bytes) const {
    // A new file: one that is cut to nothing and written again is flushed to the disk by some systems.
    std::filesystem::remove(path_ / name);
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

/// The lowest bytes of a number, the lowest first.
inline std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

template <class T>
std::string bytes_of_values(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

/// A .npy file around a header's text.
inline std::string npy_around(std::string header, std::string_view data, int version = 1) {
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  while ((8 + length_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} + little_endian(header.size(), length_bytes) +
         header + std::string(data);
}

/// As numpy.save writes it.
inline std::string npy_file(std::string_view descr, std::string_view shape, std::string_view data,
                            bool fortran_order = false, int version = 1) {
  return npy_around("{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                        ", 'shape': " + std::string(shape) + ", }",
                    data, version);
}

inline std::string safetensors_file(std::string_view header, std::string_view data) {
  return little_endian(header.size(), 8) + std::string(header) + std::string(data);
}

/// CRC-32 of zip archives (ISO 3309), a bit at a time.
inline std::uint32_t crc_32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

/// Deflate by blocks that are stored (RFC 1951, 3.2.4).
inline std::string deflated(std::string_view bytes) {
  std::string text;
  do {
    const std::string_view block = bytes.substr(0, 0xffff);
    bytes.remove_prefix(block.size());
    text += little_endian(bytes.empty() ? 1 : 0, 1) + little_endian(block.size(), 2) + little_endian(~block.size(), 2) +
            std::string(block);
  } while (!bytes.empty());
  return text;
}

struct ZipMember {
  std::string name;
  std::string bytes;
  bool is_deflated = false;
  std::uint16_t flags = 0;   // 1: encrypted
  std::uint16_t method = 0;  // where it is neither stored nor deflated
};

/// A zip archive (APPNOTE.TXT, 4.3): members, the central directory, its end.
inline std::string zip_file(std::span<const ZipMember> members) {
  std::string text, directory;
  for (const ZipMember& member : members) {
    const std::string packed = member.is_deflated ? deflated(member.bytes) : member.bytes;
    const std::uint16_t method = member.is_deflated ? 8 : member.method;
    const std::string common = little_endian(20, 2) + little_endian(member.flags, 2) + little_endian(method, 2) +
                               little_endian(0, 4) + little_endian(crc_32(member.bytes), 4) +
                               little_endian(packed.size(), 4) + little_endian(member.bytes.size(), 4) +
                               little_endian(member.name.size(), 2) + little_endian(0, 2);
    directory += std::string("PK\x01\x02") + little_endian(20, 2) + common + little_endian(0, 10) +
                 little_endian(text.size(), 4) + member.name;
    text += std::string("PK\x03\x04") + common + member.name + packed;
  }
  const std::size_t directory_at = text.size();
  return text + directory + std::string("PK\x05\x06") + little_endian(0, 4) + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) + little_endian(directory_at, 4) +
         little_endian(0, 2);
}

}  // namespace softcheck::proptests
