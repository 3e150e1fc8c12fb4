#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace softcheck::proptests
