#pragma once

#include <string>

#include "cli/output.hpp"
#include "models/report/checkpoint_run.hpp"

namespace softcheck::cli {

/// Flags of `softcheck model` for checkpoints of Transformers.
struct CheckpointFlags {
  models::CheckpointQuestion question;
  std::string html;        // file for a page of its certificates; "": none
  bool all_heads = false;  // list all heads in the table
};

/// Call inside a catch block: turns an exception of models:: about a checkpoint into an InputError that begins with the
/// verb.
///
/// throws   InputError with the exit code for the error; any other exception unchanged
[[noreturn]] void rethrow_about_checkpoint(const std::string& verb, const std::string& path);

/// Runs a job that reads the checkpoint at a path, and returns its result.
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

/// True for a folder, a .gguf file, or a .safetensors file with config.json in its folder; else the path is one of our
/// own networks.
bool is_checkpoint(const std::string& path);

/// Certifies the heads of one checkpoint, and prints and writes the requested reports.
///
/// throws   InputError with the exit code for the error
int run_checkpoint(const CheckpointFlags& flags, const OutputFlags& output);

}  // namespace softcheck::cli
