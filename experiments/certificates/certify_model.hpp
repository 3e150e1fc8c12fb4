#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::experiments {

struct ModelOptions {
  double eps = 0.1;                      // a coefficient below it is dispersed; in (0, 1)
  std::uint64_t items = 1024;            // set size of the entropy floor, >= 1
  std::uint64_t seed = 20241001;         // of all samples
  softcheck_kernel attention = nullptr;  // an attention kernel to run on Corollary B.1's sets; null: none is run
  std::uint64_t kernel_bytes = std::uint64_t{512} << 20;  // most memory for its keys and values
};

/// One claim about one model (docs/certificates.md lists them), with lines for a reader.
struct ModelClaim {
  std::string claim;
  std::vector<numerics::Certificate> certificates;  // at least one
  std::vector<std::string> lines;
  double seconds = 0;
};

/// All claims about a network with these parameters, taken as exact reals, over the whole domain of its inputs:
/// priorities and queries in [0, 1], every class.
///
/// parameters   (parameter_count), finite
/// progress     called with the name of the next claim
/// throws       std::invalid_argument for options out of range or another number of parameters; std::range_error
///              when the network's activations leave the range of double, or no cells enclose its spread
std::vector<ModelClaim> certify_model(const Floats& parameters, const ModelOptions& options = {},
                                      const std::function<void(const std::string&)>& progress = {});

}  // namespace softcheck::experiments
