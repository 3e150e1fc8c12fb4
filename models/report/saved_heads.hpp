#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "models/bounds/head_certificate.hpp"

namespace softcheck::models {

/// Certificates of heads in a file, so that a run which was interrupted can go on. The file is bound to what it is
/// about: the files of the checkpoint with their sizes and times, the question, and the version of softcheck.
class SavedHeads {
 public:
  /// Reads the file where it is there.
  ///
  /// identity   of checkpoint and question: identity_of()
  /// throws     TensorFileError where the file is damaged, or about something else
  SavedHeads(std::filesystem::path path, std::string identity);

  /// The certificate of a head as it was kept: enclosures as wide as their ends in double.
  std::optional<HeadCertificate> find(const HeadDescription& head) const;
  void keep(const HeadCertificate& certificate);
  std::size_t size() const { return heads_.size(); }
  /// Auxiliary the file, then renamed: it is whole at every moment.
  ///
  /// throws   std::system_error where it cannot be written
  void write() const;

 private:
  std::filesystem::path path_;
  std::string identity_;
  std::map<std::pair<int, int>, HeadCertificate> heads_;  // by layer and head
};

/// Names, sizes and times of a checkpoint's files (all of a folder's .json and .safetensors), and what is asked.
///
/// version    of softcheck
std::string identity_of(const std::filesystem::path& checkpoint, const CertifyOptions& options,
                        const std::string& version);

}  // namespace softcheck::models
