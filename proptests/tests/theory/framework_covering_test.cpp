#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "proptests/generators/domains/domain.hpp"
#include "proptests/generators/drawing/covering.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

using Pairs = std::set<std::array<std::size_t, 4>>;

Pairs pairs_of(const std::vector<std::size_t>& choice) {
  Pairs pairs;
  for (std::size_t d = 0; d < choice.size(); ++d) {
    for (std::size_t e = 0; e < d; ++e) pairs.insert({d, choice[d], e, choice[e]});
  }
  return pairs;
}

TEST(Covering, EveryPairStandsInAChoice) {
  const std::vector<std::size_t> counts{5, 3, 4, 2, 7};
  Draw draw(1);
  Pairs met;
  const auto choices = covering_choices(
      counts, [](const ClassChoice&) { return true; }, draw);
  for (const auto& choice : choices) met.merge(pairs_of(choice));
  std::size_t expected = 0;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    for (std::size_t e = 0; e < d; ++e) expected += counts[d] * counts[e];
  }
  EXPECT_EQ(met.size(), expected);
  EXPECT_LE(choices.size(), 60u) << "all 840 would cover them, too";
}

TEST(Covering, EveryClassThatIsPossibleIsTouched) {
  const std::vector<std::size_t> counts{5, 3, 9};
  const auto possible = [](const ClassChoice& choice) { return choice[0] != 4 && !(choice[1] == 2 && choice[2] > 3u); };
  Draw draw(3);
  std::set<std::pair<std::size_t, std::size_t>> met;
  const auto choices = touching_choices(counts, possible, draw);
  for (const auto& choice : choices) {
    ASSERT_TRUE(possible(ClassChoice(choice.begin(), choice.end())));
    for (std::size_t d = 0; d < choice.size(); ++d) met.insert({d, choice[d]});
  }
  EXPECT_EQ(met.size(), 4u + 3u + 9u);
  EXPECT_LE(choices.size(), 12u);
}

TEST(Covering, WhatIsNotPossibleIsLeftOutAndNothingElse) {
  const std::vector<std::size_t> counts{6, 6, 3};
  // The first two may not add up to more than 5, and a third of 2 needs a first of 0: a choice of the last two alone
  // may leave no first, which only trying shows.
  const auto possible = [](const ClassChoice& choice) {
    if (choice[0] && choice[1] && *choice[0] + *choice[1] > 5) return false;
    return !(choice[2] == 2 && choice[0] && *choice[0] != 0);
  };
  Draw draw(2);
  Pairs met, expected;
  for (const auto& choice : covering_choices(counts, possible, draw)) met.merge(pairs_of(choice));
  for (std::size_t x = 0; x < 6; ++x) {
    for (std::size_t y = 0; y < 6; ++y) {
      for (std::size_t z = 0; z < 3; ++z) {
        if (possible({x, y, z})) expected.merge(pairs_of({x, y, z}));
      }
    }
  }
  EXPECT_EQ(met, expected);
}

RowMatrixOptions options_of(Format format) {
  RowMatrixOptions options;
  options.rows.formats = {format};
  options.rows.max_length = std::uint64_t{1} << 17;
  options.most_rows = std::uint64_t{1} << 17;
  options.max_elements = std::uint64_t{1} << 18;
  options.nans = options.infinities = true;
  return options;
}

TEST(MatrixCover, EveryMatrixKeepsToItsOptionsAndReadsBack) {
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
    const RowMatrixOptions options = options_of(format);
    for (const RowMatrixCase& matrix : covering_matrices(options, false, 5).matrices) {
      ASSERT_TRUE(admits(options, matrix)) << to_text(matrix).substr(0, 300);
      RowMatrixCase again;
      from_text(to_text(matrix), again);
      ASSERT_EQ(again, matrix) << to_text(matrix).substr(0, 300);
    }
  }
}

TEST(MatrixCover, EveryPairThatIsPossibleIsMet) {
  const RowMatrixOptions options = options_of(Format::f32);
  const MatrixCover cover = covering_matrices(options, true, 7);
  Pairs met;
  for (const RowMatrixCase& matrix : cover.matrices) met.merge(pairs_of(classes_of(matrix)));
  std::set<std::pair<std::size_t, std::size_t>> classes;
  for (const auto& [d, x, e, y] : met) classes.insert({{d, x}, {e, y}});
  const auto& dimensions = matrix_dimensions();
  std::size_t wanted = 0, pairs = 0;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    for (std::size_t c = 0; c < dimensions[d].classes.size(); ++c) {
      if (!cover.possible[d][c]) continue;
      ++wanted;
      EXPECT_TRUE(classes.contains({d, c})) << dimensions[d].name << " " << dimensions[d].classes[c];
    }
    for (std::size_t e = 0; e < d; ++e) pairs += dimensions[d].classes.size() * dimensions[e].classes.size();
  }
  EXPECT_GT(wanted, 80u);
  // What is impossible is little: 65,536 rows of 65,536 columns, a mask's layout without a mask, a NaN beyond the row.
  EXPECT_GT(met.size() * 10, pairs * 8) << met.size() << " of " << pairs;
}

TEST(MatrixCover, EveryListedLengthIsInItAndNoOther) {
  RowMatrixOptions options = options_of(Format::f32);
  options.rows.domain = parse_domain("n=1|3|17|600|1000|4097 rows=1|3|510|600 compact", false);
  std::set<std::uint64_t> columns, rows;
  for (const RowMatrixCase& matrix : covering_matrices(options, true, 9).matrices) {
    EXPECT_EQ(options.rows.domain.broken_by(traits_of(matrix)), "") << to_text(matrix).substr(0, 300);
    columns.insert(matrix.columns);
    rows.insert(matrix.rows.size());
  }
  EXPECT_EQ(columns, (std::set<std::uint64_t>{1, 3, 17, 600, 1000, 4097}));
  EXPECT_EQ(rows, (std::set<std::uint64_t>{1, 3, 510, 600}));
}

TEST(MatrixCover, DrawnRowsAndMatricesHaveEveryListedLength) {
  RowMatrixOptions options = options_of(Format::f32);
  options.rows.domain = parse_domain("n=1|3|17|600|601|70000 rows=1|3|7|8", false);
  options.least_rows = 1;
  options.most_rows = 8;
  options.rows.max_length = 100000;
  std::set<std::uint64_t> columns, rows, alone;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RowMatrixCase matrix = row_matrices(options)(rc::Random(seed), 50).value();
    EXPECT_EQ(options.rows.domain.broken_by(traits_of(matrix)), "");
    columns.insert(matrix.columns);
    rows.insert(matrix.rows.size());
    const RowCase row = row_cases(options.rows)(rc::Random(seed), 50).value();
    alone.insert(row.row.size());
  }
  EXPECT_EQ(columns, (std::set<std::uint64_t>{1, 3, 17, 600, 601, 70000}));
  EXPECT_EQ(alone, columns);
  EXPECT_EQ(rows, (std::set<std::uint64_t>{1, 3, 7, 8}));
}

TEST(MatrixCover, ADomainLeavesOutWhatIsBeyondIt) {
  RowMatrixOptions options = options_of(Format::f32);
  options.rows.domain = parse_domain("n=16k n<=8192 rows<=4096 theta=1 compact finite nomask", false);
  const MatrixCover cover = covering_matrices(options, true, 9);
  ASSERT_GT(cover.matrices.size(), 20u);
  for (const RowMatrixCase& matrix : cover.matrices) {
    EXPECT_EQ(options.rows.domain.broken_by(traits_of(matrix)), "") << to_text(matrix).substr(0, 300);
  }
}

CallTraits call_of(std::uint64_t n, std::uint64_t rows) {
  CallTraits call;
  call.lengths = {{"n", n}, {"rows", rows}};
  call.alignment = 4096;
  return call;
}

TEST(Domain, WordsReadBack) {
  for (const char* words :
       {"", "n=16k", "n=16k n<=8192", "n>=2 rows=1", "theta=1 compact align=16 finite nomask nooffset", "contiguous",
        "rows<=4096", "n=1|3|17|1000 rows=0|513", "nan=visible"}) {
    const Domain domain = parse_domain(words, false);
    EXPECT_EQ(parse_domain(to_string(domain), false), domain) << words;
    EXPECT_EQ(domain.everything(), *words == 0);
  }
  EXPECT_EQ(parse_domain("n=16k,n<=8192,compact", false), parse_domain("compact n<=8192  n=16k", false));
  const Domain attention = parse_domain("dim=64|80 keys=1|17 queries>=2 nocausal scale=1/sqrt(dim)", true);
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

TEST(Domain, AWordTiesTwoLengths) {
  CallTraits call;
  call.lengths = {{"queries", 8}, {"keys", 8}, {"dim", 4}, {"values", 4}};
  const Domain tied = parse_domain("queries=keys values=dim causal", true);
  EXPECT_EQ(tied.broken_by(call), "causal");
  call.causal = true;
  EXPECT_TRUE(tied.admits(call));
  call.lengths["queries"] = 7;
  call.lengths["values"] = 5;
  EXPECT_EQ(tied.broken_by(call), "queries=keys values=dim");
  EXPECT_FALSE(tied.has_lengths(call));
  const Domain fewer = parse_domain("queries<=keys", true);
  EXPECT_TRUE(fewer.admits(call) && fewer.has_lengths(call));
  call.lengths["queries"] = 9;
  EXPECT_EQ(fewer.broken_by(call), "queries<=keys");
  EXPECT_FALSE(fewer.has_lengths(call));
}

TEST(Domain, AWordBoundsTheLogits) {
  CallTraits call;
  call.logits = 88;
  call.spread = 100;
  const Domain domain = parse_domain("spread<=100.5 logits<=90 logits<=88 visible>=1", false);
  EXPECT_TRUE(domain.admits(call));
  EXPECT_EQ(to_string(domain), "n>=1 logits<=88 spread<=100.5 visible>=1");
  call.logits = 88.01;
  call.spread = std::numeric_limits<double>::infinity();
  call.blind = true;
  EXPECT_EQ(domain.broken_by(call), "logits<=88 spread<=100.5 visible>=1");
  for (const char* words : {"logits<=0", "logits<=-1", "spread<=inf", "spread<=nan", "spread<=", "logits<=1x"}) {
    EXPECT_THROW(parse_domain(words, false), std::invalid_argument) << words;
  }
}

// Each of two tied lengths has what both may be.
TEST(Domain, TiedLengthsNarrowEachOther) {
  const Domain domain =
      parse_domain("queries=keys queries<=96 keys=16k keys>=20 dim=64|80 values=80|96 values=dim", true);
  EXPECT_EQ(domain.length("queries"), domain.length("keys"));
  EXPECT_EQ(domain.length("queries"), (LengthRange{20, 96, 16}));
  EXPECT_EQ(domain.length("dim"), (LengthRange{80, 80}));
  EXPECT_EQ(parse_domain(to_string(domain), true), domain);
  for (const char* words : {"queries=keys queries=3 keys=4", "values=dim dim<=64 values>=65",
                            "queries<=keys keys<=3 queries>=4", "queries=keys queries=16k keys>=1 keys<=15",
                            "causal nocausal", "nocausal causal", "renormalize=0 renormalize=1"}) {
    const bool attention = std::string_view(words).find("renormalize") == std::string_view::npos;
    EXPECT_THROW(parse_domain(words, attention), std::invalid_argument) << words;
  }
}

TEST(Domain, AVisibleNanIsNoInfinityAndHidesNothing) {
  const Domain domain = parse_domain("nan=visible", false);
  EXPECT_FALSE(domain.finite);
  EXPECT_FALSE(domain.hides_by_infinity());
  EXPECT_TRUE(domain.hides_finite_numbers());
  EXPECT_FALSE(parse_domain("nomask", false).hides_finite_numbers());
  CallTraits with_nan = call_of(32, 4), with_infinity = with_nan;
  with_nan.finite = with_infinity.finite = false;
  with_infinity.infinite = true;
  EXPECT_EQ(domain.broken_by(with_nan), "");
  EXPECT_EQ(domain.broken_by(with_infinity), "nan=visible");
}

TEST(Domain, TheNearestLengthIsInTheRange) {
  for (const LengthRange& range : {LengthRange{0, 100, 16}, LengthRange{33, 90, 7}, LengthRange{5, 5, 1}, LengthRange{},
                                   parse_domain("n=0|3|17|64|150", false).length("n")}) {
    for (std::uint64_t n = 0; n < 200; ++n) {
      const std::uint64_t near = range.nearest(n);
      EXPECT_TRUE(range.contains(near)) << n << " -> " << near;
      EXPECT_TRUE(!range.contains(n) || near == n) << n << " -> " << near;
      const auto up = range.at_least(n), down = range.at_most(n);
      for (std::uint64_t k = n; k <= (up ? *up : 200); ++k) EXPECT_EQ(range.contains(k), up && k == *up) << n;
      for (std::uint64_t k = down ? *down : 0; k <= n; ++k) EXPECT_EQ(range.contains(k), down && k == *down) << n;
    }
  }
}

TEST(Domain, AListIsReadOnceAscendingAndNarrowedByTheWordsBesideIt) {
  const auto words = [](const char* given) { return to_string(parse_domain(given, false)); };
  EXPECT_EQ(words("n=1000|3|1|3"), "n=1|3|1000");
  EXPECT_EQ(words("n=1|3|17|1000 n<=100 n>=2"), "n=3|17");
  EXPECT_EQ(words("n=16k n=1|16|32|33"), "n=16|32");
  EXPECT_EQ(words("n=1|3|17 n=3|17|64"), "n=3|17");
  EXPECT_EQ(words("n=1|3|17 n<=2"), "n=1");
  EXPECT_EQ(words("n=5|5"), "n=5");
  const Domain domain = parse_domain("n=1|17 rows=1|3", false);
  EXPECT_EQ(domain.broken_by(call_of(17, 3)), "");
  EXPECT_EQ(domain.broken_by(call_of(16, 3)), "n=1|17");
  EXPECT_EQ(domain.broken_by(call_of(1, 2)), "rows=1|3");
  EXPECT_EQ(domain.length("n").nearest(9), 17u);  // the larger of two
  EXPECT_EQ(domain.length("n").nearest(8), 1u);
  EXPECT_EQ(domain.length("n").nearest(1000), 17u);
  EXPECT_FALSE(domain.length("n").at_least(18));
  EXPECT_FALSE(domain.length("n").at_most(0));
}

TEST(Domain, WhatIsNoDomainIsAWrongCall) {
  for (const char* words : {"n",           "n=",           "n=x",       "n=0k",      "n<16",
                            "n==16",       "m=16",         "theta=2",   "dim=64",    "align=3",
                            "align=8192",  "compact,fine", "n>=8 n<=4", "n=16k n=1", "n=16k n>=17 n<=31",
                            "n=16k n=32k", "nocausal",     "n=|",       "n=1|",      "n=|1",
                            "n=1||2",      "n=1|x",        "n=1|2k",    "n<=1|2",    "n=1|3 n>=4",
                            "n=1|3 n=16k", "n=1|3 n=4|5"}) {
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

TEST(Domain, TwoWordsThatExcludeEachOtherAreRefused) {
  for (const char* words :
       {"base=e base=2", "base=2 base=e", "renormalize=0 renormalize=1", "renormalize=1 renormalize=0",
        "reduction=mean reduction=sum", "reduction=sum reduction=mean"}) {
    EXPECT_THROW((void)parse_domain(words, false), std::invalid_argument) << words;
  }
}

}  // namespace
}  // namespace softcheck::proptests
