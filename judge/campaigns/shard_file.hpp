#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// What a training made.
struct TrainedNetwork {
  std::uint64_t seed = 0;
  std::string instructions;                             // vector instructions; other ones round otherwise
  std::vector<std::pair<std::string, double>> metrics;  // "last loss", "accuracy at 16"; one order for all seeds
  std::map<std::string, std::string> files;             // bytes by name: model.safetensors and, of a language
                                                        // model, config.json

  /// SHA-256 of model.safetensors.
  std::string sha256() const;
};

inline constexpr const char* network_file = "model.safetensors";

/// The answer to one question, and what only the machine that gave it knows.
struct JudgedAnswer {
  std::string asked;              // Question::text()
  std::string source_sha256;      // of the library; of the bytes that a layer's certificate reads; of a training none
  std::string checkpoint_sha256;  // of a layer's whole checkpoint: checkpoint_digests()
  std::vector<ReportRow> rows;    // without seconds, certificates and coverage
  std::string layer;              // of a layer: models::stored_report
  std::optional<TrainedNetwork> network = {};  // of a training

  // Differs between machines or from run to run: no report has it.
  double seconds = 0;
  std::string isolation;             // what kept the kernel from the judge
  std::vector<std::string> printed;  // the last lines that the kernel printed
  std::int64_t resumed_at = 0;       // the step that a training went on from
};

/// What one process leaves of a shard.
struct ShardFile {
  std::string key;      // Shard::key
  std::string plan;     // Plan::hash: the plan that it was judged for; another one may have the same shard
  std::string version;  // of softcheck
  std::string commit;
  std::string host;  // the class of the machine, not its name
  std::vector<JudgedAnswer> answers;
};

/// JSON Lines: a head, a line for each answer, and an end with the SHA-256 of all before it. Doubles are hexadecimal.
std::string to_text(const ShardFile& file);

/// The answer alone, as it stands in the file: equal where two machines agree.
std::string answer_text(const JudgedAnswer& answer);

/// Reads a whole file.
/// throws   std::invalid_argument saying what is wrong: it was cut off, changed, or is another thing
ShardFile parse_shard_file(std::string_view text);

/// Writes the file beside its place, waits until the disk has it, and renames it: no reader sees a part of it, and no
/// crash of the machine leaves one.
/// throws   std::system_error naming the path and the reason
void write_shard_file(const std::filesystem::path& path, std::string_view text);

/// RFC 4648, section 4, with its padding: bytes as a text of JSON holds them.
std::string base64(std::string_view bytes);

/// The bytes of such a text.
///
/// throws   std::invalid_argument where the text is none
std::string bytes_of_base64(std::string_view text);

}  // namespace softcheck::proptests
