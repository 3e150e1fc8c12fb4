#include "experiments/attention_kernels.hpp"

#include <array>
#include <stdexcept>
#include <string>

#include "experiments/kernel_library.hpp"
#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {
namespace {

// A compact f32 tensor of rank 4 or, without dim, 3.
class CompactTensor {
 public:
  // Inputs are read alone: DLPack has one pointer for both.
  CompactTensor(const float* data, std::int64_t batch, std::int64_t length, std::int64_t dim = 0)
      : shape_{batch, 1, length, dim} {
    tensor_.data = const_cast<float*>(data);
    tensor_.device = {kDLCPU, 0};
    tensor_.ndim = dim == 0 ? 3 : 4;
    tensor_.dtype = {kDLFloat, 32, 1};
    tensor_.shape = shape_.data();
  }
  CompactTensor(const CompactTensor&) = delete;
  CompactTensor& operator=(const CompactTensor&) = delete;
  DLTensor* get() { return &tensor_; }

 private:
  std::array<std::int64_t, 4> shape_;
  DLTensor tensor_{};
};

void call(softcheck_kernel kernel, std::int64_t sets, std::int64_t size, const float* items, const float* queries,
          float* pooled, float* log_sum, float* entropy) {
  CompactTensor q(queries, sets, 1, width), k(items, sets, size, width), v(items, sets, size, width);
  CompactTensor out(pooled, sets, 1, width), lse(log_sum, sets, 1), nats(entropy, sets, 1);
  const std::array<const DLTensor*, 3> inputs{q.get(), k.get(), v.get()};
  const std::array<DLTensor*, 3> outputs{out.get(), lse.get(), nats.get()};
  softcheck_call description{};
  description.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  description.n_inputs = inputs.size();
  description.n_outputs = outputs.size();
  description.inputs = inputs.data();
  description.outputs = outputs.data();
  description.theta = 1;
  description.scale = 1;
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

}  // namespace softcheck::experiments
