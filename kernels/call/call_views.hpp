#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/call/elements.hpp"

namespace softcheck::kernels::call {

/// The inputs and outputs of a kernel of the softmax family. Each takes logits first and a mask last, if any.
enum class Form {
  elements,              // one value an element, in the logits' format
  elements_and_entropy,  // and, if the call has a second output, the entropy of each row
  rows,                  // one value a row
  statistics,            // one to four values per row, each in its own output
  gradient,              // logits and the gradient of a loss; one value an element
};

struct CallViews {
  View logits;
  std::optional<View> gradient;
  std::optional<View> mask;
  std::array<View, 4> outputs;
  std::uint32_t n_outputs = 0;
  double theta = 1;

  const View& output() const { return outputs[0]; }
  const View* mask_or_null() const { return mask ? &*mask : nullptr; }
  /// Whether all outputs have one format.
  bool of_one_format() const {
    return std::all_of(outputs.begin(), outputs.begin() + n_outputs,
                       [&](const View& view) { return view.storage == outputs[0].storage; });
  }
  /// The second output of elements_and_entropy.
  const View* entropy_or_null() const { return n_outputs > 1 ? &outputs[1] : nullptr; }
};

/// How elements of a type lie in memory; nothing if no kernel here reads them.
std::optional<Storage> storage_of(DLDataType type);

/// A tensor of this rank on the CPU, of such elements, as a view; nothing if a kernel is to refuse it.
std::optional<View> view_of(const DLTensor* tensor, int rank);

/// The addresses of a matrix of int32 on the CPU; the view's storage has no meaning. Nothing if a kernel must refuse
/// it.
std::optional<View> ids_of(const DLTensor* tensor);

/// Classes of rows, int32 or int64.
class Labels {
 public:
  std::int64_t rows() const { return places_.rows; }
  std::int64_t operator[](std::int64_t row) const {
    const std::byte* from = places_.at(row, 0);
    return is_wide_ ? load_bits<std::int64_t>(from) : load_bits<std::int32_t>(from);
  }

 private:
  Labels(const View& places, bool is_wide) : places_(places), is_wide_(is_wide) {}
  friend std::optional<Labels> labels_of(const DLTensor* tensor);

  View places_;
  bool is_wide_;
};

/// Nothing if these are no labels (rows) on the CPU.
std::optional<Labels> labels_of(const DLTensor* tensor);

/// The tensors of a call of the softmax family as views; nothing if the call is to be refused.
std::optional<CallViews> call_views(const softcheck_call* call, Form form);

}  // namespace softcheck::kernels::call
