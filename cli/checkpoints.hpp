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

/// From inside a catch block: what models:: throws about a checkpoint, as an InputError that begins with the verb.
///
/// throws   InputError with the exit code of what is wrong; any other exception as it is
[[noreturn]] void rethrow_about_checkpoint(const std::string& verb, const std::string& path);

/// What a job about the checkpoint at a path returns.
///
/// throws   as rethrow_about_checkpoint
template <class Job>
auto of_checkpoint(const std::string& verb, const std::string& path, Job job) {
  try {
    return job();
  } catch (...) {
    rethrow_about_checkpoint(verb, path);
  }
}

/// A folder, a .gguf file, or a .safetensors file with config.json beside it; else one of our own networks.
bool is_checkpoint(const std::string& path);

/// Certifies the heads of one checkpoint, prints and writes what was asked for.
///
/// throws   InputError with the exit code of what is wrong
int run_checkpoint(const CheckpointFlags& flags, const OutputFlags& output);

}  // namespace softcheck::cli
