#include "judge/sandbox/call_page.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

#include "kernels/abi/kernel_call.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

DLDataType dlpack_type(Format format) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  return {static_cast<std::uint8_t>(facts.dlpack_code), static_cast<std::uint8_t>(facts.storage_bits), 1};
}

DLDataType dlpack_type(int integer_bits) {
  return {static_cast<std::uint8_t>(integer_bits == 8 ? kDLUInt : kDLInt), static_cast<std::uint8_t>(integer_bits), 1};
}

// The tensor points to the shape and strides of `from`.
DLTensor dlpack_tensor(ChildTensor& from, Device device) {
  DLTensor tensor{};
  tensor.data = from.data == nullptr ? nullptr : static_cast<std::byte*>(from.data) - from.byte_offset;
  tensor.byte_offset = static_cast<std::uint64_t>(from.byte_offset);
  tensor.device = {device == Device::cuda ? kDLCUDA : kDLCPU, 0};
  tensor.ndim = from.dimensions;
  tensor.dtype = from.integer_bits == 0 ? dlpack_type(from.format) : dlpack_type(from.integer_bits);
  tensor.shape = from.shape.data();
  tensor.strides = from.compact ? nullptr : from.strides.data();
  return tensor;
}

void protect(std::byte* begin, std::size_t first, std::size_t last, int rights) {
  if (first < last && mprotect(begin + first, last - first, rights) != 0) {
    throw std::system_error(errno, std::generic_category(), "OpenPages: mprotect");
  }
}

}  // namespace

struct CallPage::Content {
  softcheck_call_2 whole{};
  std::array<const DLTensor*, most_inputs> inputs{};
  std::array<DLTensor*, most_outputs> outputs{};
  std::array<DLTensor, most_inputs + most_outputs> tensors{};
  std::array<ChildTensor, most_inputs + most_outputs> places{};  // own the shapes and strides
  std::array<std::uint32_t, most_inputs> roles{};
  softcheck_attributes attributes{};
};

CallPage::CallPage() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  bytes_ = (sizeof(Content) + page - 1) / page * page;
  void* mapping = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "CallPage: mmap");
  page_ = static_cast<std::byte*>(mapping);
}

CallPage::~CallPage() { munmap(page_, bytes_); }

void CallPage::allow_writing(bool allowed) {
  if (mprotect(page_, bytes_, allowed ? PROT_READ | PROT_WRITE : PROT_READ) == 0) return;
  throw std::system_error(errno, std::generic_category(), "CallPage: mprotect");
}

const softcheck_call* CallPage::write(const ChildRequest& request) {
  allow_writing(true);
  Content& content = *new (page_) Content;
  for (std::size_t i = 0; i < most_inputs + most_outputs; ++i) {
    const bool is_input = i < most_inputs;
    content.places[i] = is_input ? request.inputs[i] : request.outputs[i - most_inputs];
    if (is_input ? i >= request.n_inputs : i - most_inputs >= request.n_outputs) continue;
    content.tensors[i] = dlpack_tensor(content.places[i], request.device);
    if (is_input) {
      content.inputs[i] = &content.tensors[i];
    } else {
      content.outputs[i - most_inputs] = &content.tensors[i];
    }
  }
  softcheck_call& call = content.whole.call;
  call = kernels::call_of({content.inputs.data(), request.n_inputs}, {content.outputs.data(), request.n_outputs},
                          request.scale, request.causal != 0, request.theta);
  if (request.op != 0) {
    call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION_2;
    content.whole.op = request.op;
    content.roles = request.roles;
    content.attributes.size = sizeof content.attributes;
    content.attributes.window_left_plus_1 = request.attributes.window_left_plus_1;
    content.attributes.window_right_plus_1 = request.attributes.window_right_plus_1;
    content.attributes.softcap = request.attributes.softcap;
    content.attributes.sigmoid_bias = request.attributes.sigmoid_bias.value_or(0);
    content.attributes.causal_top_left = request.attributes.causal_top_left ? 1 : 0;
    content.attributes.interleaved_heads = request.attributes.interleaved_heads ? 1 : 0;
    content.attributes.label_smoothing = request.attributes.label_smoothing;
    content.attributes.z_loss = request.attributes.z_loss;
    content.attributes.lse_base2 = request.attributes.lse_base2 ? 1 : 0;
    content.attributes.mean = request.attributes.mean ? 1 : 0;
    content.attributes.k = request.attributes.k;
    content.attributes.reverse = request.attributes.reverse ? 1 : 0;
    content.attributes.sigmoid = request.attributes.sigmoid ? 1 : 0;
    content.attributes.groups = request.attributes.groups;
    content.attributes.groups_kept = request.attributes.groups_kept;
    content.attributes.group_items = request.attributes.group_items;
    content.attributes.routed_scale = request.attributes.routed_scale;
    content.attributes.renormalize = request.attributes.renormalize ? 1 : 0;
    content.attributes.top_p = request.attributes.top_p;
    content.attributes.min_p = request.attributes.min_p;
    content.attributes.ignore_index = request.attributes.ignore_index;
    content.attributes.page_size = request.attributes.page_size;
    content.attributes.dropout_scale = request.attributes.dropout_scale;
    content.whole.input_roles = content.roles.data();
    content.whole.attributes = &content.attributes;
  }
  allow_writing(false);
  return &call;
}

// Once per process: closes all arena pages, which an earlier call or the judge may have opened before the fork.
void OpenPages::close_arena(const ChildRequest& request) {
  if (request.arena.begin == nullptr || arena_is_closed_) return;
  protect(request.arena.begin, 0, request.arena.size, PROT_NONE);
  arena_is_closed_ = true;
}

void OpenPages::open(const ChildRequest& request) {
  close_arena(request);
  for (const ChildIslands& islands : request.islands) {
    for (std::size_t i = 0; i < islands.count; ++i) {
      protect(islands.begin, islands.first[i].begin, islands.first[i].end, PROT_READ | PROT_WRITE);
      arena_is_closed_ = false;
    }
  }
  for (std::size_t i = 0; i < now_.size(); ++i) {
    const ChildPages& wanted = request.pages[i];
    ChildPages& now = now_[i];
    if (wanted.begin == nullptr) continue;
    if (now.begin != wanted.begin) {
      protect(wanted.begin, 0, wanted.size, PROT_NONE);
      now = {wanted.begin, wanted.size, 0, 0};
    }
    // Close first: a narrower range must not leave pages open around it.
    if (now.open_begin == wanted.open_begin && now.open_end == wanted.open_end) continue;
    protect(now.begin, now.open_begin, now.open_end, PROT_NONE);
    protect(now.begin, wanted.open_begin, wanted.open_end, PROT_READ | PROT_WRITE);
    now = wanted;
  }
}

}  // namespace softcheck::proptests
