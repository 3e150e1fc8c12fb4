#include "judge/sandbox/isolated_kernel.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "judge/sandbox/call_page.hpp"
#include "judge/sandbox/guarded_pages.hpp"
#include "judge/sandbox/kernel_child.hpp"
#include "judge/sandbox/printed_lines.hpp"

namespace softcheck::proptests {
namespace {

// A tensor of a call, placed on its pages.
class PlacedTensor {
 public:
  PlacedTensor(const TensorPlace& place, GuardedPages& pages, std::vector<std::size_t> offsets = {})
      : place_(&place), pages_(&pages), offsets_(std::move(offsets)) {
    data_ = pages.place(place.aligned_bytes(), place.against_the_end);
  }

  /// A tensor in the memory of another, from its first element on.
  PlacedTensor(const TensorPlace& place, const PlacedTensor& whole) : PlacedTensor(whole) {
    place_ = &place;
    offsets_ = place.offsets();
  }

  void write(const InputTensor& tensor) {
    written_ = encode(tensor);
    store(*place_, offsets_, written_, data_);
  }
  bool holds_what_was_written() const { return holds(*place_, offsets_, written_, data_); }
  std::vector<double> read() const { return decode(*place_, load(*place_, offsets_, data_)); }
  /// Overwrites the elements with the filling; false if something else was written around them.
  bool clear() {
    wipe(*place_, offsets_, pages_->filling(), data_);
    return pages_->restore();
  }

  std::byte* data() const { return data_; }

  ChildTensor request() const {
    ChildTensor result;
    result.data = place_->elements() == 0 ? nullptr : data_;
    result.integer_bits = place_->format ? 0 : place_->integer_bits;
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
  std::vector<std::size_t> offsets_;  // empty: contiguous
  std::byte* data_;
  std::vector<std::uint64_t> written_;
};

// Nothing if the system limits a process's addresses (ulimit -v, overcommit_memory 2).
std::optional<SparseArena> arena_for(const KernelLimits& limits) {
  try {
    return std::optional<SparseArena>(std::in_place, most_inputs + most_outputs, limits.sparse_bytes);
  } catch (const std::system_error&) {
    return {};
  }
}

ChildPages child_pages(const GuardedPages& pages, bool in_use) {
  const ByteRange open = in_use ? pages.watched() : ByteRange{};
  return {pages.begin(), pages.size(), open.begin, open.end};
}

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
  request.op = call.op;
  request.attributes = call.attributes;
  for (std::size_t i = 0; i < call.roles.size(); ++i) request.roles[i] = static_cast<std::uint32_t>(call.roles[i]);
  return request;
}

constexpr std::size_t most_loads = 64;  // that start_anew may cause

}  // namespace

KernelSource parse_kernel_source(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    throw std::invalid_argument("kernel: need LIB:SYMBOL, got '" + std::string(text) + "'");
  }
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

int exit_code(KernelLoadError::Reason reason) {
  using enum KernelLoadError::Reason;
  return reason == no_such_file ? 2 : reason == not_a_library ? 3 : reason == died_while_loading ? 6 : 4;
}

struct IsolatedKernel::State {
  // Only root can trace, read or write a process that is not dumpable, or open its files in /proc.
  class Untraceable {
   public:
    Untraceable() : before_(prctl(PR_GET_DUMPABLE)) { prctl(PR_SET_DUMPABLE, 0); }
    ~Untraceable() { prctl(PR_SET_DUMPABLE, before_ == 1 ? 1 : 0); }
    Untraceable(const Untraceable&) = delete;
    Untraceable& operator=(const Untraceable&) = delete;

   private:
    int before_;
  };

  KernelSource source;
  KernelLimits limits;
  std::vector<std::unique_ptr<GuardedPages>> inputs;
  std::vector<std::unique_ptr<GuardedPages>> outputs;
  std::optional<SparseArena> arena;
  std::array<std::unique_ptr<GuardedPages>, most_inputs + most_outputs> sparse;  // of the current call
  Untraceable untraceable;
  std::optional<KernelChild> child;
  CallPage page;            // of forwarded calls
  Containment containment;  // the first child's
  bool loading_changed_environment = false;
  std::size_t printed = 0;   // bytes by earlier children
  std::string last_printed;  // last output of the last child that printed anything
  std::size_t calls = 0;
  std::size_t refused = 0;
  std::size_t loads = 0;  // caused by start_anew

  State(KernelSource source_, KernelLimits limits_)
      : source(std::move(source_)), limits(limits_), arena(arena_for(limits)) {
    while (inputs.size() < most_inputs) {
      inputs.push_back(std::make_unique<GuardedPages>(limits.buffer_bytes, Filling::input));
    }
    while (outputs.size() < most_outputs) {
      outputs.push_back(std::make_unique<GuardedPages>(limits.buffer_bytes, Filling::output));
    }
  }

  std::vector<std::string> printed_lines() const {
    const std::string now = child ? child->printed_tail() : "";
    return last_lines(now.empty() ? last_printed : now);
  }

  void keep_output_of(const KernelChild& gone) {
    printed += gone.printed_bytes();
    const std::string tail = gone.printed_tail();
    if (!tail.empty()) last_printed = tail;
  }

  bool is_sparse_call() const {
    return std::ranges::any_of(sparse, [](const auto& pages) { return pages != nullptr; });
  }

  // Calls the function in this process, where all pages are accessible.
  ChildReply forward(const ChildRequest& request) {
    const softcheck_call* call = page.write(request);
    const EnvironmentBits before = environment_bits();
    std::fenv_t environment;
    std::fegetenv(&environment);
    ForwardedEnd end = source.forwarded(call);
    ChildReply reply;
    reply.environment_changed = environment_bits() != before;
    if (reply.environment_changed) std::fesetenv(&environment);  // the judge itself computes in this environment
    reply.end = end.end;
    reply.returned = end.returned;
    reply.death = std::move(end.death);
    printed += end.printed.size();
    if (!end.printed.empty()) last_printed = end.printed;
    reply.printed = std::move(end.printed);
    return reply;
  }

  // Without an arena, a call on sparse pages needs a new process: the existing one was forked before these pages were
  // mapped.
  ChildReply ask(ChildRequest request, const std::vector<bool>& has_own_pages) {
    open_pages(request, has_own_pages);
    if (source.forwarded) return forward(request);
    if (!arena && is_sparse_call()) {
      KernelChild with_pages(source, limits);
      const ChildReply reply = with_pages.call(std::move(request));
      keep_output_of(with_pages);
      return reply;
    }
    if (child && child->is_gone()) {
      keep_output_of(*child);
      child.reset();
    }
    if (!child) child.emplace(source, limits);
    return child->call(std::move(request));
  }

  // Adds to the request the pages that the call may access: those of each tensor's own view.
  void open_pages(ChildRequest& request, const std::vector<bool>& has_own_pages) {
    if (arena) request.arena = {arena->begin(), arena->size()};
    for (std::size_t i = 0; i < request.pages.size(); ++i) {
      if (arena && sparse[i]) {
        const std::span<const ByteRange> islands = arena->publish(i, sparse[i]->islands());
        request.islands[i] = {sparse[i]->begin(), islands.data(), islands.size()};
      }
      const GuardedPages& pages = i < most_inputs ? *inputs[i] : *outputs[i - most_inputs];
      request.pages[i] = child_pages(pages, has_own_pages[i]);
    }
  }

  bool wrote_late() {
    bool intact = true;
    for (const auto& pages : inputs) intact &= pages->restore();
    for (const auto& pages : outputs) intact &= pages->restore();
    return !intact;
  }

  /// Converts the child's answer without its outputs, and counts the call.
  TensorReply reply_of(const ChildReply& answer) {
    TensorReply reply;
    ++calls;
    const bool accepted = answer.end != CallEnd::refused && answer.end != CallEnd::not_made;
    if (!accepted) ++refused;
    if (answer.end != CallEnd::done && accepted) reply.printed = last_lines(answer.printed);
    reply.end = answer.end;
    reply.refusal = answer.returned;
    reply.death = answer.death;
    reply.environment_changed = answer.environment_changed;
    return reply;
  }

  bool is_dense(const TensorPlace& place) const { return place.bytes() <= limits.buffer_bytes; }

  // index    the tensor's, inputs first
  PlacedTensor put(const TensorPlace& place, std::size_t index) {
    GuardedPages& pages = index < most_inputs ? *inputs[index] : *outputs[index - most_inputs];
    const std::size_t bytes = place.aligned_bytes();
    if (is_dense(place)) return {place, pages, place.strides.empty() ? std::vector<std::size_t>{} : place.offsets()};
    if (bytes > limits.sparse_bytes) {
      throw std::invalid_argument("IsolatedKernel::call: need at most " + std::to_string(limits.sparse_bytes) +
                                  " bytes from the first element to the last, got " + std::to_string(bytes));
    }
    // The view ends or begins at the edge of a page.
    const std::size_t edge = std::size_t{64} << 10;  // a multiple of every page size
    const std::size_t size = (bytes + edge - 1) / edge * edge;
    const std::size_t first = place.against_the_end ? size - bytes : 0;
    std::vector<std::size_t> offsets = place.offsets();
    std::vector<ByteRange> used;
    for (const std::size_t offset : offsets) {
      used.push_back({first + offset, first + offset + place.element_bytes()});
    }
    const Filling filling = index < most_inputs ? Filling::input : Filling::output;
    sparse[index] = std::make_unique<GuardedPages>(size, filling, used, arena ? arena->slot(index) : PageSlot{});
    return {place, *sparse[index], std::move(offsets)};
  }
};

namespace {

void require_positive(const char* what, double seconds) {
  if (seconds > 0 && std::isfinite(seconds)) return;
  throw std::invalid_argument("IsolatedKernel: " + std::string(what) + " must be finite and > 0, got " +
                              std::to_string(seconds));
}

}  // namespace

IsolatedKernel::IsolatedKernel(KernelSource source, KernelLimits limits) {
  require_positive("seconds_per_call", limits.seconds_per_call);
  require_positive("seconds_to_load", limits.seconds_to_load);
  if (!source.callable && !source.forwarded) {
    std::error_code error;
    const std::filesystem::path path(source.library);
    if (!std::filesystem::exists(path, error)) {
      throw KernelLoadError(KernelLoadError::Reason::no_such_file, "kernel: no such file: " + source.library);
    }
    // An absolute path: without a slash, dlopen would search the system's folders.
    source.library = std::filesystem::absolute(path, error).string();
  }
  state_ = std::make_unique<State>(std::move(source), limits);
  if (state_->source.forwarded) return;
  KernelChild& child = state_->child.emplace(state_->source, state_->limits);
  state_->containment = child.containment();
  state_->loading_changed_environment = child.loading_changed_environment();
}

IsolatedKernel::~IsolatedKernel() = default;

TensorReply IsolatedKernel::call(const TensorCall& call) {
  require_valid(call);
  const bool late = wrote_late();
  state_->sparse = {};
  std::vector<PlacedTensor> inputs, outputs;
  std::vector<bool> overwritten(call.inputs.size()), in_use(most_inputs + most_outputs);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const auto& [place, values, patterns, view_of] = call.inputs[i];
    inputs.push_back(view_of ? PlacedTensor(place, inputs[*view_of]) : state_->put(place, i));
    if (view_of) continue;
    in_use[i] = state_->is_dense(place);
    inputs.back().write(call.inputs[i]);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const auto& [place, in_place_of] = call.outputs[i];
    if (in_place_of) overwritten[*in_place_of] = true;
    in_use[most_inputs + i] = !in_place_of && state_->is_dense(place);
    outputs.push_back(in_place_of ? PlacedTensor(place, inputs[*in_place_of]) : state_->put(place, most_inputs + i));
  }
  const ChildReply answer = state_->ask(request_of(call, inputs, outputs), in_use);
  TensorReply reply = state_->reply_of(answer);
  reply.wrote_late = late;
  for (const PlacedTensor& output : outputs) {
    if (answer.end == CallEnd::done) reply.outputs.push_back(output.read());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (call.inputs[i].view_of) continue;
    if (!overwritten[i]) reply.inputs_changed |= !inputs[i].holds_what_was_written();
    const bool intact = inputs[i].clear();
    (overwritten[i] ? reply.wrote_outside : reply.inputs_changed) |= !intact;
  }
  for (PlacedTensor& output : outputs) reply.wrote_outside |= !output.clear();
  return reply;
}

TensorReply IsolatedKernel::call_bytes(const TensorCall& call, std::span<const std::span<const std::byte>> inputs,
                                       std::span<const std::span<std::byte>> outputs) {
  const auto fits = [&](const auto& tensors, const auto& bytes) {
    bool all = tensors.size() == bytes.size();
    for (std::size_t i = 0; all && i < bytes.size(); ++i) {
      const TensorPlace& place = tensors[i].place;
      all = place.strides.empty() && bytes[i].size() == place.bytes() && state_->is_dense(place);
    }
    return all;
  };
  if (!fits(call.inputs, inputs) || !fits(call.outputs, outputs)) {
    throw std::invalid_argument("IsolatedKernel::call_bytes: need compact inputs and outputs, and their bytes");
  }
  state_->sparse = {};
  std::vector<PlacedTensor> in, out;
  std::vector<bool> in_use(most_inputs + most_outputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.emplace_back(call.inputs[i].place, *state_->inputs[i]);
    std::memcpy(in[i].data(), inputs[i].data(), inputs[i].size());
    in_use[i] = true;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    out.emplace_back(call.outputs[i].place, *state_->outputs[i]);
    in_use[most_inputs + i] = true;
  }
  const ChildReply answer = state_->ask(request_of(call, in, out), in_use);
  TensorReply reply = state_->reply_of(answer);
  for (std::size_t i = 0; i < in.size(); ++i) {
    reply.inputs_changed |= std::memcmp(in[i].data(), inputs[i].data(), inputs[i].size()) != 0;
    std::fill_n(in[i].data(), inputs[i].size(), state_->inputs[i]->filling());
    reply.inputs_changed |= !state_->inputs[i]->restore();
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (answer.end == CallEnd::done) std::memcpy(outputs[i].data(), out[i].data(), outputs[i].size());
    std::fill_n(out[i].data(), outputs[i].size(), state_->outputs[i]->filling());
    reply.wrote_outside |= !state_->outputs[i]->restore();
  }
  return reply;
}

bool IsolatedKernel::wrote_late() { return state_->wrote_late(); }
bool IsolatedKernel::start_anew() {
  if (state_->source.forwarded || state_->loads == most_loads) return false;
  if (state_->child && !state_->child->is_gone()) state_->child->end_process();
  if (state_->child && state_->child->is_gone()) ++state_->loads;
  return true;
}

const KernelSource& IsolatedKernel::source() const { return state_->source; }
const Containment& IsolatedKernel::containment() const { return state_->containment; }
std::string IsolatedKernel::isolation() const {
  return state_->source.forwarded ? state_->source.forwarded_isolation : to_string(state_->containment);
}
bool IsolatedKernel::loading_changed_environment() const { return state_->loading_changed_environment; }
std::size_t IsolatedKernel::printed_bytes() const {
  return state_->printed + (state_->child ? state_->child->printed_bytes() : 0);
}
std::vector<std::string> IsolatedKernel::printed_lines() const { return state_->printed_lines(); }
std::size_t IsolatedKernel::calls() const { return state_->calls; }
std::size_t IsolatedKernel::refused_calls() const { return state_->refused; }

}  // namespace softcheck::proptests
