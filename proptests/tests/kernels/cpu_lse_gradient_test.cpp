// A loss on attention's log-sum-exps beside one on its output, where the gradients are numbers of the format.
#include <gtest/gtest.h>

#include "proptests/tests/kernels/version_2_call.hpp"

namespace softcheck::kernel_tests {
namespace {

// Two queries, two equal keys: p = 1/2, g = 1 and 3, delta = 2.
template <class Real>
struct TwoQueries {
  Tensor<Real> q{dtype_of<Real>(), {1, 1, 2, 1}}, k{dtype_of<Real>(), {1, 1, 2, 1}, {}, 0, Real(1)},
      v{dtype_of<Real>(), {1, 1, 2, 1}}, out{dtype_of<Real>(), {1, 1, 2, 1}, {}, 0, Real(2)},
      lse{dtype_of<Real>(), {1, 1, 2}}, dout{dtype_of<Real>(), {1, 1, 2, 1}, {}, 0, Real(1)},
      by_lse{dtype_of<Real>(), {1, 1, 2}, {9, 7, 3}, 2}, dq{dtype_of<Real>(), {1, 1, 2, 1}},
      dk{dtype_of<Real>(), {1, 1, 2, 1}}, dv{dtype_of<Real>(), {1, 1, 2, 1}};
  Call2 call{SOFTCHECK_OP_ATTENTION_BACKWARD,
             {&q.view, &k.view, &v.view, &out.view, &lse.view, &dout.view, &by_lse.view},
             {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE, SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE,
              SOFTCHECK_ROLE_OUT_GRADIENT, SOFTCHECK_ROLE_LSE_GRADIENT},
             dq.view};

  TwoQueries() {
    q.elements[0] = 2;
    q.elements[1] = 8;
    v.elements[0] = 1;
    v.elements[1] = 3;
    by_lse.elements[2] = 4;
    by_lse.elements[5] = -2;
    call.outputs.push_back(&dk.view);
    call.outputs.push_back(&dv.view);
  }
};

template <class Real>
void gradients_add_up() {
  TwoQueries<Real> of;
  ASSERT_TRUE(of.call.run());
  EXPECT_TRUE(same_bits(of.dq.elements, std::vector<Real>{4, -2}));
  EXPECT_TRUE(same_bits(of.dk.elements, std::vector<Real>{-9, 1}));
  EXPECT_TRUE(same_bits(of.dv.elements, std::vector<Real>{1, 1}));
}

TEST(CpuLseGradient, IsAddedToEachDifference) {
  gradients_add_up<float>();
  gradients_add_up<double>();
}

TEST(CpuLseGradient, OfAnotherShapeOrPlaceIsRefused) {
  TwoQueries<float> of;
  Tensor<float> longer(dtype_of<float>(), {1, 1, 3});
  of.call.inputs.back() = &longer.view;
  EXPECT_FALSE(of.call.run());
  of.call.inputs.back() = &of.by_lse.view;
  of.call.roles.back() = SOFTCHECK_ROLE_SINKS;
  EXPECT_FALSE(of.call.run());
  of.call.roles.back() = SOFTCHECK_ROLE_LSE_GRADIENT;
  EXPECT_TRUE(of.call.run());
}

}  // namespace
}  // namespace softcheck::kernel_tests
