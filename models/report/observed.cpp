#include "models/report/observed.hpp"

#include <map>
#include <regex>
#include <string>

#include "models/read/file_source.hpp"
#include "models/read/tensor_reader.hpp"
#include "models/report/head_observer.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::models {

using numerics::BallMatrix;

namespace {

struct Recorded {
  SafetensorsEntry query, key;
  std::int64_t layer = 0;
};

class Activations {
 public:
  explicit Activations(const std::filesystem::path& path)
      : name_(path.string()), source_(open_file_source(path)), header_(read_safetensors_header(source_, name_)) {}

  const std::string& name() const { return name_; }

  // Pairs of a query and a key tensor, by what stands before ".query" and ".key".
  std::vector<Recorded> pairs() const {
    static const std::regex pattern(R"((.*\.)?layers\.(\d{1,6})\.(query|key))");
    std::map<std::string, Recorded> by_stem;
    for (const SafetensorsEntry& entry : header_.tensors) {
      std::smatch match;
      if (!std::regex_match(entry.name, match, pattern)) continue;
      Recorded& recorded = by_stem[entry.name.substr(0, entry.name.rfind('.'))];
      recorded.layer = std::stoll(match[2]);
      (match[3] == "query" ? recorded.query : recorded.key) = entry;
    }
    if (by_stem.empty()) {
      throw TensorFileError(name_ + ": need tensors 'layers.0.query' and 'layers.0.key', got none of such a name");
    }
    std::vector<Recorded> result;
    for (const auto& [stem, recorded] : by_stem) {
      if (recorded.query.name.empty() || recorded.key.name.empty()) {
        throw TensorFileError(name_ + ": need both '" + stem + ".query' and '" + stem + ".key', got one of them");
      }
      result.push_back(recorded);
    }
    return result;
  }

  // One head's vectors as columns (head_dim, n).
  BallMatrix head(const SafetensorsEntry& entry, std::int64_t head, std::int64_t heads, std::int64_t head_dim) const {
    if (entry.shape.size() != 3 || entry.shape[1] != heads || entry.shape[2] != head_dim) {
      std::string got;
      for (const std::int64_t size : entry.shape) got += (got.empty() ? "" : ", ") + std::to_string(size);
      throw TensorFileError(name_ + ": tensor '" + entry.name + "': need shape (n, " + std::to_string(heads) + ", " +
                            std::to_string(head_dim) + "), got (" + got + ")");
    }
    if (entry.shape[0] < 2) {
      throw TensorFileError(name_ + ": tensor '" + entry.name + "': need two positions or more, got " +
                            std::to_string(entry.shape[0]) + ": the logit of one item has no spread");
    }
    const StoredTensor tensor{entry.name, entry.dtype, {entry.shape[0], heads * head_dim}};
    const TensorBlock block = read_tensor_block({source_, name_, header_.data_begin + entry.begin}, tensor,
                                                {0, entry.shape[0]}, {head * head_dim, head_dim});
    return BallMatrix::exactly(block.values.transpose());
  }

 private:
  std::string name_;
  ByteSource source_;
  SafetensorsHeader header_;
};

}  // namespace

Observation observe(const std::filesystem::path& activations, const ModelDescription& model,
                    const std::vector<HeadCertificate>& certificates) {
  const Activations file(activations);
  const std::vector<Recorded> pairs = file.pairs();
  for (const Recorded& recorded : pairs) {
    if (recorded.layer >= model.layers) {
      throw TensorFileError(file.name() + ": tensor '" + recorded.query.name + "': need a layer of 0-" +
                            std::to_string(model.layers - 1));
    }
  }
  Observation result;
  for (std::size_t place = 0; place < certificates.size(); ++place) {
    const HeadDescription& head = certificates[place].head;
    if (head.distance_bias) {
      throw UnsupportedTensorFile(file.name() + ": need heads whose logits are s q . k, got " + model.architecture +
                                  ", which adds a number by distance");
    }
    const ModelDescription& part = model.part_of(head.layer);
    HeadObserver observer(certificates[place]);
    for (const Recorded& recorded : pairs) {
      if (recorded.layer != head.layer) continue;
      observer.add(file.head(recorded.query, head.head, part.heads, part.head_dim),
                   file.head(recorded.key, head.key_head, part.key_heads, part.head_dim));
    }
    observer.finish(place, file.name(), result);
  }
  return result;
}

}  // namespace softcheck::models
