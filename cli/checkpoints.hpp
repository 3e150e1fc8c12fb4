#pragma once

#include <string>

#include "cli/output.hpp"
#include "models/report/checkpoint_run.hpp"

namespace softcheck::cli {

/// Flags of `softcheck model` that are about checkpoints of Transformers.
struct CheckpointFlags {
  models::CheckpointQuestion question;
  std::string html;        // a page of its certificates; "": none
  bool all_heads = false;  // in the table
};

/// A folder, a .gguf file, or a .safetensors file with config.json beside it; else one of our own networks.
bool is_checkpoint(const std::string& path);

/// Certifies the heads of one checkpoint, prints and writes what was asked for.
///
/// throws   InputError with the exit code of what is wrong
int run_checkpoint(const CheckpointFlags& flags, const OutputFlags& output);

}  // namespace softcheck::cli
