#include "judge/campaigns/shard_folder.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "models/read/file_errors.hpp"
#include "models/read/file_source.hpp"

namespace softcheck::proptests {
namespace {

// A shard of a hundred layers with 128 heads has some megabytes.
constexpr std::uint64_t largest_shard = std::uint64_t{1} << 30;

/// Nothing if there is no file; "" for a pipe, a folder or a file that is too large.
std::optional<std::string> contents_of(const std::filesystem::path& path) {
  try {
    return models::read_text_file(path, largest_shard);
  } catch (const models::MissingTensorFile&) {
    return std::nullopt;
  } catch (const models::TensorFileError&) {
    return std::string();
  }
}

/// Does the file answer the shard's questions, in order?
bool is_about(const ShardFile& file, const Shard& shard) {
  if (file.key != shard.key || file.answers.size() != shard.asked.size()) return false;
  for (std::size_t i = 0; i < file.answers.size(); ++i) {
    if (file.answers[i].asked != printable_utf8(shard.asked[i].text())) return false;
  }
  return true;
}

std::optional<ShardFile> whole(const std::string& text, const Shard& shard) {
  try {
    ShardFile file = parse_shard_file(text);
    if (is_about(file, shard)) return file;
  } catch (const std::invalid_argument&) {
    // Treated as missing, so the shard is judged again.
  }
  return std::nullopt;
}

bool is_of(const ShardFile& file, const Shard& shard, const std::string& commit, const SourceDigest& digest_here) {
  if (file.commit != commit) return false;
  for (std::size_t i = 0; i < file.answers.size(); ++i) {
    const std::string here = digest_here(shard.asked[i]);
    if (!here.empty() && here != file.answers[i].source_sha256) return false;
  }
  return true;
}

}  // namespace

const char* to_string(ShardState state) {
  static constexpr const char* names[] = {"finished", "missing", "damaged", "other"};
  return names[static_cast<std::size_t>(state)];
}

std::filesystem::path ShardFolder::path_of(const Shard& shard) const {
  return folder_ / "shards" / (shard.key + ".jsonl");
}

std::vector<ShardState> ShardFolder::states(const Plan& plan, const std::string& commit,
                                            const SourceDigest& digest_here) const {
  std::vector<ShardState> states;
  for (const Shard& shard : plan.shards) {
    const std::optional<std::string> text = contents_of(path_of(shard));
    const std::optional<ShardFile> file = text ? whole(*text, shard) : std::nullopt;
    states.push_back(!text                                      ? ShardState::missing
                     : !file                                    ? ShardState::damaged
                     : is_of(*file, shard, commit, digest_here) ? ShardState::finished
                                                                : ShardState::other);
  }
  return states;
}

std::vector<ShardFile> ShardFolder::read(const Plan& plan) const {
  std::vector<ShardFile> files;
  for (const Shard& shard : plan.shards) {
    const std::optional<std::string> text = contents_of(path_of(shard));
    if (!text) continue;
    if (std::optional<ShardFile> file = whole(*text, shard)) files.push_back(std::move(*file));
  }
  return files;
}

std::vector<std::size_t> share_of(std::size_t shards, std::size_t share, std::size_t shares) {
  if (share < 1 || share > shares) throw std::invalid_argument("share_of: need 1 <= share <= shares");
  std::vector<std::size_t> numbers;
  for (std::size_t number = share; number <= shards; number += shares) numbers.push_back(number);
  return numbers;
}

}  // namespace softcheck::proptests
