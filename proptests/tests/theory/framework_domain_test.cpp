#include <gtest/gtest.h>

#include <stdexcept>

#include "proptests/generators/domain.hpp"

namespace softcheck::proptests {
namespace {

CallTraits call_of(std::uint64_t n, std::uint64_t rows) {
  CallTraits call;
  call.lengths = {{"n", n}, {"rows", rows}};
  call.alignment = 4096;
  return call;
}

TEST(Domain, WordsReadBack) {
  for (const char* words : {"", "n=16k", "n=16k n<=8192", "n>=2 rows=1",
                            "theta=1 compact align=16 finite nomask nooffset", "contiguous", "rows<=4096"}) {
    const Domain domain = parse_domain(words, false);
    EXPECT_EQ(parse_domain(to_string(domain), false), domain) << words;
    EXPECT_EQ(domain.everything(), *words == 0);
  }
  EXPECT_EQ(parse_domain("n=16k,n<=8192,compact", false), parse_domain("compact n<=8192  n=16k", false));
  const Domain attention = parse_domain("dim=64 queries>=2 nocausal scale=1/sqrt(dim)", true);
  EXPECT_EQ(parse_domain(to_string(attention), true), attention);
}

TEST(Domain, EachWordIsBrokenByTheCallItIsAbout) {
  const Domain domain = parse_domain("n=16k n<=8192 rows<=4 theta=1 compact contiguous align=16 finite nomask", false);
  EXPECT_EQ(domain.broken_by(call_of(32, 4)), "");
  EXPECT_EQ(domain.broken_by(call_of(33, 4)), "n=16k n<=8192");
  EXPECT_EQ(domain.broken_by(call_of(8208, 4)), "n=16k n<=8192");
  EXPECT_EQ(domain.broken_by(call_of(32, 5)), "rows<=4");
  const auto broken = [&](auto change) {
    CallTraits call = call_of(32, 4);
    change(call);
    return domain.broken_by(call);
  };
  EXPECT_EQ(broken([](CallTraits& call) { call.theta = 2; }), "theta=1");
  EXPECT_EQ(broken([](CallTraits& call) { call.compact = false; }), "compact");
  EXPECT_EQ(broken([](CallTraits& call) { call.contiguous = false; }), "contiguous");
  EXPECT_EQ(broken([](CallTraits& call) { call.alignment = 8; }), "align=16");
  EXPECT_EQ(broken([](CallTraits& call) { call.finite = false; }), "finite");
  EXPECT_EQ(broken([](CallTraits& call) { call.masked = true; }), "nomask");
  EXPECT_EQ(broken([](CallTraits& call) { call.offset = true; }), "");
  CallTraits offset = call_of(32, 4);
  offset.offset = true;
  EXPECT_EQ(parse_domain("nooffset", false).broken_by(offset), "nooffset");
  CallTraits attention;
  attention.lengths = {{"dim", 64}};
  attention.scale = 0.125;
  EXPECT_TRUE(parse_domain("scale=1/sqrt(dim) nocausal", true).admits(attention));
  attention.scale = 1;
  attention.causal = true;
  EXPECT_EQ(parse_domain("scale=1/sqrt(dim) nocausal", true).broken_by(attention), "scale=1/sqrt(dim) nocausal");
}

TEST(Domain, TheNearestLengthIsInTheRange) {
  for (const LengthRange& range :
       {LengthRange{0, 100, 16}, LengthRange{33, 90, 7}, LengthRange{5, 5, 1}, LengthRange{}}) {
    for (std::uint64_t n = 0; n < 200; ++n) {
      const std::uint64_t near = range.nearest(n);
      EXPECT_TRUE(range.contains(near)) << n << " -> " << near;
      EXPECT_TRUE(!range.contains(n) || near == n) << n << " -> " << near;
    }
  }
}

TEST(Domain, WhatIsNoDomainIsAWrongCall) {
  for (const char* words :
       {"n", "n=", "n=x", "n=0k", "n<16", "n==16", "m=16", "theta=2", "dim=64", "align=3", "align=8192", "compact,fine",
        "n>=8 n<=4", "n=16k n=1", "n=16k n>=17 n<=31", "n=16k n=32k", "nocausal"}) {
    EXPECT_THROW(parse_domain(words, false), std::invalid_argument) << words;
  }
  for (const char* words : {"theta=1", "rows=1", "n=16k"}) {
    EXPECT_THROW(parse_domain(words, true), std::invalid_argument) << words;
  }
  try {
    parse_domain("rows=many", false);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "domain: need a whole number behind the sign, got 'rows=many'");
  }
}

}  // namespace
}  // namespace softcheck::proptests
