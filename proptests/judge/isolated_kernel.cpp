#include "proptests/judge/isolated_kernel.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "proptests/judge/guarded_pages.hpp"
#include "proptests/judge/kernel_child.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

std::size_t element_bytes(Format format) {
  return static_cast<std::size_t>(numerics::properties(format).storage_bits) / 8;
}

void store(Format format, std::byte* target, double value) {
  const std::uint64_t bits = numerics::encode(format, value);
  std::memcpy(target, &bits,
              element_bytes(format));  // little-endian, as DLPack's tensors are on every machine built for
}

double load(Format format, const std::byte* source) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, source, element_bytes(format));
  return numerics::decode(format, bits);
}

// A (rows, columns) matrix of format in a view of guarded pages.
struct Placement {
  Format format;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t column_stride;
  std::int64_t row_stride;

  Placement(Format format_, std::int64_t rows_, std::int64_t columns_, const Layout& layout)
      : format(format_),
        rows(rows_),
        columns(columns_),
        column_stride(layout.column_stride),
        row_stride(columns_ * layout.column_stride + layout.row_gap) {}

  std::size_t bytes() const {
    if (rows == 0 || columns == 0) return 0;
    const std::int64_t elements = (rows - 1) * row_stride + (columns - 1) * column_stride + 1;
    return static_cast<std::size_t>(elements) * element_bytes(format);
  }
  std::size_t offset(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(row * row_stride + column * column_stride) * element_bytes(format);
  }
};

void check_call(const KernelCall& call) {
  const auto elements = static_cast<std::size_t>(call.rows * call.columns);
  if (call.rows < 0 || call.columns < 0 || call.logits.size() != elements ||
      (!call.mask.empty() && call.mask.size() != elements)) {
    throw std::invalid_argument("IsolatedKernel::call: need rows * columns logits (and as many in the mask), got " +
                                std::to_string(call.rows) + " * " + std::to_string(call.columns) + ", " +
                                std::to_string(call.logits.size()) + " and " + std::to_string(call.mask.size()));
  }
  if (call.layout.column_stride < 1 || call.layout.row_gap < 0 || call.layout.offset < 0) {
    throw std::invalid_argument("IsolatedKernel::call: need column_stride >= 1, row_gap >= 0 and offset >= 0");
  }
}

// The outputs, and whether something between them was written.
std::vector<double> read_outputs(const Placement& placement, const GuardedView& view, bool& wrote_between) {
  const std::span<const std::byte> bytes = view.bytes();
  std::vector<double> outputs;
  outputs.reserve(static_cast<std::size_t>(placement.rows * placement.columns));
  std::size_t expected = 0;  // where the next element begins if nothing lies between
  const std::size_t size = element_bytes(placement.format);
  for (std::int64_t row = 0; row < placement.rows; ++row) {
    for (std::int64_t column = 0; column < placement.columns; ++column) {
      const std::size_t offset = placement.offset(row, column);
      wrote_between |= !view.untouched(bytes.subspan(expected, offset - expected));
      outputs.push_back(load(placement.format, bytes.data() + offset));
      expected = offset + size;
    }
  }
  return outputs;
}

}  // namespace

KernelSource parse_kernel_source(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    throw std::invalid_argument("kernel: need LIB:SYMBOL, got '" + std::string(text) + "'");
  }
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

struct IsolatedKernel::State {
  KernelSource source;
  KernelLimits limits;
  GuardedPages input;
  GuardedPages output;
  GuardedPages mask;
  std::optional<KernelChild> child;
  std::size_t printed = 0;  // by children that are gone
  std::size_t calls = 0;
  std::size_t refused = 0;

  State(KernelSource source_, KernelLimits limits_)
      : source(std::move(source_)),
        limits(limits_),
        input(limits.buffer_bytes),
        output(limits.buffer_bytes),
        mask(limits.buffer_bytes) {}

  void replace_child() {
    if (child) printed += child->printed_bytes();
    child.reset();
  }
};

IsolatedKernel::IsolatedKernel(KernelSource source, KernelLimits limits) {
  std::error_code error;
  const std::filesystem::path path(source.library);
  if (!std::filesystem::exists(path, error)) {
    throw KernelLoadError(KernelLoadError::Reason::no_such_file, "kernel: no such file: " + source.library);
  }
  // Without a slash the loader would search the system's folders instead of taking the file that was named.
  source.library = std::filesystem::absolute(path, error).string();
  state_ = std::make_unique<State>(std::move(source), limits);
  state_->child.emplace(state_->source, state_->limits);
}

IsolatedKernel::~IsolatedKernel() = default;

KernelReply IsolatedKernel::call(const KernelCall& call) {
  check_call(call);
  const bool scalar = is_row_scalar(call.op);
  const Layout& layout = call.layout;
  const Placement in(call.input, call.rows, call.columns, layout);
  const Placement out(call.output, call.rows, scalar ? 1 : call.columns, scalar ? Layout{} : layout);
  const std::size_t needed = std::max({in.bytes(), out.bytes(), call.mask.size()});
  if (needed > state_->limits.buffer_bytes) {
    throw std::invalid_argument("IsolatedKernel::call: need at most " + std::to_string(state_->limits.buffer_bytes) +
                                " bytes in a buffer, got " + std::to_string(needed));
  }
  if (!state_->child) state_->child.emplace(state_->source, state_->limits);

  const GuardedView input(state_->input, in.bytes(), layout.against_the_end, Filling::input);
  const GuardedView output(state_->output, out.bytes(), layout.against_the_end, Filling::output);
  const GuardedView mask(state_->mask, call.mask.size(), layout.against_the_end, Filling::input);
  for (std::int64_t row = 0; row < call.rows; ++row) {
    for (std::int64_t column = 0; column < call.columns; ++column) {
      store(call.input, input.bytes().data() + in.offset(row, column),
            call.logits[static_cast<std::size_t>(row * call.columns + column)]);
    }
  }
  std::ranges::copy(std::as_bytes(std::span(call.mask)), mask.bytes().begin());
  const std::vector<std::byte> before(input.bytes().begin(), input.bytes().end());

  ChildRequest request;
  request.input_data = in.bytes() == 0 ? nullptr : input.bytes().data();
  request.output_data = out.bytes() == 0 ? nullptr : output.bytes().data();
  request.mask_data = call.mask.empty() ? nullptr : mask.bytes().data();
  request.input = call.input;
  request.output = call.output;
  request.rows = call.rows;
  request.columns = call.columns;
  request.row_stride = in.row_stride;
  request.column_stride = in.column_stride;
  request.offset = layout.offset;
  request.row_scalar = scalar;
  request.theta = call.theta;
  const ChildReply answer = state_->child->call(request);
  ++state_->calls;

  KernelReply reply;
  reply.end = answer.end;
  reply.refusal = answer.returned;
  reply.death = answer.death;
  reply.environment_changed = answer.environment_changed;
  const auto mask_bytes = std::as_bytes(std::span(call.mask));
  reply.inputs_changed = !std::ranges::equal(before, input.bytes()) || !input.surroundings_intact() ||
                         !std::ranges::equal(mask_bytes, mask.bytes()) || !mask.surroundings_intact();
  reply.wrote_outside = !output.surroundings_intact();
  if (answer.end == CallEnd::crashed || answer.end == CallEnd::timed_out) state_->replace_child();
  if (answer.end == CallEnd::refused) ++state_->refused;
  if (answer.end == CallEnd::done) reply.outputs = read_outputs(out, output, reply.wrote_outside);
  return reply;
}

const KernelSource& IsolatedKernel::source() const { return state_->source; }
std::size_t IsolatedKernel::printed_bytes() const {
  return state_->printed + (state_->child ? state_->child->printed_bytes() : 0);
}
std::size_t IsolatedKernel::calls() const { return state_->calls; }
std::size_t IsolatedKernel::refused_calls() const { return state_->refused; }

}  // namespace softcheck::proptests
