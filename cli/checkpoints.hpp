#pragma once

#include <string>
#include <vector>

#include "cli/output.hpp"

namespace softcheck::cli {

/// Flags of `softcheck model` that are about checkpoints of Transformers.
struct CheckpointFlags {
  double eps = 0.1;
  std::uint64_t items = 0;           // 0: the model's context
  std::string layers;                // "", "3" or "0-3"
  std::vector<std::string> fail_if;  // gates
  std::string html;
  std::string activations;  // recorded queries and keys; "": none
  unsigned threads = 0;     // 0: all of the machine's
  bool all_heads = false;
  OutputFlags output;
};

/// A folder, a .gguf file, or a .safetensors file with config.json beside it; else one of our own networks.
bool is_checkpoint(const std::string& path);

/// Certifies the heads of one checkpoint, prints and writes what was asked for.
///
/// throws   InputError with the exit code of what is wrong
int run_checkpoint(const std::string& path, const CheckpointFlags& flags);

/// What is wrong with "3" or "0-3" as layers, "" where nothing is.
std::string wrong_layers(const std::string& text);
/// What is wrong with a gate.
std::string wrong_gate(const std::string& text);

}  // namespace softcheck::cli
