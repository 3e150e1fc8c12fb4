// The strict kernels beside what they share with the emulated ones: the same bits on any number of threads, and a NaN
// is met by whatever vector it stands in.
#include <gtest/gtest.h>

#include <cmath>

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
  on_threads({"1", "2", "3", "8"}, [&] { EXPECT_TRUE(same_bits(run(kernel), once)) << op; });
}

TEST(StrictThreads, RowsHaveTheSameBits) {
  for (const std::string op :
       {"softmax", "log_softmax", "logsumexp", "entropy", "varentropy", "row_statistics", "adaptive_softmax"}) {
    expect_the_same_bits(op, [&](softcheck_kernel kernel) -> std::vector<float> {
      F32 in({900, 1000});
      fill_unevenly(in);
      F32 out(op.ends_with("softmax") ? in.shape : std::vector<std::int64_t>{900});
      Call call(in.view, out.view);
      return kernel(&call.call) == 0 ? out.elements : std::vector<float>{};
    });
  }
}

TEST(StrictThreads, AttentionHasTheSameBits) {
  for (const std::string op : {"attention", "adaptive_attention"}) {
    expect_the_same_bits(op, [](softcheck_kernel kernel) -> std::vector<float> {
      F32 q({1, 3, 100, 16}), k({1, 3, 2000, 16}), out(q.shape);
      q.set(uneven_row<float>(q.elements.size(), 1));
      k.set(uneven_row<float>(k.elements.size(), 2));
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
      F32 q({1, 1, queries, dim}, {}, 0, 0.5f), k({1, 1, keys, dim}, {}, 0, 0.25f), v(k.shape);
      F32 out(q.shape), lse({1, 1, queries}), entropy(lse);
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
