#include "numerics/formats/fp_environment.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "numerics/enclosures/ulp.hpp"
#include "numerics/oracles/attention_oracle.hpp"
#include "numerics/rows/arb_row_oracle.hpp"
#include "numerics/rows/row_oracle.hpp"
#include "proptests/tests/numerics/fp_control.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

// More digits than 113 bits have: two different endpoints print differently.
std::string exact(const Enclosure& value) { return value.to_string(45) + "\n"; }

// Everything the oracles say about rows whose logits, keys and outputs hold subnormal numbers.
std::string everything() {
  // The rows are drawn once, in a sane environment: it is the oracles that are under test.
  static const std::vector<tests::NamedRow> rows = tests::row_families(9, 20241001);
  std::string text;
  for (const auto& [name, logits] : rows) {
    const RowOracle row(logits);
    const AdaptiveRowOracle adaptive(logits, EntropyDefinition::paper);
    text += exact(row.entropy()) + exact(row.logsumexp()) + exact(adaptive.beta()) + std::to_string(row.argmax());
    for (std::size_t i = 0; i < logits.size(); ++i) text += exact(row.softmax(i)) + exact(adaptive.softmax(i));
    if (arb_available()) text += exact(ArbRowOracle(logits).entropy());
  }
  const std::vector<double> subnormal{0, 0x1p-1074, 0x3p-1074, -0x1p-1060};
  text += exact(RowOracle(subnormal).weighted_deviation()) + std::to_string(RowOracle(subnormal).argmax());
  text += exact(RowOracle(subnormal, 0x1p-1074).entropy());
  const AttentionOracle attention(
      {.query = subnormal, .keys = subnormal, .values = subnormal, .value_size = 4, .scale = 0x1p1000, .items = 1});
  for (const Enclosure& value : attention.output()) text += exact(value) + hex_float(value.lower_double());
  for (const Format format : all_formats()) {
    const double smallest = properties(format).smallest_subnormal;
    text += std::to_string(encode(format, smallest)) + hex_float(decode(format, 1)) + hex_float(ulp(format, 0)) +
            std::to_string(ulp_distance(format, -smallest, smallest)) +
            exact(error_in_ulps(format, Enclosure(smallest), smallest));
  }
  const Certificate certificate = certify_less("", "", [] { return Sides{Enclosure(0), Enclosure(0x1p-1074)}; });
  return text + to_string(certificate.verdict);
}

class FpEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_fp_control) GTEST_SKIP() << "the register that controls this processor's rounding is not known";
    set_fp_control(power_on);
  }
  void TearDown() override {
    std::fesetround(FE_TONEAREST);
    set_fp_control(power_on);
  }
};

// Not inlined: the comparison must not be moved past the instruction that sets the flags.
__attribute__((noinline)) bool subnormals_are_lost() {
  volatile double subnormal = 0x1p-1074;
  return subnormal == 0;
}

TEST_F(FpEnvironment, LoadingAFastMathLibraryLeavesTheOracleUnharmed) {
  const std::string before = everything();
  void* plugin = dlopen(SOFTCHECK_FAST_MATH_PLUGIN, RTLD_NOW);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const bool flushed = (fp_control() & fast_math_bits) == fast_math_bits;
  const bool lost = subnormals_are_lost();
  const std::string after = everything();
  const bool left_as_found = flushed == ((fp_control() & fast_math_bits) == fast_math_bits);
  dlclose(plugin);
  EXPECT_EQ(before, after);
  EXPECT_TRUE(left_as_found);
  if (!flushed) GTEST_SKIP() << "this toolchain adds no start-up code to libraries linked with -ffast-math";
  EXPECT_TRUE(lost) << "the flags were set, yet nothing was lost: the test shows nothing";
}

TEST_F(FpEnvironment, FlushToZeroLeavesTheOracleUnharmed) {
  const std::string before = everything();
  set_fp_control(power_on | flush_bits);
  const bool lost = subnormals_are_lost();
  const std::string after = everything();
  const std::uint64_t found = fp_control();
  set_fp_control(power_on);
  EXPECT_TRUE(lost);
  EXPECT_EQ(before, after);
  EXPECT_EQ(found & flush_bits, flush_bits) << "the caller's environment was not put back";
}

TEST_F(FpEnvironment, DirectedRoundingLeavesTheOracleUnharmed) {
  const std::string before = everything();
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const std::string after = everything();
    const int found = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(before, after);
    EXPECT_EQ(found, mode);
  }
}

TEST_F(FpEnvironment, GuardsNestAndPutBack) {
  set_fp_control(power_on | flush_bits);
  {
    const FpEnvironmentGuard outer;
    EXPECT_EQ(fp_control() & flush_bits, 0u);
    set_fp_control(fp_control() | one_flush_bit);
    {
      const FpEnvironmentGuard inner;
      EXPECT_EQ(fp_control() & flush_bits, 0u);
    }
    EXPECT_EQ(fp_control() & flush_bits, one_flush_bit);
  }
  EXPECT_EQ(fp_control() & flush_bits, flush_bits);
}

#if defined(__aarch64__)
// Each field that fesetenv(FE_DFL_ENV) leaves as it finds it: FZ16, default NaNs (DN), the alternative half format
// (AHP).
TEST_F(FpEnvironment, EveryFieldOfFpcrIsCleared) {
  const std::vector<std::uint64_t> fields{0x1000000, 0x80000, 0x2000000, 0x4000000, 0x400000, 0x800000};
  for (const std::uint64_t field : fields) {
    set_fp_control(field);
    const std::uint64_t set = fp_control();
    std::uint64_t inside = field;
    {
      const FpEnvironmentGuard guard;
      inside = fp_control();
    }
    const std::uint64_t after = fp_control();
    set_fp_control(power_on);
    EXPECT_EQ(set, field) << "this processor has no such field: the test shows nothing";
    EXPECT_EQ(inside, 0u) << std::hex << field;
    EXPECT_EQ(after, field);
  }
}
#endif

}  // namespace
}  // namespace softcheck::numerics
