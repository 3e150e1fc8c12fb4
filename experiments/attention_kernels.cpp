#include "experiments/attention_kernels.hpp"

#include <dlfcn.h>

#include <array>
#include <stdexcept>
#include <string>

#include "experiments/max_retrieval_layout.hpp"
#include "kernels/abi/kernel_call.hpp"

namespace softcheck::experiments {
namespace {

using kernels::call_of;
using kernels::CallTensor;

void call(softcheck_kernel kernel, std::int64_t sets, std::int64_t size, const float* items, const float* queries,
          float* pooled, float* log_sum, float* entropy) {
  CallTensor q(queries, {sets, 1, 1, width}), k(items, {sets, 1, size, width}), v(items, {sets, 1, size, width});
  CallTensor out(pooled, {sets, 1, 1, width}), lse(log_sum, {sets, 1, 1}), nats(entropy, {sets, 1, 1});
  const std::array<const DLTensor*, 3> inputs{q.get(), k.get(), v.get()};
  const std::array<DLTensor*, 3> outputs{out.get(), lse.get(), nats.get()};
  const softcheck_call description = call_of(inputs, outputs);
  if (kernel(&description) != 0) {
    throw std::runtime_error("the attention kernel refused " + std::to_string(sets) + " sets of " +
                             std::to_string(size) + " items");
  }
}

}  // namespace

AttentionKernels::AttentionKernels(const std::filesystem::path& library) {
  const KernelLibrary kernels(library);
  plain_ = kernels.kernel("softcheck_attention");
  adaptive_ = kernels.kernel("softcheck_adaptive_attention");
}

void AttentionKernels::attend(std::int64_t sets, std::int64_t size, const float* items, const float* queries,
                              float* pooled, float* log_sum, float* entropy) const {
  call(plain_, sets, size, items, queries, pooled, log_sum, entropy);
}

void AttentionKernels::attend_adaptively(std::int64_t sets, std::int64_t size, const float* items, const float* queries,
                                         float* pooled, float* log_sum, float* entropy) const {
  call(adaptive_, sets, size, items, queries, pooled, log_sum, entropy);
}

KernelLibrary::KernelLibrary(const std::filesystem::path& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    throw std::runtime_error("need the kernels of this project, which ./run verify builds in a clone: " +
                             std::string(dlerror()));
  }
}

softcheck_kernel KernelLibrary::kernel(const char* name) const {
  void* const symbol = dlsym(handle_, name);
  if (symbol == nullptr) throw std::runtime_error(path_.string() + ": need the kernel " + name + ", it has none");
  return reinterpret_cast<softcheck_kernel>(symbol);
}

}  // namespace softcheck::experiments
