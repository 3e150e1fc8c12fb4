#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/bounds/head_certificate.hpp"
#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {

/// A report as one line of JSON: what to_table, to_json, to_html and certify_report read of it, every double bit for
/// bit. Certificates, observations and seconds are left out.
std::string stored_report(const CheckpointReport& report);

/// The report that was stored; its heads have the members that are printed and no places of tensors.
///
/// throws   std::invalid_argument where the text is none
CheckpointReport report_from(std::string_view text);

/// The report of all layers of a checkpoint from reports of some of them: to_table, to_json and to_html say byte for
/// byte what one certification of these layers says.
///
/// parts     of one checkpoint and one question, in the order of their layers
/// fail_if   gates (gate.hpp), certified behind the claims
/// throws    std::invalid_argument where there is no part, two parts describe two models or a layer stands twice
CheckpointReport joined(std::vector<CheckpointReport> parts, const std::vector<std::string>& fail_if);

/// The numbers of a certificate for a file. Of its head it has the place in the model alone.
nlohmann::json stored_head(const HeadCertificate& certificate);

/// The certificate that was stored: enclosures as wide as their ends in double.
///
/// throws   std::invalid_argument or nlohmann::json::exception where the entry is none
HeadCertificate head_from(const nlohmann::json& entry);

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
