// Cross-entropy and its gradient: what rows and attributes are drawn, and what is granted.
#include "judge/ops/rows/row_elements.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr const char* in_f32 = "acc=f32 exp=1ulp sum=sequential";

Contract f32_contract() { return parse_contract(in_f32, Format::f32, Format::f32); }

// The finding of a row of these logits with one value a row.
Decision decided(Op op, const Row& logits, const std::vector<Row>& auxiliary, const Attributes& attributes,
                 const Row& got, const CountedWeights& counted = {}, const char* words = in_f32) {
  const RowWords of{.contract = words, .auxiliary = auxiliary, .attributes = attributes, .counted = counted};
  return verdicts_of(op, logits, got, of).findings.at(0).decision;
}

constexpr const char* kept_in_f32 = "acc=f32 exp=1ulp sum=sequential subnormal=kept";

TEST(CrossEntropyJudge, TheLossIsThatOfItsLabelAndItsAttributes) {
  const Row logits{0, 0, 0, 0};
  const double hard = std::log(4.0);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{1}}, {}, {round_to(Format::f32, hard)}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{1}}, {}, {hard * (1 + 1e-5)}), Decision::violated);
  // L = ln 4: the z-loss adds z L^2; the smoothed loss of equal logits is ln 4, too.
  const Attributes all{.label_smoothing = 0.25, .z_loss = 0.5, .ignore_index = -100};
  const double loss = round_to(Format::f32, hard + hard * hard / 2);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{3}}, all, {loss}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{3}}, {.ignore_index = -100}, {loss}), Decision::violated);
}

TEST(CrossEntropyJudge, AnIgnoredRowHasLossAndGradientZero) {
  const Attributes attributes{.ignore_index = 2};
  EXPECT_EQ(decided(Op::cross_entropy, {1, 2, 3}, {{2}}, attributes, {0}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, {1, 2, 3}, {{2}}, attributes, {0x1p-149}), Decision::violated);
  EXPECT_EQ(decided(Op::cross_entropy_backward, {1, 2, 3}, {{2}, {1}}, attributes, {0, 0, 0}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy_backward, {1, 2, 3}, {{2}, {1}}, attributes, {0, 0, 0x1p-149}),
            Decision::violated);
}

TEST(CrossEntropyJudge, TheGradientIsTimesItsUpstream) {
  EXPECT_EQ(decided(Op::cross_entropy_backward, {0, 0}, {{0}, {-2}}, {.ignore_index = -100}, {1, -1}),
            Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy_backward, {0, 0}, {{0}, {2}}, {.ignore_index = -100}, {1, -1}),
            Decision::violated);
  // s / V = 1/8 of each class, and 3/4 of the target's own: p - b = 1/2 - 7/8 and 1/2 - 1/8.
  const Attributes smoothed{.label_smoothing = 0.25, .ignore_index = -100};
  EXPECT_EQ(decided(Op::cross_entropy_backward, {0, 0}, {{0}, {1}}, smoothed, {-0.375, 0.375}), Decision::proved);
}

// Behind a cap of 2 the logits 2 atanh(+-1/2) are 1 and -1: L - x_y and the slope 1 - 1/4 are those of them.
TEST(CrossEntropyJudge, ASoftcapComesBeforeTheLossAndHasItsSlope) {
  const double x = round_to(Format::f32, 2 * std::atanh(0.5));
  const Row logits{x, -x};
  const Attributes capped{.ignore_index = -100, .softcap = 2};
  const double p = 1 / (1 + std::exp(-2.0)), loss = round_to(Format::f32, -std::log(p));
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{0}}, capped, {loss}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{0}}, {.ignore_index = -100}, {loss}), Decision::violated);
  const double slope = round_to(Format::f32, (p - 1) * 0.75), whole = round_to(Format::f32, p - 1);
  EXPECT_EQ(decided(Op::cross_entropy_backward, logits, {{0}, {1}}, capped, {slope, -slope}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy_backward, logits, {{0}, {1}}, capped, {whole, -whole}), Decision::violated);
}

// A kernel may multiply by upstream before the slope: where results are subnormal, both products lose half a quantum.
TEST(CrossEntropyJudge, UpstreamMayMeetTheGradientBeforeTheSlopeDoes) {
  const Attributes capped{.ignore_index = -100, .softcap = 4};
  const auto of_first = [&](double got) {
    return decided(Op::cross_entropy_backward, {-1, 0}, {{0}, {0x1.ap-146}}, capped, {got, 0x1.2p-146}, {},
                   kept_in_f32);
  };
  EXPECT_EQ(of_first(-0x1p-146), Decision::proved);      // upstream (p - 1) rounds to -9 quanta, -8.46 of them to -8
  EXPECT_EQ(of_first(-0x1.2p-146), Decision::proved);    // (p - 1) times the slope first: -8.89 quanta
  EXPECT_EQ(of_first(-0x1.cp-147), Decision::violated);  // -7
  EXPECT_EQ(of_first(-0x1.6p-146), Decision::violated);  // -11
}

// A division behind all else divides what the products have lost: of -2.58 quanta, times a slope of 0.834, a kernel
// keeps -3 twice. The weights' sum is 2^-10, so that it returns -3 x 2^-139 for -2.15 x 2^-139.
TEST(CrossEntropyJudge, ADivisorMayComeLastHoweverSmallItIs) {
  const Attributes capped{.ignore_index = -100, .softcap = 2.3125, .mean = true};
  CountedWeights counted;
  counted.add(0x1p-10);
  const auto of_first = [&](double got) {
    return decided(Op::cross_entropy_mean_backward, {-1, 0}, {{0}, {0x1.cp-138}, {0x1p-10, 1}}, capped,
                   {got, 0x1.8p-138}, counted, kept_in_f32);
  };
  EXPECT_EQ(of_first(-0x1.8p-138), Decision::proved);  // -3
  EXPECT_EQ(of_first(-0x1p-138), Decision::proved);    // -2: the slope before upstream, or the division
  // Upstream may meet each of the gradient's addends, too: up to ten half quanta, divided.
  EXPECT_EQ(of_first(-0x1p-136), Decision::violated);  // -8
  EXPECT_EQ(of_first(0x1p-137), Decision::violated);   // 4
}

// Equal logits, V = 2: the smoothed loss is ln 2 ((1 - s) w_y + s mean(w)), alpha that factor, b_j the weights' shares.
TEST(CrossEntropyJudge, ClassWeightsAreThoseOfTheTargetAndOfTheSmoothing) {
  const Row logits{0, 0}, weights{3, 0.5};
  const Attributes smoothed{.label_smoothing = 0.25, .ignore_index = -100}, hard{.ignore_index = -100};
  const auto of = [](double factor) { return std::vector{round_to(Format::f32, factor * std::log(2.0))}; };
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{0}, weights}, hard, of(3)), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{1}, weights}, hard, of(3)), Decision::violated);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{0}, weights}, smoothed, of(2.25 + 0.4375)), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, logits, {{0}, weights}, smoothed, of(3)), Decision::violated);
  // alpha p = 2.6875 / 2; b = 2.25 + 0.375 and 0.0625.
  const Row gradient{1.34375 - 2.625, 1.34375 - 0.0625};
  EXPECT_EQ(decided(Op::cross_entropy_backward, logits, {{0}, {1}, weights}, smoothed, gradient), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy_backward, logits, {{0}, {1}}, smoothed, gradient), Decision::violated);
}

TEST(CrossEntropyJudge, ClassWeightsAreOneTensorOfTheCallsThatHaveThem) {
  RowMatrixCase matrix = matrix_of_rows(Format::bf16, {{1, 5, 2, 4, 3}}, 32 + 64, 3);
  matrix.visible = {11, 2, 1, true};
  const CallFormats formats{Format::bf16, Format::f32};
  const TensorCall call = call_of(matrix, Op::cross_entropy_backward, formats);
  ASSERT_EQ(call.inputs.size(), 4u);
  EXPECT_EQ(call.roles, (std::vector{Role::logits, Role::labels, Role::upstream, Role::class_weights}));
  const TensorPlace& place = call.inputs[3].place;
  EXPECT_EQ(place.shape, Shape{5});
  EXPECT_EQ(place.strides, Shape{2});
  EXPECT_EQ(place.format, Format::bf16);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(inputs_of(matrix, Op::cross_entropy_backward, Format::bf16, r)[3], call.inputs[3].values);
  }
  EXPECT_TRUE(traits_of(matrix, Op::cross_entropy).class_weights);
  EXPECT_FALSE(traits_of(matrix, Op::cross_entropy).softcap);
  matrix.auxiliary = 16 + 64;
  EXPECT_EQ(call_of(matrix, Op::cross_entropy_backward, formats).inputs.size(), 3u);
  EXPECT_EQ(call_of(matrix, Op::cross_entropy, formats).attributes.softcap, 2.3);
  EXPECT_TRUE(traits_of(matrix, Op::cross_entropy).softcap);
  EXPECT_FALSE(traits_of(matrix, Op::cross_entropy).class_weights);
}

TEST(CrossEntropyJudge, ADomainExcludesASoftcapAndClassWeights) {
  const RowOp& op = Op::cross_entropy.rows();
  for (const char* words : {"nosoftcap", "noweights"}) {
    const Domain domain = parse_domain(words, false);
    EXPECT_EQ(to_string(domain), words);
    for (std::uint64_t auxiliary = 0; auxiliary < 64; ++auxiliary) {
      const RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 0}}, auxiliary);
      const bool closed = (auxiliary & op.closed_auxiliaries(domain)) != 0;
      EXPECT_EQ(domain.admits(traits_of(matrix, Op::cross_entropy)), !closed) << words << ' ' << auxiliary;
    }
  }
  EXPECT_EQ(op.closed_auxiliaries({}), 0u);
}

// The slope of a saturated logit is nothing but its error. Such elements are judged, and are no reason to call a
// contract vacuous.
TEST(CrossEntropyJudge, SaturatedLogitsMakeNoContractVacuous) {
  const Attributes capped{.ignore_index = -100, .softcap = 30};
  const RowVerdicts verdicts = verdicts_of(Op::cross_entropy_backward, {1000, 1000, -1000}, {0, 0, 0},
                                           {.contract = in_f32, .auxiliary = {{0}, {1}}, .attributes = capped});
  EXPECT_EQ(verdicts.findings.at(0).decision, Decision::proved);
  EXPECT_EQ(verdicts.vacuity.judged, 3u);
  EXPECT_EQ(verdicts.vacuity.vacuous, 0u);
}

// The overflow is the form's, whatever the contract says: such rows are counted apart, and make no verdict vacuous.
TEST(CrossEntropyJudge, ARowWhoseLossOverflowsOnTheWayCountsApart) {
  const Row wide{0x1.8p+127, -0x1.8p+127}, large{0x1p+70, 0};
  const Attributes hard{.ignore_index = -100}, squared{.z_loss = 0x1p-10, .ignore_index = -100};
  const auto counts = [](const Row& logits, double label, const Attributes& attributes) {
    const RowWords words{.contract = in_f32, .auxiliary = {{label}}, .attributes = attributes};
    return verdicts_of(Op::cross_entropy, logits, {infinity}, words).vacuity;
  };
  for (const VacuityCount& count : {counts(wide, 1, hard), counts(large, 0, squared)}) {
    EXPECT_EQ(count.unresolved, 1u);
    EXPECT_EQ(count.rows, 0u);
    EXPECT_EQ(count.judged, 0u);
  }
  EXPECT_EQ(counts(large, 0, hard).rows, 1u);
}

// L - x_y is 2^100, a number of f32; times its class weight it is none.
TEST(CrossEntropyJudge, AWeightedLossMayOverflowWhereThePlainOneFits) {
  const auto unresolved = [&](const std::vector<Row>& auxiliary) {
    const RowWords words{.contract = in_f32, .auxiliary = auxiliary, .attributes = {.ignore_index = -100}};
    return verdicts_of(Op::cross_entropy, {0x1p+100, 0}, {infinity}, words).vacuity.unresolved;
  };
  EXPECT_EQ(unresolved({{1}}), 0u);
  EXPECT_EQ(unresolved({{1}, {1, 1}}), 0u);
  EXPECT_EQ(unresolved({{1}, {1, 0x1p+40}}), 1u);
}

// What quick() bounds is where the oracle's enclosure is, for rows whose terms cancel, vanish or are as large as
// numbers get.
TEST(CrossEntropyJudge, TheQuickValueIsWithinItsErrorOfTheOracles) {
  const std::vector<Row> rows{
      {0, 0, 0},           {1, 2, 3, 4},    {50, -50, 0},  {-700, 700},
      {-0x1.8p+127, 0, 1}, {1e-30, -1e-30}, {88.5, 88, 2}, {-0.6931471805599453, -0.6931471805599453}};
  const PrecisionScope precision(256);
  for (const Op op : {Op::cross_entropy, Op::cross_entropy_backward}) {
    for (std::uint64_t auxiliary = 0; auxiliary < 1024; auxiliary += 3) {
      for (const Row& logits : rows) {
        const std::vector<Row> inputs = op.rows().input_values(Format::f32, logits, auxiliary);
        const Contract contract = f32_contract();
        const RowInputs row{contract, inputs[0], 1, std::span(inputs).subspan(1),
                            op.rows().attributes(auxiliary, logits.size())};
        const auto elements = op.rows().elements(row);
        for (std::size_t i = 0; i < (op->one_value_per_row ? 1 : logits.size()); ++i) {
          const Quick quick = elements->quick(i);
          const auto high = static_cast<double>(quick.value);
          const auto middle_part = static_cast<double>(quick.value - high);
          const auto low = static_cast<double>(quick.value - high - middle_part);  // aarch64's has 113 bits
          const Enclosure middle = Enclosure(high) + Enclosure(middle_part) + Enclosure(low);
          const Enclosure allowed(std::nextafter(static_cast<double>(quick.error), infinity));
          EXPECT_EQ(less_equal(abs(elements->value(i) - middle), allowed), Decision::proved)
              << to_string(op) << " beside=" << auxiliary << " item " << i << " of " << logits[0];
        }
      }
    }
  }
}

TEST(CrossEntropyJudge, LabelsOfEveryKindAreDrawnInBothIntegerTypes) {
  RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 5, 2, 4, 3}}, 0, 16);
  std::set<double> labels;
  std::set<int> bits;
  for (const std::uint64_t auxiliary : {1u, 1u + 64}) {
    matrix.auxiliary = auxiliary;
    const TensorCall call = call_of(matrix, Op::cross_entropy, {Format::f32, Format::f32});
    labels.insert(call.inputs[1].values.begin(), call.inputs[1].values.end());
    bits.insert(call.inputs[1].place.integer_bits);
    EXPECT_EQ(call.attributes.label_smoothing, 0.1);
    // What is stored of a negative label is read back as it was.
    EXPECT_EQ(decode(call.inputs[1].place, encode(call.inputs[1])), call.inputs[1].values);
    for (const std::uint64_t pattern : encode(call.inputs[1])) {
      EXPECT_EQ(pattern >> (call.inputs[1].place.integer_bits - 1) >> 1, 0u);
    }
  }
  EXPECT_EQ(bits, (std::set<int>{32, 64}));
  for (const double label : {-100.0, 0.0, 1.0, 4.0}) EXPECT_TRUE(labels.contains(label)) << label;
}

TEST(CrossEntropyJudge, AReportNamesTheLabelAndTheAttributes) {
  EXPECT_EQ(remark_of(Op::cross_entropy, matrix_of_rows(Format::f32, {{1, 0}}, 3)),
            " (logits 0x1p+0 0x0p+0, labels 0, label_smoothing 0x1.999999999999ap-4, z_loss 0x1p-10, "
            "ignore_index -100)");
}

// A kernel that looks at no strides keeps to domain=compact: rows side by side have values side by side.
TEST(CrossEntropyJudge, OneValueARowIsSideBySideWhereItsItemsAre) {
  const auto strides = [](const MatrixLayout& out) {
    RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 2, 3}}, 0, 2);
    matrix.out = out;
    return call_of(matrix, Op::logsumexp, {Format::f32, Format::f32}).outputs[0].place.strides;
  };
  EXPECT_EQ(strides({3, 1, 0, true}), Shape{1});
  EXPECT_EQ(strides({5, 1, 0, true}), Shape{1});  // contiguous: the innermost stride, its only one, is 1
  EXPECT_EQ(strides({6, 2, 0, true}), Shape{6});
}

// The definition in enclosures, by nothing that the judge shares: sums of q (L - x) and of q, of x = logits / theta.
Enclosure soft_by_definition(const RowInputs& row, std::size_t j, bool gradient) {
  const double cap = row.attributes.softcap;
  std::vector<Enclosure> x;
  Enclosure sum(0), mass(0), loss(0);
  for (const double logit : row.logits) {
    Enclosure each = Enclosure(logit) / Enclosure(row.theta);
    if (cap != 0) each = Enclosure(cap) * tanh(each / Enclosure(cap));
    x.push_back(each);
    sum = sum + exp(each);
  }
  const Enclosure lse = log(sum), z(row.attributes.z_loss);
  for (std::size_t i = 0; i < x.size(); ++i) {
    mass = mass + Enclosure(row.auxiliary[0][i]);
    loss = loss + Enclosure(row.auxiliary[0][i]) * (lse - x[i]);
  }
  if (!gradient) return loss + z * lse * lse;
  Enclosure slope = (mass + 2 * z * lse) * exp(x[j] - lse) - Enclosure(row.auxiliary[0][j]);
  if (cap != 0) slope = slope * (1 - square(x[j] / Enclosure(cap)));
  return Enclosure(row.auxiliary[1][0]) * slope / Enclosure(row.theta);
}

// Both of the judge's routes, quick values and enclosures.
TEST(CrossEntropyJudge, TargetsHaveTheLossOfTheDefinition) {
  const std::vector<Row> rows{{0, 0, 0}, {1, 2, 3, 4}, {50, -50, 0}, {-70, 70}, {5}, {-0.5, 0.25, -0.5, 8, 8}};
  const PrecisionScope precision(256);
  const Contract contract = f32_contract();
  const std::uint64_t finite = Op::soft_cross_entropy.rows().set_auxiliaries(parse_domain("finite", false));
  for (const Op op : {Op::soft_cross_entropy, Op::soft_cross_entropy_backward}) {
    for (std::uint64_t auxiliary = finite; auxiliary < finite + 1024; auxiliary += 2) {
      const bool scaled = auxiliary / 64 % 2 == 1 && (auxiliary & 16) == 0;
      for (const Row& logits : rows) {
        const std::vector<Row> inputs = op.rows().input_values(Format::f32, logits, auxiliary);
        const RowInputs row{contract, inputs[0], scaled ? 0.7 : 1, std::span(inputs).subspan(1),
                            op.rows().attributes(auxiliary, logits.size())};
        const auto elements = op.rows().elements(row);
        for (std::size_t i = 0; i < (op->one_value_per_row ? 1 : logits.size()); ++i) {
          const Enclosure exact = soft_by_definition(row, i, !op->one_value_per_row), got = elements->value(i);
          const double upstream = op->one_value_per_row ? 1 : std::fmax(1, std::fabs(row.auxiliary[1][0]));
          const Enclosure room(0x1p-200 * (upstream + abs(exact).upper_double()));
          EXPECT_EQ(less_equal(abs(got - exact), room), Decision::proved) << to_string(op) << ' ' << auxiliary;
          const Quick quick = elements->quick(i);
          const auto high = static_cast<double>(quick.value);
          const Enclosure middle = Enclosure(high) + Enclosure(static_cast<double>(quick.value - high));
          const Enclosure allowed(std::nextafter(static_cast<double>(quick.error) + 0x1p-100, infinity));
          EXPECT_EQ(less_equal(abs(exact - middle), allowed), Decision::proved) << to_string(op) << ' ' << auxiliary;
          EXPECT_LT(static_cast<double>(quick.error), 0x1p-50 * (1 + 100 * elements->metric(i, std::fabs(high))));
        }
      }
    }
  }
}

// q = (1, 1/2), equal logits: the loss is 1.5 ln 2, and the gradient 0.75 - q. A kernel that takes the sum of the
// targets for 1 has other values.
TEST(CrossEntropyJudge, TheMassOfTheTargetsCounts) {
  const auto of = [](double loss) { return Row{round_to(Format::f32, loss)}; };
  const Row targets{1, 0.5}, none{0, 0};
  EXPECT_EQ(decided(Op::soft_cross_entropy, {0, 0}, {targets}, {}, of(1.5 * std::log(2.0))), Decision::proved);
  EXPECT_EQ(decided(Op::soft_cross_entropy, {0, 0}, {targets}, {}, of(std::log(2.0))), Decision::violated);
  EXPECT_EQ(decided(Op::soft_cross_entropy, {3, 0}, {none}, {}, {0}), Decision::proved);
  EXPECT_EQ(decided(Op::soft_cross_entropy, {3, 0}, {none}, {}, {0x1p-20}), Decision::violated);
  const auto gradient = [&](const Row& got) {
    return decided(Op::soft_cross_entropy_backward, {0, 0}, {targets, {2}}, {}, got);
  };
  EXPECT_EQ(gradient({-0.5, 0.5}), Decision::proved);
  EXPECT_EQ(gradient({-1, 0}), Decision::violated);
}

// A theta of 2 halves the logits, and the gradient is by the logits themselves.
TEST(CrossEntropyJudge, ATemperatureDividesTheLogitsAndTheGradient) {
  const auto decided_at_2 = [](Op op, const std::vector<Row>& auxiliary, const Row& got) {
    const RowWords words{
        .contract = in_f32, .theta = 2, .auxiliary = auxiliary, .attributes = {.ignore_index = -100}, .counted = {}};
    return verdicts_of(op, {2, 0}, got, words).findings.at(0).decision;
  };
  const double p = 1 / (1 + std::exp(-1.0)), loss = round_to(Format::f32, -std::log(p)),
               slope = round_to(Format::f32, (p - 1) / 2), whole = round_to(Format::f32, p - 1);
  EXPECT_EQ(decided_at_2(Op::cross_entropy, {{0}}, {loss}), Decision::proved);
  EXPECT_EQ(decided(Op::cross_entropy, {2, 0}, {{0}}, {.ignore_index = -100}, {loss}), Decision::violated);
  EXPECT_EQ(decided_at_2(Op::cross_entropy_backward, {{0}, {1}}, {slope, -slope}), Decision::proved);
  EXPECT_EQ(decided_at_2(Op::cross_entropy_backward, {{0}, {1}}, {whole, -whole}), Decision::violated);
  EXPECT_EQ(decided_at_2(Op::soft_cross_entropy_backward, {{1, 0}, {1}}, {slope, -slope}), Decision::proved);
}

}  // namespace
}  // namespace softcheck::proptests
