#pragma once

#include <stdexcept>

namespace softcheck::models {

/// The file is not what it must be; the text names the file and what was expected and found. Exit code 3.
class TensorFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No such file. Exit code 2, of `softcheck check` 3: there a file is the input.
class MissingTensorFile : public TensorFileError {
 public:
  using TensorFileError::TensorFileError;
};

/// A sound file of a kind that is not read, or a model whose certificate would not hold. Exit code 4.
class UnsupportedTensorFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace softcheck::models
