#include "judge/results/files/npy_file.hpp"
#include "judge/results/files/tensor_file.hpp"
#include "models/read/safetensors_header.hpp"

#ifdef SOFTCHECK_HAS_LIBZIP
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace softcheck::proptests {
namespace {

using models::TensorFileError;

// A file of tensors does not have more members.
constexpr zip_int64_t most_members = 1 << 16;

std::string zip_reason(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

// A read-only archive. Its bytes must outlive it.
class ZipArchive {
 public:
  ZipArchive(std::span<const std::byte> bytes, const std::string& name) : size_(bytes.size()), name_(name) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* const source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source == nullptr) throw models::TensorFileError(name + ": " + zip_reason(error));
    archive_ = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
    if (archive_ == nullptr) {
      zip_source_free(source);
      // An archive starts with a member, but libzip recognizes it by the directory at its end.
      constexpr std::string_view member = "PK\3\4";
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      const bool ends_early = text.starts_with(member) && zip_error_code_zip(&error) == ZIP_ER_NOZIP;
      const std::string reason = zip_reason(error);
      throw models::TensorFileError(name + (ends_early
                                                ? ": ends early: the list of members at an archive's end is missing"
                                                : ": is no .npz archive: " + reason));
    }
    zip_error_fini(&error);
  }
  ~ZipArchive() { zip_discard(archive_); }
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  // Names of the arrays: the members' names without ".npy".
  std::vector<std::string> names() const {
    constexpr std::string_view ending = ".npy";
    const zip_int64_t count = zip_get_num_entries(archive_, 0);
    if (count > most_members) fail("holds " + std::to_string(count) + " members, need at most 65536");
    std::vector<std::string> result;
    std::set<std::string> seen;
    for (zip_int64_t i = 0; i < count; ++i) {
      const char* const member = zip_get_name(archive_, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      if (member == nullptr) fail("a member has no name");
      std::string one = member;
      if (!seen.insert(one).second) fail("has the member '" + one + "' twice");
      if (one.ends_with(ending)) one.resize(one.size() - ending.size());
      result.push_back(std::move(one));
    }
    return result;
  }

  NpzMember unpack(std::size_t index, const std::string& member) const {
    const std::size_t size = checked_size(index, member);
    const std::shared_ptr<std::byte[]> memory(new std::byte[size]);
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(archive_, index, 0), zip_fclose);
    if (file == nullptr) fail("member '" + member + "': " + zip_strerror(archive_));
    std::size_t done = 0;
    // The read at the end of the data also verifies the checksum.
    for (std::byte beyond{};;) {
      const bool is_full = done == size;
      const zip_int64_t got = zip_fread(file.get(), is_full ? &beyond : memory.get() + done, is_full ? 1 : size - done);
      if (got < 0) fail("member '" + member + "': " + zip_file_strerror(file.get()));
      if (got == 0) break;
      if (is_full) fail("member '" + member + "' is longer than it says");
      done += static_cast<std::size_t>(got);
    }
    if (done != size) {
      fail("member '" + member + "' says " + std::to_string(size) + " bytes and has " + std::to_string(done));
    }
    return {member, memory, {memory.get(), size}};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw models::TensorFileError(name_ + ": " + what); }

  std::size_t checked_size(std::size_t index, const std::string& member) const {
    zip_stat_t status;
    constexpr zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(archive_, index, 0, &status) != 0 || (status.valid & needed) != needed) {
      fail("member '" + member + "' has no size");
    }
    if (status.encryption_method != ZIP_EM_NONE) fail("member '" + member + "' is encrypted");
    const bool is_stored = status.comp_method == ZIP_CM_STORE;
    if (!is_stored && status.comp_method != ZIP_CM_DEFLATE) {
      fail("member '" + member + "': need it stored or deflated, got compression method " +
           std::to_string(status.comp_method));
    }
    // Deflate's longest match has 258 bytes in at least two bits (RFC 1951): 1032 bytes per byte.
    constexpr std::uint64_t most_growth = 1032;
    const std::uint64_t most = status.comp_size > size_ ? 0
                               : is_stored              ? status.comp_size
                                                        : (status.comp_size + 1) * most_growth;
    if (status.size > most)
      fail("member '" + member + "' says " + std::to_string(status.size) + " bytes, more than its " +
           std::to_string(status.comp_size) + " in the file can hold");
    const std::uint64_t memory =
        static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    if (status.size > memory / 2) {
      fail("member '" + member + "' unpacks to " + std::to_string(status.size) +
           " bytes, more than half of this machine's memory; a .npy file is mapped instead");
    }
    return status.size;
  }

  std::uint64_t size_;
  const std::string& name_;
  zip_t* archive_ = nullptr;
};

}  // namespace

NpzMember read_npz_member(std::span<const std::byte> bytes, const std::string& name, const std::string& wanted) {
  const ZipArchive archive(bytes, name);
  const std::vector<std::string> names = archive.names();
  const std::size_t index = place_of_name(names, wanted, name);
  return archive.unpack(index, names[index]);
}

}  // namespace softcheck::proptests

#else

namespace softcheck::proptests {

NpzMember read_npz_member(std::span<const std::byte>, const std::string& name, const std::string&) {
  throw models::UnsupportedTensorFile(
      name + ": this build reads no .npz, as libzip (Debian: libzip-dev) was not there; save .npy");
}

}  // namespace softcheck::proptests
#endif
