#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <vector>

#include "models/read/file_errors.hpp"
#include "models/read/file_source.hpp"
#include "models/read/strict_json.hpp"
#include "models/report/stored_report.hpp"

namespace softcheck::models {
namespace {

namespace fs = std::filesystem;
using StoredJson = nlohmann::json;

constexpr std::uint64_t largest_file = std::uint64_t{1} << 28;  // a thousand bytes for each of 2^18 heads
constexpr int deepest_nesting = 5;                              // object, heads, a head, intervals, ends
constexpr const char* format = "softcheck heads 2";

}  // namespace

SavedHeads::SavedHeads(fs::path path, std::string identity) : path_(std::move(path)), identity_(std::move(identity)) {
  std::error_code unknown;
  if (!fs::exists(fs::status(path_, unknown))) return;
  const std::string name = path_.string();
  const StoredJson file = unsealed_json(read_text_file(path_, largest_file), name, format, deepest_nesting);
  if (!file.is_object() || !file.contains("identity") || !file.contains("heads")) {
    throw TensorFileError(name + ": need a file that --resume has written, got another");
  }
  if (file["identity"] != identity_) {
    throw TensorFileError(name + ": need the heads of this checkpoint, question and version, got those of another");
  }
  try {
    for (const StoredJson& entry : file["heads"]) keep(head_from(entry));
  } catch (const std::exception& error) {
    throw TensorFileError(name + ": need heads as --resume has written them: " + error.what());
  }
}

std::optional<HeadCertificate> SavedHeads::find(const HeadDescription& head) const {
  const auto found = heads_.find({head.layer, head.head});
  if (found == heads_.end()) return std::nullopt;
  HeadCertificate certificate = found->second;
  certificate.head = head;
  return certificate;
}

void SavedHeads::keep(const HeadCertificate& certificate) {
  heads_[{certificate.head.layer, certificate.head.head}] = certificate;
}

void SavedHeads::write() const {
  StoredJson file = {{"identity", identity_}, {"heads", StoredJson::array()}};
  for (const auto& [place, certificate] : heads_) file["heads"].push_back(stored_head(certificate));
  const fs::path auxiliary = path_.string() + ".partial";
  std::ofstream stream(auxiliary, std::ios::binary | std::ios::trunc);
  stream << sealed_json(file, format);
  stream.close();
  if (!stream) {
    const int error = errno;
    std::error_code ignored;
    fs::remove(auxiliary, ignored);
    throw std::system_error(error, std::generic_category(), "--resume " + path_.string());
  }
  fs::rename(auxiliary, path_);
}

namespace {

// Device, number and last change of a file: a copy of equal size and time is another one.
std::string place_of(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return "";
  return std::to_string(status.st_dev) + " " + std::to_string(status.st_ino) + " " +
         std::to_string(status.st_ctim.tv_sec) + "." + std::to_string(status.st_ctim.tv_nsec) + " ";
}

}  // namespace

std::string identity_of(const fs::path& checkpoint, const CertifyOptions& options, const std::string& version) {
  std::set<std::string> files;
  const auto add = [&](const fs::path& file) {
    std::error_code unknown;
    const auto time = fs::last_write_time(file, unknown).time_since_epoch().count();
    files.insert(file.filename().string() + " " + std::to_string(fs::file_size(file, unknown)) + " " + place_of(file) +
                 std::to_string(time));
  };
  std::error_code unknown;
  const bool folder = fs::is_directory(checkpoint, unknown);
  if (!folder) add(checkpoint);
  const fs::path parent = checkpoint.has_parent_path() ? checkpoint.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder ? checkpoint : parent, unknown)) {
    const fs::path extension = entry.path().extension();
    if (folder ? extension == ".json" || extension == ".safetensors" : entry.path().filename() == "config.json") {
      add(entry.path());
    }
  }
  StoredJson identity = {version, options.eps, options.items, options.context};
  for (const std::string& file : files) identity.push_back(file);
  return identity.dump(-1, ' ', false, StoredJson::error_handler_t::replace);
}

}  // namespace softcheck::models
