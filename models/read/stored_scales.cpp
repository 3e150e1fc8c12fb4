#include "models/read/stored_scales.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/read/file_errors.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::models {
namespace {

const std::string section = "quantization_config";

/// Rows and columns that share a scale where a scale belongs to neither the matrix nor a row.
using BlockShape = std::optional<std::array<std::int64_t, 2>>;

class QuantisationConfig {
 public:
  explicit QuantisationConfig(const Config& config) : config_(config) {}

  BlockShape of_fp8() const {
    allow_keys(section, {"activation_scheme", "dequantize", "fmt", "modules_to_not_convert", "quant_method",
                         "scale_fmt", "weight_block_size"});
    require(section + ".fmt", {"e4m3"}, "e4m3");
    return block_shape(section + ".weight_block_size");
  }

  BlockShape of_compressed_tensors() const {
    allow_keys(section, {"config_groups", "format", "global_compression_ratio", "ignore", "quant_method",
                         "quantization_status", "sparsity_config", "transform_config", "version"});
    allow_keys(section + ".sparsity_config", {"format", "ignore", "registry_requires_subclass", "targets"});
    require(section + ".sparsity_config.format", {"dense"}, "dense");
    allow_keys(section + ".transform_config", {});
    require_format(section + ".format");
    BlockShape shape;
    for (const std::string& name : config_.keys(section + ".config_groups")) {
      const std::string group = section + ".config_groups." + name, weights = group + ".weights";
      allow_keys(group, {"format", "input_activations", "targets", "weights"});
      allow_keys(weights, {"block_structure", "dynamic", "num_bits", "observer", "observer_kwargs", "scale_dtype",
                           "strategy", "symmetric", "type", "zp_dtype"});
      require_format(group + ".format");
      require(weights + ".strategy", {"tensor", "channel", "block"}, "tensor");
      require(weights + ".type", {"float", "int"}, "int");
      if (config_.integer(weights + ".num_bits").value_or(8) != 8) refuse(weights + ".num_bits");
      if (!config_.boolean(weights + ".symmetric").value_or(true)) refuse(weights + ".symmetric");
      if (config_.boolean(weights + ".dynamic").value_or(false)) refuse(weights + ".dynamic");
      const BlockShape block = block_shape(weights + ".block_structure");
      if (shape && block && *shape != *block) refuse(weights + ".block_structure");
      if (block) shape = block;
    }
    return shape;
  }

 private:
  [[noreturn]] void refuse(const std::string& path) const {
    throw UnsupportedTensorFile(config_.file() + ": the key " + path + " describes a quantisation that is not read");
  }

  void allow_keys(const std::string& path, std::initializer_list<std::string_view> known) const {
    for (const std::string& key : config_.keys(path)) {
      if (config_.has(path + "." + key) && std::ranges::find(known, key) == known.end()) refuse(path + "." + key);
    }
  }

  void require(const std::string& path, std::initializer_list<std::string_view> known, const char* fallback) const {
    const std::string value = config_.text(path).value_or(fallback);
    if (std::ranges::find(known, value) == known.end()) refuse(path);
  }

  void require_format(const std::string& path) const {
    require(path, {"float-quantized", "int-quantized", "naive-quantized"}, "float-quantized");
  }

  BlockShape block_shape(const std::string& path) const {
    const std::optional<std::vector<std::int64_t>> sizes = config_.integers(path);
    if (!sizes) return std::nullopt;
    if (sizes->size() == 2 && (*sizes)[0] > 0 && (*sizes)[1] > 0) return std::array{(*sizes)[0], (*sizes)[1]};
    throw TensorFileError(config_.file() + ": the key " + path + ": need two sizes > 0");
  }

  const Config& config_;
};

bool has_eight_bits(const StoredTensor& tensor) {
  return tensor.dtype == "I8" || std::ranges::any_of(numerics::all_formats(), [&](numerics::Format format) {
           const numerics::FormatProperties& p = numerics::properties(format);
           return p.storage_bits == 8 && p.file_name == tensor.dtype;
         });
}

std::int64_t blocks(std::int64_t size, std::int64_t block) { return size / block + (size % block != 0 ? 1 : 0); }

StoredScale scale_of(const StoredTensor& weight, const PlacedTensor& scale, const BlockShape& shape) {
  const std::string what = scale.bytes.file + ": tensor '" + scale.tensor.name + "': ";
  // A scale of at most 24 bits times a number of at most 8 is a double.
  if (scale.tensor.dtype != "F32" && scale.tensor.dtype != "BF16" && scale.tensor.dtype != "F16") {
    throw UnsupportedTensorFile(what + "need scales in F32, F16 or BF16, got " + scale.tensor.dtype);
  }
  const std::int64_t rows = scale.tensor.rows(), columns = scale.tensor.columns();
  StoredScale result{scale.tensor, scale.bytes, weight.rows(), weight.columns()};
  if (scale.tensor.shape.size() <= 2 && rows == 1 && columns == 1) return result;
  if (scale.tensor.shape.size() == 2 && rows == weight.rows() && columns == 1) {
    result.block_rows = 1;
    return result;
  }
  if (shape && scale.tensor.shape.size() == 2 && rows == blocks(weight.rows(), (*shape)[0]) &&
      columns == blocks(weight.columns(), (*shape)[1])) {
    result.block_rows = (*shape)[0];
    result.block_columns = (*shape)[1];
    return result;
  }
  throw TensorFileError(what + "need a scale for the matrix" + (shape ? ", each row or each block" : " or each row") +
                        " of " + weight.name + ", its shape is another");
}

/// gpt-oss' experts: X_blocks (..., 16) has 32 numbers of 4 bits a block, X_scales a power of two for each.
void attach_mxfp4(TensorPlaces& places) {
  const std::string blocks_end = "_blocks";
  std::vector<std::string> attached;
  for (auto& [name, place] : places) {
    if (!name.ends_with(blocks_end)) continue;
    const std::string scale_name = name.substr(0, name.size() - blocks_end.size()) + "_scales";
    const auto scale = places.find(scale_name);
    std::vector<std::int64_t> shape = place.tensor.shape;
    const std::int64_t bytes = shape.empty() ? 0 : shape.back();
    if (!shape.empty()) shape.pop_back();
    if (scale == places.end() || place.tensor.dtype != "U8" || scale->second.tensor.dtype != "U8" || bytes != 16 ||
        shape.size() < 2 || scale->second.tensor.shape != shape) {
      throw TensorFileError(place.bytes.file + ": tensor '" + name + "': need blocks of 16 bytes in U8, and " +
                            scale_name + " with a byte for each");
    }
    StoredTensor factors{scale_name, "F8_E8M0", shape};
    place.scale = std::make_shared<const StoredScale>(StoredScale{factors, scale->second.bytes, 1, 32});
    shape.back() *= 32;
    place.tensor = {name, "MXFP4_BLOCKS", shape};
    attached.push_back(scale_name);
  }
  for (const std::string& name : attached) places.erase(name);
}

}  // namespace

bool attach_scales(const Config& config, TensorPlaces& places) {
  if (!config.has(section)) return false;
  const std::optional<std::string> method = config.text(section + ".quant_method");
  if (method == "mxfp4") attach_mxfp4(places);
  const bool fp8 = method == "fp8";
  if (!fp8 && method != "compressed-tensors") return false;
  const QuantisationConfig quantisation(config);
  const BlockShape shape = fp8 ? quantisation.of_fp8() : quantisation.of_compressed_tensors();
  std::vector<std::string> attached;
  for (auto& [name, place] : places) {
    if (!name.ends_with(".weight") || !has_eight_bits(place.tensor)) continue;
    const std::string scale_name = name + (fp8 ? "_scale_inv" : "_scale");
    const auto scale = places.find(scale_name);
    if (scale == places.end()) {
      throw TensorFileError(place.bytes.file + ": tensor '" + name + "': need its scales, " + scale_name +
                            ", they are not there");
    }
    if (place.tensor.shape.size() != 2) {
      throw UnsupportedTensorFile(place.bytes.file + ": tensor '" + name + "': need a matrix to scale");
    }
    if (places.contains(name + "_zero_point")) {
      throw UnsupportedTensorFile(place.bytes.file + ": tensor '" + name + "_zero_point' is not read");
    }
    place.scale = std::make_shared<const StoredScale>(scale_of(place.tensor, scale->second, shape));
    attached.push_back(scale_name);
    attached.push_back(name.substr(0, name.size() - std::string_view("weight").size()) + "input_scale");
  }
  for (const std::string& name : attached) places.erase(name);
  return true;
}

}  // namespace softcheck::models
