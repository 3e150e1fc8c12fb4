#include "proptests/judge/isolated_kernel.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

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

// Bytes from the first to the last element of a matrix whose rows lie stride elements apart.
std::size_t extent_bytes(Format format, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<std::size_t>((rows - 1) * stride + columns) * element_bytes(format);
}

void check_sizes(const KernelCall& call) {
  const auto elements = static_cast<std::size_t>(call.rows * call.columns);
  if (call.rows < 0 || call.columns < 0 || call.row_gap < 0 || call.logits.size() != elements) {
    throw std::invalid_argument("IsolatedKernel::call: need rows * columns logits, got " + std::to_string(call.rows) +
                                " * " + std::to_string(call.columns) + " and " + std::to_string(call.logits.size()));
  }
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
  std::optional<KernelChild> child;
  std::size_t printed = 0;  // by children that are gone
  std::size_t calls = 0;
  std::size_t refused = 0;

  State(KernelSource source_, KernelLimits limits_)
      : source(std::move(source_)), limits(limits_), input(limits.buffer_bytes), output(limits.buffer_bytes) {}

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
  check_sizes(call);
  const std::int64_t stride = call.columns + call.row_gap;
  const bool scalar = is_row_scalar(call.op);
  const std::int64_t output_columns = scalar ? 1 : call.columns;
  const std::int64_t output_stride = scalar ? 1 : stride;
  const std::size_t input_bytes = extent_bytes(call.input, call.rows, call.columns, stride);
  const std::size_t output_bytes = extent_bytes(call.output, call.rows, output_columns, output_stride);
  if (std::max(input_bytes, output_bytes) > state_->limits.buffer_bytes) {
    throw std::invalid_argument("IsolatedKernel::call: the logits need more than " +
                                std::to_string(state_->limits.buffer_bytes) + " bytes");
  }
  if (!state_->child) state_->child.emplace(state_->source, state_->limits);

  const GuardedView input(state_->input, input_bytes, call.against_the_end);
  const GuardedView output(state_->output, output_bytes, call.against_the_end);
  const std::size_t in_size = element_bytes(call.input);
  for (std::int64_t row = 0; row < call.rows; ++row) {
    for (std::int64_t column = 0; column < call.columns; ++column) {
      store(call.input, input.bytes().data() + static_cast<std::size_t>(row * stride + column) * in_size,
            call.logits[static_cast<std::size_t>(row * call.columns + column)]);
    }
  }
  const std::vector<std::byte> before(input.bytes().begin(), input.bytes().end());

  ChildRequest request;
  request.input_data = input_bytes == 0 ? nullptr : input.bytes().data();
  request.output_data = output_bytes == 0 ? nullptr : output.bytes().data();
  request.input = call.input;
  request.output = call.output;
  request.rows = call.rows;
  request.columns = call.columns;
  request.stride = stride;
  request.row_scalar = scalar;
  request.theta = call.theta;
  const ChildReply answer = state_->child->call(request);
  ++state_->calls;

  KernelReply reply;
  reply.end = answer.end;
  reply.refusal = answer.returned;
  reply.death = answer.death;
  reply.environment_changed = answer.environment_changed;
  reply.inputs_changed = !std::ranges::equal(before, input.bytes()) || !input.surroundings_intact();
  reply.wrote_outside = !output.surroundings_intact();
  if (answer.end == CallEnd::crashed || answer.end == CallEnd::timed_out) state_->replace_child();
  if (answer.end == CallEnd::refused) ++state_->refused;
  if (answer.end != CallEnd::done) return reply;

  const std::size_t out_size = element_bytes(call.output);
  reply.outputs.reserve(static_cast<std::size_t>(call.rows * output_columns));
  for (std::int64_t row = 0; row < call.rows; ++row) {
    for (std::int64_t column = 0; column < output_stride; ++column) {
      const std::size_t offset = static_cast<std::size_t>(row * output_stride + column) * out_size;
      if (column < output_columns) {
        reply.outputs.push_back(load(call.output, output.bytes().data() + offset));
      } else if (offset < output_bytes) {
        const auto gap = output.bytes().subspan(offset, out_size);
        reply.wrote_outside |= std::ranges::any_of(gap, [](std::byte byte) { return byte != std::byte{0xff}; });
      }
    }
  }
  return reply;
}

const KernelSource& IsolatedKernel::source() const { return state_->source; }
std::size_t IsolatedKernel::printed_bytes() const {
  return state_->printed + (state_->child ? state_->child->printed_bytes() : 0);
}
std::size_t IsolatedKernel::calls() const { return state_->calls; }
std::size_t IsolatedKernel::refused_calls() const { return state_->refused; }

}  // namespace softcheck::proptests
