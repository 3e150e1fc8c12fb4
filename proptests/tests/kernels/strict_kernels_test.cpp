// The strict kernels beside what they share with the emulated ones: the same bits on any number of threads, and a NaN
// is met by whatever vector it stands in.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

/// Results of a call with 1, 2, 3 and 8 threads; long enough for threads to meet on a busy machine.
template <class Run>
void expect_the_same_bits(const std::string& op, Run run) {
  const softcheck_kernel kernel = load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
  ASSERT_NE(kernel, nullptr) << op;
  const std::vector<float> once = run(kernel);
  ASSERT_FALSE(once.empty()) << op;
  for (const char* threads : {"1", "2", "3", "8"}) {
    setenv("SOFTCHECK_THREADS", threads, 1);
    EXPECT_TRUE(same_bits(run(kernel), once)) << op << " on " << threads;
  }
  unsetenv("SOFTCHECK_THREADS");
}

TEST(StrictThreads, RowsHaveTheSameBits) {
  for (const std::string op :
       {"softmax", "log_softmax", "logsumexp", "entropy", "varentropy", "row_statistics", "adaptive_softmax"}) {
    expect_the_same_bits(op, [&](softcheck_kernel kernel) -> std::vector<float> {
      const std::int64_t rows = 900, n = 1000;
      Tensor<float> in(dtype_of<float>(), {rows, n});
      for (std::int64_t r = 0; r < rows; ++r) {
        in.set_row(r, uneven_row<float>(static_cast<std::size_t>(n), static_cast<std::uint32_t>(r) + 1));
      }
      const bool of_rows = !op.ends_with("softmax");
      Tensor<float> out(dtype_of<float>(),
                        of_rows ? std::vector<std::int64_t>{rows} : std::vector<std::int64_t>{rows, n});
      Call call(in.view, out.view);
      return kernel(&call.call) == 0 ? out.elements : std::vector<float>{};
    });
  }
}

TEST(StrictThreads, AttentionHasTheSameBits) {
  for (const std::string op : {"attention", "adaptive_attention"}) {
    expect_the_same_bits(op, [](softcheck_kernel kernel) -> std::vector<float> {
      const std::int64_t heads = 3, queries = 100, keys = 2000, dim = 16;
      Tensor<float> q(dtype_of<float>(), {1, heads, queries, dim}), k(dtype_of<float>(), {1, heads, keys, dim});
      q.elements = uneven_row<float>(q.elements.size(), 1);
      k.elements = uneven_row<float>(k.elements.size(), 2);
      q.view.data = q.elements.data();
      k.view.data = k.elements.data();
      Tensor<float> out(dtype_of<float>(), q.shape);
      const bool taken = takes_call(kernel, {&q.view, &k.view, &k.view}, {&out.view}, 0x1p-8);
      return taken ? out.elements : std::vector<float>{};
    });
  }
}

TEST(StrictAttentionNan, AKeyIsMetWhereverItStands) {
  const std::int64_t queries = 2, keys = 300, dim = 4;
  for (const std::string op : {"attention", "adaptive_attention"}) {
    const softcheck_kernel kernel = load_kernel("softcheck_strict_kernels", "softcheck_strict_" + op);
    ASSERT_NE(kernel, nullptr) << op;
    for (std::int64_t place = 0; place < keys; place += 13) {
      Tensor<float> q(dtype_of<float>(), {1, 1, queries, dim}, {}, 0, 0.5f);
      Tensor<float> k(dtype_of<float>(), {1, 1, keys, dim}, {}, 0, 0.25f), v(dtype_of<float>(), {1, 1, keys, dim});
      Tensor<float> out(dtype_of<float>(), q.shape), lse(dtype_of<float>(), {1, 1, queries}),
          entropy(dtype_of<float>(), {1, 1, queries});
      k.elements[static_cast<std::size_t>(place * dim + 1)] = std::numeric_limits<float>::quiet_NaN();
      ASSERT_TRUE(takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view, &lse.view, &entropy.view})) << op;
      for (const float x : {out.elements[0], out.elements[7], lse.elements[1], entropy.elements[1]}) {
        EXPECT_TRUE(std::isnan(x)) << op << " key " << place;
      }
    }
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
