#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::experiments {

// The numbers of the max-retrieval network as the tensors of a file: NAME.weight (outputs, inputs) and NAME.bias
// (outputs).

/// Parameters as tensors, and back.
///
/// throws   models::TensorFileError when a tensor is missing, foreign, of another shape or not finite
TensorFile tensors_of(const Floats& parameters);
Floats parameters_of(const TensorFile& file, const std::string& name);

/// Adds values, one for each parameter, as tensors whose names begin with prefix.
void put_network(TensorFile& file, const std::string& prefix, const Floats& values);

/// Reads such values back from a file; name is the file's, for errors.
class NetworkTaker {
 public:
  NetworkTaker(const TensorFile& file, const std::string& name) : file_(file), name_(name) {}

  Floats all(const std::string& prefix);
  void require_nothing_else() const;

 private:
  void take(const std::string& tensor, const std::vector<std::int64_t>& shape, Floats& values);

  const TensorFile& file_;
  const std::string& name_;
  std::size_t taken_ = 0;
};

}  // namespace softcheck::experiments
