// B9, and B9 with B10: the code's bounds are the document's, from below and from above.
#include "proptests/tests/numerics/stated_attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "proptests/tests/numerics/stated_rows.hpp"

namespace softcheck::numerics {
namespace {

using stated::expect_same;
using stated::Real;

// (q scale) k in binary16: q scale is a fifth above the smallest number, and 1024 times what it loses is not small.
TEST(RoundingScores, AQueryThatIsScaledFirstLosesWhatItsKeyMultiplies) {
  const Contract contract = parse_contract("acc=f16 sum=sequential subnormal=kept", Format::f16, Format::f16);
  constexpr double query = 0x1p-22, key = 1024;
  AttentionArithmetic arithmetic{.dimension = 1, .scale = round_to(Format::f16, 0.3)};
  const double score = round_to(Format::f16, round_to(Format::f16, query * arithmetic.scale) * key);
  const double error = std::fabs(score - arithmetic.scale * (query * key));
  EXPECT_GT(error, score_error(contract, arithmetic, UpperBound(query * key)).value()) << "of a score scaled behind";
  arithmetic.factor_sum = query + key;
  EXPECT_LE(error, score_error(contract, arithmetic, UpperBound(query * key)).value());
}

TEST(StatedBounds, OfAScoreAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const stated::Setting& setting : stated::settings) {
    for (const ScaleUse use : {ScaleUse::whole, ScaleUse::split, ScaleUse::stored}) {
      Contract contract = parse_contract(setting.words, setting.input, setting.output);
      contract.scale = use;
      for (const double scale : {0.25, -3.0}) {
        for (const std::uint64_t d : {1, 64}) {
          AttentionArithmetic arithmetic;
          arithmetic.dimension = d;
          arithmetic.scale = scale;
          arithmetic.factor_sum = 5;
          expect_same(score_error(contract, arithmetic, Real(7)), stated::score(contract, arithmetic, Real(7)),
                      std::string(setting.words) + " score");
        }
      }
      for (const Format scores : {Format::f32, Format::bf16, Format::f16}) {
        contract.scores = scores;
        expect_same(stored_score_error(contract, Real(0x1p-9), Real(2)),
                    stated::stored_score(contract, Real(0x1p-9), Real(2)), std::string(setting.words) + " scores=");
      }
    }
  }
}

struct StatedQuery {
  std::vector<Real> p, D, e, values;
  Real output;
};

void compare(const Contract& contract, const AttentionArithmetic& arithmetic, const AttentionThreshold<Real>& bound,
             const stated::Attention& said, const StatedQuery& query, Grants grants, const std::string& what) {
  expect_same(bound.column(query.values, query.output),
              said.column(contract, arithmetic, query.values, query.output, grants), what + "column");
  for (const Format output : {Format::f32, Format::bf16}) {
    Contract results = said.contract;
    results.output = output;
    ScalarThreshold<Real> l = stated::logsumexp(results, said.row, grants);
    l.rounding = l.rounding + said.of_logsumexp;
    expect_same(bound.logsumexp(output), l, what + "log-sum-exp");
    ScalarThreshold<Real> h = stated::contracted_entropy(results, said.row, grants);
    h.rounding = h.rounding + said.of_entropy;
    expect_same(bound.entropy(output), h, what + "entropy");
    expect_same(bound.undershoot(output), stated::undershoot(results, said.row), what + "undershoot");
  }
  expect_same(bound.sum_error(), stated::grown(stated::Softmax(said.contract, said.row, grants).sigma), what + "B1");
}

TEST(StatedBounds, OfAttentionAreTheDocuments) {
  const PrecisionScope precision(256);
  const StatedQuery query{{Real(0.5), Real(0.25), Real(0), Real(0.25)},
                          {Real(0), Real(0.75), Real(9), Real(0.5)},
                          {Real(0x1p-12), Real(0x1p-10), Real(1), Real(0x1p-11)},
                          {Real(1), Real(3), Real(2), Real(0.5)},
                          Real(1.25)};
  for (const stated::Setting& setting : stated::settings) {
    for (const std::optional<Format> values :
         {std::optional<Format>(), std::optional<Format>(Format::bf16), std::optional<Format>(Format::f16)}) {
      Contract contract = parse_contract(setting.words, setting.input, setting.output);
      contract.values = values;
      const AttentionArithmetic arithmetic{64, 0.125, values.value_or(contract.accumulator), 3, 5};
      for (const RowStatistics<Real>& row : stated::rows()) {
        const std::string what = std::string(setting.words) + " n=" + std::to_string(row.visible) + " ";
        RowStatistics<Real> sharp = row;
        sharp.log_sum = row.log_sum / 2;
        sharp.maximum_magnitude = row.maximum_magnitude * 2;
        const ScoreRow<Real> scores{row, query.p, query.D}, sharpened{sharp, query.p, query.D};
        for (const Grants grants : {Grants::all, Grants::none}) {
          const stated::Attention plain(contract, scores, query.e, Real(1));
          compare(contract, arithmetic, AttentionThreshold<Real>(contract, arithmetic, scores, query.e, grants), plain,
                  query, grants, what + "B9, ");
          stated::Attention adaptive(contract, sharpened, query.e, Real(1.5));
          adaptive.sharpen(plain, grants);
          compare(contract, arithmetic,
                  AttentionThreshold<Real>(contract, arithmetic, scores, sharpened, Real(1.5), query.e, grants),
                  adaptive, query, grants, what + "adaptive, ");
        }
      }
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics
