#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// A tensor and the memory that it lies in.
struct StoredTensor {
  numerics::Format format = numerics::Format::f32;
  bool is_mask = false;
  std::vector<std::int64_t> shape, strides;
  std::int64_t offset = 0;        // of the first element, in elements
  std::vector<std::byte> memory;  // holds what is in no element, too

  GivenTensor held() const;
  /// value rounded to the format, or the byte of a mask, at an index in the row-major order of the shape.
  void set(std::size_t element, double value);
  double at(std::size_t element) const;

 private:
  std::int64_t place_of(std::size_t element) const;
};

/// How a stored tensor lies in memory.
enum class SampleLayout { compact, column_major, reversed, gaps };

/// values   row-major, rounded to the format
StoredTensor stored(numerics::Format format, const std::vector<std::int64_t>& shape, const std::vector<double>& values,
                    SampleLayout layout = SampleLayout::compact);
/// bytes    nonzero is visible
StoredTensor stored_mask(const std::vector<std::int64_t>& shape, const std::vector<std::uint8_t>& bytes,
                         SampleLayout layout = SampleLayout::compact);

/// Logits of the format between -spread and spread, the same for the same seed.
std::vector<double> sample_numbers(numerics::Format format, std::size_t count, double spread, unsigned seed);

/// What a kernel without an error would return: reference() to the middle, rounded to the format.
std::vector<double> ideal_output(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                                 numerics::Format format);

/// The row of a claim; throws std::out_of_range where there is none.
const ReportRow& row_of_claim(const TensorJudgement& judgement, const std::string& claim);
std::string details_text(const TensorJudgement& judgement);

/// What a call that is refused says of it; "not refused".
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace softcheck::proptests
