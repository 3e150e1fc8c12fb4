#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// The result of a training.
struct TrainedNetwork {
  std::uint64_t seed = 0;
  std::string instructions;  // vector instructions; others round differently
  // "last loss", "accuracy at 16"; in the same order for all seeds
  std::vector<std::pair<std::string, double>> metrics;
  std::map<std::string, std::string> files;  // bytes by name: model.safetensors, and for a language model config.json

  /// SHA-256 of model.safetensors.
  std::string sha256() const;
};

inline constexpr const char* network_file = "model.safetensors";

/// The answer to one question, and data of the machine that gave it.
struct JudgedAnswer {
  std::string asked;          // Question::text()
  std::string source_sha256;  // of the library, or of the bytes that a layer's certificate reads; empty for a training
  std::string checkpoint_sha256;               // of the layer's whole checkpoint: checkpoint_digests()
  std::vector<ReportRow> rows;                 // without seconds, certificates and coverage
  std::string layer;                           // for a layer: models::stored_report
  std::optional<TrainedNetwork> network = {};  // for a training

  // Differs between machines or runs, so no report has it.
  double seconds = 0;
  std::string isolation;             // what isolated the kernel from the judge
  std::vector<std::string> printed;  // the last lines that the kernel printed
  std::int64_t resumed_at = 0;       // the step from which the training continued
};

/// The result of one process for a shard.
struct ShardFile {
  std::string key;      // Shard::key
  std::string plan;     // Plan::hash of its plan; other plans may contain the same shard
  std::string version;  // of softcheck
  std::string commit;
  std::string host;  // class of the machine, not its name
  std::vector<JudgedAnswer> answers;
};

/// JSON Lines: a head, a line per answer, and an end with the SHA-256 of all preceding lines. Doubles are hexadecimal.
std::string to_text(const ShardFile& file);

/// The answer's line in the file: equal if two machines agree.
std::string answer_text(const JudgedAnswer& answer);

/// Parses a complete file.
/// throws   std::invalid_argument with the error: it was cut off, changed, or is no such file
ShardFile parse_shard_file(std::string_view text);

/// Writes a temporary file, waits until it is on disk, and renames it: readers never see a part of it, even after a
/// crash of the machine.
/// throws   std::system_error with the path and the reason
void write_shard_file(const std::filesystem::path& path, std::string_view text);

/// RFC 4648, section 4, with padding: bytes as text for JSON.
std::string base64(std::string_view bytes);

/// The inverse of base64.
///
/// throws   std::invalid_argument if the text is not base64
std::string bytes_of_base64(std::string_view text);

/// SHA-256s of what a layer's certificate is about.
struct CheckpointDigests {
  /// Covers the configuration, the names, types and shapes of all tensors, and the first 4096 bytes of each: equal for
  /// all layers of a checkpoint, and cheap even for hundreds of gigabytes. It distinguishes trainings, but not files
  /// that differ in a few numbers.
  std::string checkpoint;
  /// Covers the configuration and every byte of the tensors that the layer's certificate reads.
  std::string layer;
};

/// vocabulary   as in tensors_of_layer
/// throws       as Checkpoint::read
CheckpointDigests checkpoint_digests(const models::Checkpoint& file, const models::ModelDescription& model, int layer,
                                     bool vocabulary);

}  // namespace softcheck::proptests
