// The gradient of attention, plain and adaptive, of the CPU, of ranks and of the bodies for GPUs on the emulator: its
// values against 50 digits, within derived errors; these against differences of a loss; and what its bits depend on.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <tuple>

#include "proptests/tests/kernels/attention_gradient_expected.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

std::string symbol_of(bool adaptive) {
  return adaptive ? "softcheck_adaptive_attention_backward" : "softcheck_attention_backward";
}

GradientCase case_of(AttentionProblem p, bool adaptive, Format format) {
  GradientCase c{std::move(p), {}, adaptive, numerics::parse_contract("exp=1ulp sum=blocks:128", format, format)};
  Draw draw(format, 77);
  c.incoming = draw.values(c.problem.out_shape(), 1);
  return c;
}

struct Gradient {
  std::vector<double> dq, dk, dv;
};

testing::AssertionResult same_gradients(const Gradient& one, const Gradient& other) {
  testing::AssertionResult same = same_bits(one.dq, other.dq);
  if (same) same = same_bits(one.dk, other.dk);
  return same ? same_bits(one.dv, other.dv) : same;
}

/// What a kernel returns, in the layout of the problem; outputs: how many results are asked for; nullptr: the CPU's.
Gradient run_gradient(const GradientCase& c, Format format, std::size_t outputs = 3,
                      softcheck_kernel kernel = nullptr) {
  const AttentionProblem& p = c.problem;
  PlacedInputs inputs(p, format);
  const auto placed = [&](const Shape& shape, bool is_key = false, bool is_value = false) {
    return PlacedTensor(shape, placing_of(p.layout, shape, is_key, is_value), dlpack_type(format), &format);
  };
  PlacedTensor incoming = placed(p.out_shape()), dq = placed(p.q_shape()), dk = placed(p.k_shape(), true),
               dv = placed(p.v_shape(), false, true);
  incoming.write(c.incoming);
  std::vector<const DLTensor*> in{&inputs.q.view(), &inputs.k.view(), &inputs.v.view(), &incoming.view()};
  if (p.mask_heads > 0) in.push_back(&inputs.mask.view());
  std::vector<DLTensor*> to{&dq.view(), &dk.view(), &dv.view()};
  to.resize(outputs);
  if (kernel == nullptr) kernel = cpu_kernel(symbol_of(c.adaptive));
  EXPECT_TRUE(takes_call(kernel, in, to, p.scale, p.causal)) << p.name;
  return {dq.read(), dk.read(), dv.read()};
}

/// The largest share of its error that an element takes; infinite where NaN is not as it must be.
double share(const std::vector<double>& got, const ExactTensor& exact) {
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (exact.is_nan[i] || std::isnan(got[i])) {
      if (!exact.is_nan[i] || !std::isnan(got[i])) return INFINITY;
    } else {
      most = std::max(most, magnitude(Real(got[i]) - exact.values[i]) / exact.errors[i]);
    }
  }
  return most;
}

/// The largest share that an element of a gradient takes; each is within its error.
double expect_within_errors(const GradientCase& c, Format format, softcheck_kernel kernel = nullptr) {
  const ExactGradient exact(c);
  const Gradient got = run_gradient(c, format, 3, kernel);
  double most = 0;
  for (const auto& [name, of_got, of_exact] :
       {std::tuple{"dq", &got.dq, &exact.dq}, {"dk", &got.dk, &exact.dk}, {"dv", &got.dv, &exact.dv}}) {
    const double taken = share(*of_got, *of_exact);
    EXPECT_LE(taken, 1) << symbol_of(c.adaptive) << " " << name << ": " << c.problem.name;
    most = std::max(most, taken);
  }
  return most;
}

/// The fixed calls of attention, and some of several tiles of queries and blocks of keys.
std::vector<AttentionProblem> gradient_problems(Format format) {
  std::vector<AttentionProblem> list = attention_problems(format);
  Draw draw(format, 4711);
  list.push_back(filled({"two tiles, three blocks", 1, 2, 1, 25, 270, 3, 5, 0.5}, draw));
  list.push_back(filled({"three tiles, causal", 1, 3, 1, 40, 150, 4, 2, 0.25, true}, draw));
  list.push_back(filled({"two tiles, masked", 1, 2, 2, 55, 140, 2, 3, 0.5, false, 1, Layout::gaps}, draw));
  list.push_back(filled({"more queries than a block has threads", 1, 2, 1, 140, 9, 5, 7, 0.5, true}, draw));
  return list;
}

class AttentionGradient : public ::testing::TestWithParam<Format> {};

TEST_P(AttentionGradient, LiesWithinItsErrors) {
  for (const bool adaptive : {false, true}) {
    double most = 0;
    for (const AttentionProblem& p : gradient_problems(GetParam())) {
      most = std::max(most, expect_within_errors(case_of(p, adaptive, GetParam()), GetParam()));
    }
    RecordProperty(adaptive ? "adaptive" : "plain", std::to_string(most));
  }
}

// The judge has no op for the gradient of adaptive attention. Ranks sum up in the tree of kernels/parallel/, of leaves
// of 16 keys and more, with a known maximum: blocks of 16 are granted at least as many rescalings.
TEST_P(AttentionGradient, OfRanksLiesWithinItsErrors) {
  const softcheck_kernel kernel =
      load_kernel("softcheck_parallel_kernels", "softcheck_ranks_8_adaptive_attention_backward");
  ASSERT_NE(kernel, nullptr);
  for (const AttentionProblem& p : gradient_problems(GetParam())) {
    GradientCase c = case_of(p, true, GetParam());
    c.keys_of_block = 16;
    expect_within_errors(c, GetParam(), kernel);
  }
}

softcheck_kernel emulated_gradient(bool adaptive) {
  return load_kernel("softcheck_emulated_kernels",
                     std::string("softcheck_emulated_") + (adaptive ? "adaptive_" : "") + "attention_backward");
}

// A block's sums are compensated; where its threads' maxima meet, it rescales as often as a tree of single keys does.
// Labelled full: Formats/AttentionGradient.OfEmulatedGpusLiesWithinItsErrors*
TEST_P(AttentionGradient, OfEmulatedGpusLiesWithinItsErrors) {
  for (const bool adaptive : {false, true}) {
    for (const AttentionProblem& p : gradient_problems(GetParam())) {
      GradientCase c = case_of(p, adaptive, GetParam());
      c.keys_of_block = 1;
      expect_within_errors(c, GetParam(), emulated_gradient(adaptive));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, AttentionGradient,
                         ::testing::Values(Format::f64, Format::f32, Format::f16, Format::bf16),
                         [](const auto& format) { return std::string(numerics::properties(format.param).name); });

/// sum of dO out, straight from the definitions.
Real loss(const AttentionProblem& p, const std::vector<double>& incoming, bool adaptive, const std::vector<Real>& q,
          const std::vector<Real>& k, const std::vector<Real>& v) {
  Real total = 0;
  for (std::int64_t row = 0; row < p.batch * p.heads * p.queries; ++row) {
    const std::int64_t i = row % p.queries, h = row / p.queries % p.heads, b = row / p.queries / p.heads;
    const std::vector<std::uint8_t> visible = p.visible(b, h, i);
    std::vector<Real> x, values;
    for (std::int64_t j = 0; j < p.keys; ++j) {
      if (visible[static_cast<std::size_t>(j)] == 0) continue;
      const std::int64_t key = (b * p.key_heads + p.key_head(h)) * p.keys + j;
      Real score = 0, value = 0;
      for (std::int64_t t = 0; t < p.dim; ++t) {
        score += q[static_cast<std::size_t>(row * p.dim + t)] * k[static_cast<std::size_t>(key * p.dim + t)];
      }
      for (std::int64_t t = 0; t < p.value_dim; ++t) {
        value += incoming[static_cast<std::size_t>(row * p.value_dim + t)] *
                 v[static_cast<std::size_t>(key * p.value_dim + t)];
      }
      x.push_back(p.scale * score);
      values.push_back(value);
    }
    if (x.empty()) continue;
    const Real beta = adaptive ? ExactBeta(entropy_of(softmax_of(x, 1))).value : Real(1);
    const std::vector<Real> weights = softmax_of(x, beta);
    for (std::size_t j = 0; j < x.size(); ++j) total += weights[j] * values[j];
  }
  return total;
}

// (L(x + h) - L(x - h)) / 2h = L' + c h^2 + O(h^4): halving h leaves a quarter of c h^2, a third of what the halving
// has changed; and the loss is known to 2^-160 of its terms, fewer than 2^10 of size 1.
TEST(AttentionGradient, IsTheLimitOfDifferences) {
  Draw draw(Format::f64, 12);
  const AttentionProblem p = filled({"small", 1, 2, 1, 3, 5, 2, 2, 0.75, true, 2}, draw);
  for (const bool adaptive : {false, true}) {
    const GradientCase c = case_of(p, adaptive, Format::f64);
    const ExactGradient exact(c);
    std::vector<std::vector<Real>> at{{p.q.begin(), p.q.end()}, {p.k.begin(), p.k.end()}, {p.v.begin(), p.v.end()}};
    const ExactTensor* tensors[] = {&exact.dq, &exact.dk, &exact.dv};
    for (std::size_t which = 0; which < 3; ++which) {
      for (std::size_t i = 0; i < at[which].size(); ++i) {
        const Real x = at[which][i];
        const auto difference = [&](const Real& h) {
          at[which][i] = x + h;
          const Real above = loss(p, c.incoming, adaptive, at[0], at[1], at[2]);
          at[which][i] = x - h;
          const Real below = loss(p, c.incoming, adaptive, at[0], at[1], at[2]);
          at[which][i] = x;
          return Real((above - below) / (2 * h));
        };
        const Real h = ldexp(Real(1), -45), wide = difference(2 * h), narrow = difference(h);
        EXPECT_LE(abs(narrow - tensors[which]->values[i]), abs(wide - narrow) + ldexp(Real(1), -160 + 10 + 45))
            << adaptive << " " << which << " " << i;
      }
    }
  }
}

TEST(AttentionGradient, NoMoreIsWrittenThanIsAskedFor) {
  Draw draw(Format::f32, 5);
  const GradientCase c = case_of(filled({"", 1, 2, 1, 50, 140, 5, 3, 0.5}, draw), true, Format::f32);
  const Gradient all = run_gradient(c, Format::f32);
  const Gradient one = run_gradient(c, Format::f32, 1), two = run_gradient(c, Format::f32, 2);
  EXPECT_TRUE(same_bits(one.dq, all.dq));
  EXPECT_TRUE(same_bits(two.dq, all.dq));
  EXPECT_TRUE(same_bits(two.dk, all.dk));
  for (const double x : one.dk) EXPECT_TRUE(std::isnan(x));  // as PlacedTensor left it
  for (const double x : two.dv) EXPECT_TRUE(std::isnan(x));
}

TEST(AttentionGradient, BitsDependOnNoThreadCountAndNoRun) {
  Draw draw(Format::f32, 6);
  for (const bool adaptive : {false, true}) {
    AttentionProblem p = filled({"", 2, 4, 2, 130, 3000, 16, 16, 0.25, true}, draw);
    const GradientCase c = case_of(p, adaptive, Format::f32);
    const Gradient once = run_gradient(c, Format::f32);
    on_threads({"2", "3", "1000"}, [&] { EXPECT_TRUE(same_gradients(run_gradient(c, Format::f32), once)); });
  }
}

// A query's dq and a batch's dk and dv are those of a call of theirs alone.
TEST(AttentionGradient, BitsDependOnNoNeighbour) {
  Draw draw(Format::f32, 7);
  const auto part = [](const std::vector<double>& all, std::int64_t begin, std::int64_t count) {
    return std::vector<double>(all.begin() + begin, all.begin() + begin + count);
  };
  for (const bool adaptive : {false, true}) {
    AttentionProblem p = filled({"", 2, 2, 1, 61, 301, 19, 7, 0.5, true}, draw);
    const GradientCase c = case_of(p, adaptive, Format::f32);
    const Gradient all = run_gradient(c, Format::f32);
    GradientCase second = c;
    second.problem.batch = 1;
    const std::int64_t rows = p.heads * p.queries;
    second.problem.q = part(p.q, rows * 19, rows * 19);
    second.problem.k = part(p.k, 301 * 19, 301 * 19);
    second.problem.v = part(p.v, 301 * 7, 301 * 7);
    second.incoming = part(c.incoming, rows * 7, rows * 7);
    EXPECT_TRUE(same_gradients(
        run_gradient(second, Format::f32),
        {part(all.dq, rows * 19, rows * 19), part(all.dk, 301 * 19, 301 * 19), part(all.dv, 301 * 7, 301 * 7)}));
    for (std::int64_t i = 0; i < 61; i += 9) {  // of head 1 of batch 0, with the keys that it sees
      GradientCase one = c;
      one.problem.batch = one.problem.heads = one.problem.queries = 1;
      one.problem.keys = i + 301 - 61 + 1;
      one.problem.q = part(p.q, (61 + i) * 19, 19);
      one.problem.k = part(p.k, 0, one.problem.keys * 19);
      one.problem.v = part(p.v, 0, one.problem.keys * 7);
      one.incoming = part(c.incoming, (61 + i) * 7, 7);
      EXPECT_TRUE(same_bits(run_gradient(one, Format::f32).dq, part(all.dq, (61 + i) * 19, 19))) << i;
    }
  }
}

TEST(AttentionGradient, AQueryThatSeesNothingGivesNothing) {
  Draw draw(Format::f32, 8);
  for (const bool adaptive : {false, true}) {
    // A negative scale: of the CPU 0, not -0, whatever it is multiplied with.
    AttentionProblem p = filled({"", 1, 1, 1, 50, 140, 5, 3, -0.5, false, 1}, draw);
    std::fill_n(p.mask.begin() + 49 * 140, 140, std::uint8_t{0});
    const GradientCase c = case_of(p, adaptive, Format::f32);
    GradientCase unseen = c;
    std::fill_n(unseen.incoming.begin() + 49 * 3, 3, NAN);
    std::fill_n(unseen.problem.q.begin() + 49 * 5, 5, INFINITY);
    const softcheck_kernel cpu = cpu_kernel(symbol_of(adaptive));
    for (const softcheck_kernel kernel : {cpu, emulated_gradient(adaptive)}) {
      const Gradient got = run_gradient(unseen, Format::f32, 3, kernel);
      for (auto dq = got.dq.begin() + 49 * 5; dq != got.dq.end(); ++dq) EXPECT_EQ(*dq, 0);
      EXPECT_FALSE(kernel == cpu && std::signbit(got.dq.back()));
      EXPECT_TRUE(same_gradients(got, run_gradient(c, Format::f32, 3, kernel)));
    }
  }
}

// One NaN in each input in turn, somewhere in the second tile and the second block: where it is met the results are
// NaN, elsewhere they are the numbers that they would be.
// Labelled full: AttentionGradient.ANanReachesWhatSeesIt
TEST(AttentionGradient, ANanReachesWhatSeesIt) {
  Draw draw(Format::f32, 9);
  const AttentionProblem p = filled({"", 1, 1, 1, 60, 150, 3, 2, 0.5, true, 1}, draw);
  for (const bool adaptive : {false, true}) {
    for (const auto& place : std::initializer_list<std::function<double&(GradientCase&)>>{
             [](GradientCase& c) -> double& { return c.problem.q[55 * 3 + 1]; },
             [](GradientCase& c) -> double& { return c.problem.k[139 * 3 + 2]; },
             [](GradientCase& c) -> double& { return c.problem.v[140 * 2]; },
             [](GradientCase& c) -> double& { return c.incoming[51 * 2 + 1]; }}) {
      GradientCase c = case_of(p, adaptive, Format::f32);
      place(c) = NAN;
      expect_within_errors(c, Format::f32);
      expect_within_errors(c, Format::f32, emulated_gradient(adaptive));
      const std::vector<bool> is_nan = ExactGradient(c).dk.is_nan;
      EXPECT_TRUE(std::ranges::count(is_nan, true) > 0 && std::ranges::count(is_nan, false) > 0);
    }
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
