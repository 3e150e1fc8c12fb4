#include "judge/campaigns/checkpoint_digest.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "experiments/sha256.hpp"
#include "models/read/element_format.hpp"
#include "models/report/layer_tensors.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::uint64_t sampled_bytes = 4096;
constexpr std::uint64_t all_bytes = std::numeric_limits<std::uint64_t>::max();

/// Hashes piece by piece, so that no tensor is in memory as a whole.
models::BytePieces add_hashes_to(std::string& line) {
  return [&line](std::span<const std::byte> piece) {
    line += " " + experiments::sha256(std::string_view(reinterpret_cast<const char*>(piece.data()), piece.size()));
  };
}

std::string line_of(const models::Checkpoint& file, const models::StoredTensor& tensor, std::uint64_t most) {
  std::string line = tensor.name + " " + tensor.dtype;
  for (const std::int64_t size : tensor.shape) line += " " + std::to_string(size);
  // Some checkpoints contain types that are never read, such as a boolean causal mask.
  const bool known = models::find_element_format(tensor.dtype) != nullptr;
  if (known) models::read_stored_bytes(file, tensor, most, add_hashes_to(line));
  return line + "\n";
}

}  // namespace

CheckpointDigests checkpoint_digests(const models::Checkpoint& file, const models::ModelDescription& model, int layer,
                                     bool vocabulary) {
  std::string head = file.format();
  models::read_description_bytes(file, add_hashes_to(head));
  head += "\n";
  std::string all = head, read = head;
  for (const std::string& name : file.names()) all += line_of(file, *file.find(name), sampled_bytes);
  for (const std::string& name : models::tensors_of_layer(model, layer, vocabulary)) {
    read += line_of(file, *file.find(name), all_bytes);
  }
  return {experiments::sha256(all), experiments::sha256(read)};
}

}  // namespace softcheck::proptests
