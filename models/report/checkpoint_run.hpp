#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "models/bounds/certify_checkpoint.hpp"
#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {

/// What is asked about a checkpoint.
struct CheckpointQuestion {
  std::string path;
  CertifyOptions options;
  std::string layers;                    // "3", "0-3"; "": all
  std::string activations;               // recorded queries and keys; "": none
  std::string tokens;                    // ids of tokens, on which the model is run; "": none. Not beside activations
  softcheck_kernel attention = nullptr;  // softcheck_attention, which a run on tokens calls
  std::vector<std::string> fail_if;      // gates (gate.hpp)
  bool vocabulary = false;               // enumerate what the first layer's heads can see, too
  std::string resume;                    // a file that keeps what is done until all is; "": none
  std::string version;                   // of softcheck: what another made is not taken up
  unsigned threads = 0;                  // 0: all of the machine's
  /// Called by one thread at a time.
  std::function<void(int layer, std::size_t done, std::size_t asked)> progress;
  std::function<void(std::int64_t layer)> run_progress;  // before each layer that is run on tokens
  std::function<bool()> stop;                            // asked between heads, and layers
};

/// Opens, describes and certifies.
///
/// throws   as SavedHeads, open_checkpoint, describe, certify_heads, enumerate_first_layer, observe, read_token_ids and
///          ForwardPass do; std::invalid_argument naming the option that is wrong
CheckpointReport certify_checkpoint(const CheckpointQuestion& question);

/// What is wrong with a text as layers, "" where nothing is.
std::string wrong_layers(const std::string& text);

/// "3" or "0-3"; none where the text is neither.
std::optional<LayerRange> parse_layers(const std::string& text);

}  // namespace softcheck::models
