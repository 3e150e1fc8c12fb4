#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numbers>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "numerics/rounding/contract.hpp"
#include "proptests/tests/numerics/simulated_arithmetic.hpp"

namespace softcheck::numerics {
namespace {

Contract read(std::string_view words) { return parse_contract(words, Format::f32, Format::f32); }

std::string refusal(std::string_view words) {
  try {
    read(words);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Contract, DefaultsDependOnTheFormat) {
  const Contract f32 = read("");
  EXPECT_EQ(f32, default_contract(Format::f32, Format::f32));
  EXPECT_EQ(f32.accumulator, Format::f32);
  EXPECT_EQ(f32.subnormals, Subnormals::flushed);
  EXPECT_EQ(f32.exp_error, 2);
  EXPECT_EQ(f32.exp_argument_error, 1);
  EXPECT_EQ(f32.masked, MaskedRows::nan);
  EXPECT_EQ(f32.entropy, EntropyForm::any);
  EXPECT_EQ(f32.lse, LseForm::centred);
  const Contract bf16 = default_contract(Format::bf16, Format::f32);
  EXPECT_EQ(bf16.accumulator, Format::f32);
  EXPECT_EQ(bf16.subnormals, Subnormals::kept);
  EXPECT_EQ(bf16.output, Format::f32);
  EXPECT_EQ(default_contract(Format::f64, Format::f64).accumulator, Format::f64);
}

TEST(Contract, EveryWordIsRead) {
  const Contract contract =
      read(" acc=bf16  exp=2ulp sum=lanes:8 masked=zero\tsubnormal=kept entropy=paper lse=uncentred ");
  EXPECT_EQ(contract.accumulator, Format::bf16);
  EXPECT_EQ(contract.exp_error, 4);  // an ulp is two units of roundoff
  EXPECT_EQ(contract.log_error, 4);
  EXPECT_EQ(contract.exp_argument_error, 1);
  EXPECT_EQ(contract.summation, (Summation{Summation::Kind::lanes, 8}));
  EXPECT_EQ(contract.masked, MaskedRows::zero);
  EXPECT_EQ(contract.subnormals, Subnormals::kept);
  EXPECT_EQ(contract.entropy, EntropyForm::paper);
  EXPECT_EQ(contract.lse, LseForm::uncentred);
  const Contract both = read("exp=E:50,A:3.5");
  EXPECT_EQ(both.exp_error, 50);
  EXPECT_EQ(both.exp_argument_error, 3.5);
}

TEST(Contract, WordsOfFormsAndStorageAreRead) {
  const Contract contract =
      read("theta=before entropy_from=logits scale=split weights=bf16 total=f16 scores=bf16 values=f16");
  EXPECT_EQ(contract.theta, ThetaUse::before);
  EXPECT_EQ(contract.entropy_from, EntropyFrom::logits);
  EXPECT_EQ(contract.scale, ScaleUse::split);
  EXPECT_EQ(contract.weights, Format::bf16);
  EXPECT_EQ(contract.total, Format::f16);
  EXPECT_EQ(contract.scores, Format::bf16);
  EXPECT_EQ(contract.values, Format::f16);
  EXPECT_EQ(word_of(contract, "total"), "total=f16");
  EXPECT_EQ(word_of(parse_contract("", Format::f64, Format::f64), "values"), "values=f64");
  EXPECT_THROW(word_of(contract, "sim"), std::invalid_argument);
}

TEST(Contract, WordsOfCommonArithmeticAreRead) {
  const char* words =
      "differences=bf16 softcap=f16 sinks=bf16 gradient=jacobian exp_floor=2^-126 lse=running sigmoid=tanh";
  const Contract contract = read(words);
  EXPECT_EQ(contract.differences, Format::bf16);
  EXPECT_EQ(contract.softcap, Format::f16);
  EXPECT_EQ(contract.sinks, Format::bf16);
  EXPECT_EQ(contract.gradient, GradientForm::jacobian);
  EXPECT_EQ(contract.least_exp, 0x1p-126);
  EXPECT_EQ(contract.lse, LseForm::running);
  EXPECT_EQ(contract.sigmoid, SigmoidForm::tanh);
  EXPECT_EQ(read(to_string(contract)), contract);
  EXPECT_EQ(word_of(contract, "exp_floor"), "exp_floor=2^-126");
  EXPECT_EQ(read("lse=base2").in_nats(2), 2 * std::numbers::ln2);
  EXPECT_EQ(contract.in_nats(2), 2);
  for (const char* wrong :
       {"exp_floor=2^-1", "exp_floor=2^-1023", "exp_floor=2^-10.5", "exp_floor=1e-38", "exp_floor="}) {
    EXPECT_EQ(refusal(wrong),
              "parse_contract: need exp_floor=2^-K with an integer K in [2, 1022], got '" + std::string(wrong) + "'");
  }
}

TEST(Contract, WeightsOfEightBitsAreScaledByAPowerOfTwo) {
  for (const auto& [words, format, power] :
       {std::tuple{"weights=e4m3:2^8", Format::e4m3, 8}, std::tuple{"weights=e4m3", Format::e4m3, 0},
        std::tuple{"weights=e5m2:2^15", Format::e5m2, 15}, std::tuple{"weights=f16", Format::f16, 0}}) {
    const Contract contract = read(words);
    EXPECT_EQ(contract.weights, format);
    EXPECT_EQ(contract.weights_power, power);
    EXPECT_EQ(word_of(contract, "weights"), words);
    EXPECT_EQ(read(to_string(contract)), contract);
  }
  for (const char* wrong : {"weights=e4m3:2^9", "weights=e4m3:2^-1", "weights=e4m3:2^0.5", "weights=e4m3:256",
                            "weights=e4m3:", "weights=e4m3fn"}) {
    EXPECT_EQ(refusal(wrong),
              "parse_contract: need weights=e4m3 or weights=e4m3:2^K with an integer K in [0, 8], got '" +
                  std::string(wrong) + "'");
  }
  EXPECT_EQ(refusal("weights=f16:2^8"),
            "parse_contract: need weights=f64|f32|f16|bf16|e4m3|e5m2|e4m3:2^K|e5m2:2^K, got 'weights=f16:2^8'");
}

TEST(Contract, AWordForInfinityIsRead) {
  EXPECT_EQ(read("").infinity, InfiniteRows::any);
  EXPECT_EQ(read("infinity=limit").infinity, InfiniteRows::limit);
  EXPECT_EQ(read(to_string(read("infinity=limit"))), read("infinity=limit"));
  EXPECT_EQ(to_string(read("infinity=any")), to_string(read("")));
  EXPECT_EQ(refusal("infinity=nan"), "parse_contract: need infinity=any|limit, got 'infinity=nan'");
}

TEST(Contract, AWordForTanhIsRead) {
  EXPECT_EQ(read("").tanh_error, 4);  // 2 ulp
  EXPECT_EQ(read("tanh=4096ulp").tanh_error, 8192);
  EXPECT_EQ(to_string(read("tanh=2ulp")), to_string(read("")));
  EXPECT_EQ(read(to_string(read("tanh=0.5ulp"))), read("tanh=0.5ulp"));
  EXPECT_EQ(word_of(read("tanh=8ulp"), "tanh"), "tanh=8ulp");
  EXPECT_EQ(refusal("tanh=4"), "parse_contract: need tanh=Kulp with K in [0, 2^1023), got 'tanh=4'");
}

TEST(Contract, CommasSeparateWordsToo) {
  EXPECT_EQ(read("acc=f64,exp=E:2,A:3,sum=tree"), read("acc=f64 exp=E:2,A:3 sum=tree"));
  EXPECT_EQ(read("acc=f32,exp=1ulp"), read("acc=f32 exp=1ulp"));
  EXPECT_EQ(read(" exp=E:2,A:3 , masked=zero,, "), read("exp=E:2,A:3 masked=zero"));
  EXPECT_EQ(read("exp=E:2,A:3"), read("exp=E:2,A:3,"));
}

TEST(Contract, ItsTextReadsBackToItself) {
  for (const char* words : {"", "exp=0.75ulp", "exp=E:4,A:2.35", "exp=E:0,A:1", "acc=f16 sum=tree", "sum=blocks:64",
                            "sum=lanes:4294967296 masked=uniform", "entropy=exact lse=uncentred", "theta=before",
                            "entropy_from=logits", "entropy_from=coefficients scale=split", "scale=stored weights=bf16",
                            "total=f16 scores=bf16 values=f16", "exp=E:2,A:3,theta=before"}) {
    for (const Format input : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
      const Contract contract = parse_contract(words, input, Format::f32);
      EXPECT_EQ(parse_contract(to_string(contract), input, Format::f32), contract) << to_string(contract);
    }
  }
}

TEST(Contract, AWrongWordIsNamedAndWhatExistsIsListed) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(refusal("acc=f8"), AllOf(HasSubstr("acc=f64|f32|f16|bf16"), HasSubstr("'acc=f8'")));
  EXPECT_THAT(refusal("sim=tree"), AllOf(HasSubstr("sum=sequential|lanes:K|blocks:K|tree"), HasSubstr("'sim'")));
  EXPECT_THAT(refusal("nonsense"), HasSubstr("'nonsense'"));
  EXPECT_THAT(refusal("acc=f32 acc=f32"), HasSubstr("each word once"));
  // Twice 1e308 is beyond the doubles.
  std::istringstream wrong(
      "exp=1 exp=ulp exp=-1ulp exp=0ulp exp=nanulp exp=infulp exp=1e308ulp tanh=1e308ulp exp=E:1 exp=E:1,A: exp=E:,A:1 "
      "exp=E:1,A:1x sum=lanes sum=lanes: sum=lanes:0 sum=lanes:-1 sum=lanes:4294967297 sum=lanes:2.5 sum=tree:2 "
      "masked=NaN subnormal= entropy=any,exact lse = theta=after total=f8 entropy_from= exp=E:1,sum=tree scale=half");
  for (std::string words; wrong >> words;) {
    EXPECT_THAT(refusal(words), HasSubstr("parse_contract: need")) << words;
  }
}

// The height of a kernel's tree, found by building it: depth of the deepest item. A lane may have none.
std::uint64_t built_height(const Summation& summation, std::uint64_t n) {
  using Depth = std::optional<std::uint64_t>;
  return *simulated::merged_in_order(summation, std::vector<Depth>(n, 0), Depth(), [](const Depth& a, const Depth& b) {
    return a && b ? Depth(std::max(*a, *b) + 1) : a ? a : b;
  });
}

TEST(Contract, NoSummationIsHigherThanItsHeightSays) {
  using Kind = Summation::Kind;
  for (const Kind kind : {Kind::sequential, Kind::lanes, Kind::blocks, Kind::tree}) {
    for (const std::uint64_t width : {1, 2, 3, 7, 8, 64}) {
      Contract contract;
      contract.summation = {kind, width};
      EXPECT_EQ(summation_height(contract, 0), 0u);
      for (std::uint64_t n = 1; n <= 300; ++n) {
        EXPECT_GE(summation_height(contract, n), built_height(contract.summation, n)) << to_string(contract) << n;
        EXPECT_LE(summation_height(contract, n), n - 1);
      }
    }
  }
}

TEST(Contract, HeightsAreThoseOfTheGrammar) {
  const auto height = [](const char* words, std::uint64_t n) { return summation_height(read(words), n); };
  EXPECT_EQ(height("sum=sequential", 1000), 999u);
  EXPECT_EQ(height("sum=lanes:8", 1000), 127u);   // 125 - 1 + 3
  EXPECT_EQ(height("sum=blocks:64", 1000), 67u);  // 63 + ceil(log2 15.6)
  EXPECT_EQ(height("sum=tree", 1000), 10u);
  EXPECT_EQ(height("sum=tree", std::uint64_t{1} << 20), 20u);
  EXPECT_EQ(height("sum=blocks:64", 5), 4u);
  EXPECT_EQ(height("sum=lanes:8", 3), 2u);
}

}  // namespace
}  // namespace softcheck::numerics
