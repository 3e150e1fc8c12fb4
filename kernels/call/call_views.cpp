#include "kernels/call/call_views.hpp"

#include <cmath>
#include <iterator>

namespace softcheck::kernels::call {
std::optional<Storage> storage_of(DLDataType type) {
  if (type.lanes != 1) {
    return std::nullopt;
  }
  if (type.code == kDLFloat) {
    switch (type.bits) {
      case 64:
        return Storage::f64;
      case 32:
        return Storage::f32;
      case 16:
        return Storage::f16;
      default:
        return std::nullopt;
    }
  }
  if (type.code == kDLBfloat && type.bits == 16) {
    return Storage::bf16;
  }
  if (type.bits != 8) {
    return std::nullopt;
  }
  if (type.code == kDLUInt) {
    return Storage::mask;
  }
  const std::size_t byte = arithmetic::byte_format_of(type.code);
  if (byte == std::size(arithmetic::byte_formats)) {
    return std::nullopt;
  }
  return static_cast<Storage>(static_cast<std::size_t>(Storage::eight_bits) + byte);
}

namespace {

// A stride must be positive where there is a second element for it to reach.
bool usable(std::int64_t extent, std::int64_t stride) { return extent <= 1 || stride > 0; }

// The addresses of a tensor's elements, for any type.
std::optional<View> places_of(const DLTensor* tensor, int rank) {
  if (tensor == nullptr || tensor->ndim != rank || tensor->device.device_type != kDLCPU || tensor->shape == nullptr) {
    return std::nullopt;
  }
  View view;
  view.rows = tensor->shape[0];
  view.columns = rank == 2 ? tensor->shape[1] : 1;
  if (view.rows < 0 || view.columns < 0) {
    return std::nullopt;
  }
  const bool empty = view.rows == 0 || view.columns == 0;
  if (empty) {
    return view;
  }
  if (tensor->data == nullptr) {
    return std::nullopt;
  }
  view.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  std::int64_t row_stride = view.columns;
  std::int64_t column_stride = 1;
  if (tensor->strides != nullptr) {
    row_stride = tensor->strides[0];
    column_stride = rank == 2 ? tensor->strides[1] : 1;
  }
  if (!usable(view.rows, row_stride) || !usable(view.columns, column_stride)) {
    return std::nullopt;
  }
  const std::int64_t bytes = tensor->dtype.bits / 8;
  view.row_stride = row_stride * bytes;
  // The stride of a single column is arbitrary; the element's size lets the row be read in place.
  view.column_stride = (view.columns > 1 ? column_stride : 1) * bytes;
  return view;
}

}  // namespace

std::optional<View> view_of(const DLTensor* tensor, int rank) {
  std::optional<View> view = places_of(tensor, rank);
  const std::optional<Storage> storage = view ? storage_of(tensor->dtype) : std::nullopt;
  if (!storage) {
    return std::nullopt;
  }
  view->storage = *storage;
  return view;
}

std::optional<View> ids_of(const DLTensor* tensor) {
  const std::optional<View> places = places_of(tensor, 2);
  const bool fits = places && tensor->dtype.code == kDLInt && tensor->dtype.bits == 32 && tensor->dtype.lanes == 1;
  return fits ? places : std::nullopt;
}

std::optional<Labels> labels_of(const DLTensor* tensor) {
  const std::optional<View> places = places_of(tensor, 1);
  if (!places || tensor->dtype.code != kDLInt || tensor->dtype.lanes != 1 ||
      (tensor->dtype.bits != 32 && tensor->dtype.bits != 64)) {
    return std::nullopt;
  }
  return Labels(*places, tensor->dtype.bits == 64);
}

namespace {

bool same_shape(const View& a, const View& b) { return a.rows == b.rows && a.columns == b.columns; }

bool has_row_output(Form form, std::uint32_t index) {
  return form == Form::rows || form == Form::statistics || index > 0;
}

std::uint32_t most_outputs(Form form) {
  return form == Form::statistics ? 4 : form == Form::elements_and_entropy ? 2 : 1;
}

bool output_fits(const View& logits, const View& output, bool of_rows) {
  const Storage wide = logits.storage == Storage::f64 ? Storage::f64 : Storage::f32;
  return of_rows ? logits.rows == output.rows && (output.storage == logits.storage || output.storage == wide)
                 : same_shape(logits, output) && output.storage == logits.storage;
}

bool read_inputs(const softcheck_call& call, Form form, CallViews& views) {
  const std::uint32_t own = form == Form::gradient ? 2 : 1;
  if (call.n_inputs < own || call.n_inputs > own + 1) {
    return false;
  }
  const std::optional<View> logits = view_of(call.inputs[0], 2);
  if (!logits || logits->storage == Storage::mask) {
    return false;
  }
  views.logits = *logits;
  if (form == Form::gradient) {
    views.gradient = view_of(call.inputs[1], 2);
    if (!views.gradient || !output_fits(*logits, *views.gradient, false)) {
      return false;
    }
  }
  if (call.n_inputs > own) {
    views.mask = view_of(call.inputs[own], 2);
    return views.mask && views.mask->storage == Storage::mask && same_shape(*logits, *views.mask);
  }
  return true;
}

bool read_outputs(const softcheck_call& call, Form form, CallViews& views) {
  if (call.n_outputs < 1 || call.n_outputs > most_outputs(form)) {
    return false;
  }
  views.n_outputs = call.n_outputs;
  for (std::uint32_t i = 0; i < call.n_outputs; ++i) {
    const bool of_rows = has_row_output(form, i);
    const std::optional<View> output = view_of(call.outputs[i], of_rows ? 1 : 2);
    if (!output || !output_fits(views.logits, *output, of_rows)) {
      return false;
    }
    views.outputs[i] = *output;
  }
  return true;
}

bool theta_representable(double theta, Storage storage) {
  if (!(theta > 0) || !std::isfinite(theta)) {
    return false;
  }
  const double scale = 1 / theta;
  return storage == Storage::f64 ? std::isnormal(scale) : std::isnormal(static_cast<float>(scale));
}

}  // namespace

std::optional<CallViews> call_views(const softcheck_call* call, Form form) {
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->scale != 1 || call->causal != 0) {
    return std::nullopt;
  }
  CallViews views;
  views.theta = call->theta;
  if (!read_inputs(*call, form, views) || !read_outputs(*call, form, views) ||
      !theta_representable(views.theta, views.logits.storage)) {
    return std::nullopt;
  }
  return views;
}

}  // namespace softcheck::kernels::call
