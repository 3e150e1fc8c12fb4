#include "proptests/judge/isolated_kernel.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "proptests/judge/guarded_pages.hpp"
#include "proptests/judge/kernel_child.hpp"

namespace softcheck::proptests {
namespace {

// One tensor of a call on its pages.
class PlacedTensor {
 public:
  PlacedTensor(const TensorPlace& place, GuardedPages& pages, std::vector<std::size_t> offsets)
      : place_(&place), pages_(&pages), offsets_(std::move(offsets)) {
    data_ = pages.place(place.aligned_bytes(), place.against_the_end);
  }

  void write(const InputTensor& input) {
    written_ = encode(input);
    store(*place_, offsets_, written_, data_);
  }
  bool holds_what_was_written() const { return load(*place_, offsets_, data_) == written_; }
  std::vector<double> read() const { return decode(*place_, load(*place_, offsets_, data_)); }
  /// Takes the elements away; false where something else has been written beside them.
  bool clear() {
    wipe(*place_, offsets_, pages_->filling(), data_);
    return pages_->restore();
  }

  ChildTensor request() const {
    ChildTensor result;
    result.data = offsets_.empty() ? nullptr : data_;
    result.is_mask = !place_->format;
    if (place_->format) result.format = *place_->format;
    result.dimensions = static_cast<std::int32_t>(place_->shape.size());
    result.compact = place_->strides.empty();
    std::ranges::copy(place_->shape, result.shape.begin());
    std::ranges::copy(place_->strides, result.strides.begin());
    result.byte_offset = place_->offset * static_cast<std::int64_t>(place_->element_bytes());
    return result;
  }

 private:
  const TensorPlace* place_;
  GuardedPages* pages_;
  std::vector<std::size_t> offsets_;
  std::byte* data_;
  std::vector<std::uint64_t> written_;
};

ChildRequest request_of(const TensorCall& call, const std::vector<PlacedTensor>& inputs,
                        const std::vector<PlacedTensor>& outputs) {
  ChildRequest request;
  request.n_inputs = static_cast<std::uint32_t>(inputs.size());
  request.n_outputs = static_cast<std::uint32_t>(outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) request.inputs[i] = inputs[i].request();
  for (std::size_t i = 0; i < outputs.size(); ++i) request.outputs[i] = outputs[i].request();
  request.theta = call.theta;
  request.scale = call.scale;
  request.causal = call.causal ? 1 : 0;
  return request;
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
  std::vector<std::unique_ptr<GuardedPages>> inputs;
  std::vector<std::unique_ptr<GuardedPages>> outputs;
  std::vector<std::unique_ptr<GuardedPages>> sparse;  // of the call under way
  std::optional<KernelChild> child;
  std::size_t printed = 0;  // by children that are gone
  std::size_t calls = 0;
  std::size_t refused = 0;

  State(KernelSource source_, KernelLimits limits_) : source(std::move(source_)), limits(limits_) {
    while (inputs.size() < most_inputs) {
      inputs.push_back(std::make_unique<GuardedPages>(limits.buffer_bytes, Filling::input));
    }
    while (outputs.size() < most_outputs) {
      outputs.push_back(std::make_unique<GuardedPages>(limits.buffer_bytes, Filling::output));
    }
  }

  void replace_child() {
    if (child) printed += child->printed_bytes();
    child.reset();
  }

  bool wrote_late() {
    bool intact = true;
    for (const auto& pages : inputs) intact &= pages->restore();
    for (const auto& pages : outputs) intact &= pages->restore();
    return !intact;
  }

  PlacedTensor put(const TensorPlace& place, GuardedPages& pages, Filling filling) {
    const std::size_t bytes = place.aligned_bytes();
    std::vector<std::size_t> offsets = place.offsets();
    if (bytes <= limits.buffer_bytes) return {place, pages, std::move(offsets)};
    if (bytes > limits.sparse_bytes) {
      throw std::invalid_argument("IsolatedKernel::call: need at most " + std::to_string(limits.sparse_bytes) +
                                  " bytes from the first element to the last, got " + std::to_string(bytes));
    }
    // The view ends, or begins, at a page's edge.
    const std::size_t edge = std::size_t{64} << 10;  // a multiple of every page size
    const std::size_t size = (bytes + edge - 1) / edge * edge;
    const std::size_t first = place.against_the_end ? size - bytes : 0;
    std::vector<ByteRange> used;
    for (const std::size_t offset : offsets) {
      used.push_back({first + offset, first + offset + place.element_bytes()});
    }
    sparse.push_back(std::make_unique<GuardedPages>(size, filling, used));
    return {place, *sparse.back(), std::move(offsets)};
  }
};

IsolatedKernel::IsolatedKernel(KernelSource source, KernelLimits limits) {
  if (!source.callable) {
    std::error_code error;
    const std::filesystem::path path(source.library);
    if (!std::filesystem::exists(path, error)) {
      throw KernelLoadError(KernelLoadError::Reason::no_such_file, "kernel: no such file: " + source.library);
    }
    // Without a slash the loader would search the system's folders instead of taking the file that was named.
    source.library = std::filesystem::absolute(path, error).string();
  }
  state_ = std::make_unique<State>(std::move(source), limits);
  state_->child.emplace(state_->source, state_->limits);
}

IsolatedKernel::~IsolatedKernel() = default;

TensorReply IsolatedKernel::call(const TensorCall& call) {
  require_valid(call);
  TensorReply reply;
  reply.wrote_late = wrote_late();
  state_->sparse.clear();
  std::vector<PlacedTensor> inputs, outputs;
  std::vector<bool> overwritten(call.inputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    inputs.push_back(state_->put(call.inputs[i].place, *state_->inputs[i], Filling::input));
    inputs.back().write(call.inputs[i]);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const auto& [place, in_place_of] = call.outputs[i];
    if (in_place_of) overwritten[*in_place_of] = true;
    outputs.push_back(in_place_of ? inputs[*in_place_of] : state_->put(place, *state_->outputs[i], Filling::output));
  }
  const bool sparse = !state_->sparse.empty();
  if (sparse) state_->replace_child();  // only a new child has the pages
  if (!state_->child) state_->child.emplace(state_->source, state_->limits);
  const ChildReply answer = state_->child->call(request_of(call, inputs, outputs));
  ++state_->calls;
  if (answer.end == CallEnd::refused) ++state_->refused;
  if (sparse || answer.end == CallEnd::crashed || answer.end == CallEnd::timed_out) state_->replace_child();

  reply.end = answer.end;
  reply.refusal = answer.returned;
  reply.death = answer.death;
  reply.environment_changed = answer.environment_changed;
  for (const PlacedTensor& output : outputs) {
    if (answer.end == CallEnd::done) reply.outputs.push_back(output.read());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!overwritten[i]) reply.inputs_changed |= !inputs[i].holds_what_was_written();
    const bool intact = inputs[i].clear();
    (overwritten[i] ? reply.wrote_outside : reply.inputs_changed) |= !intact;
  }
  for (PlacedTensor& output : outputs) reply.wrote_outside |= !output.clear();
  return reply;
}

bool IsolatedKernel::wrote_late() { return state_->wrote_late(); }

const KernelSource& IsolatedKernel::source() const { return state_->source; }
std::size_t IsolatedKernel::printed_bytes() const {
  return state_->printed + (state_->child ? state_->child->printed_bytes() : 0);
}
std::size_t IsolatedKernel::calls() const { return state_->calls; }
std::size_t IsolatedKernel::refused_calls() const { return state_->refused; }

}  // namespace softcheck::proptests
