#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_model.hpp"
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
  const char* words = "differences=bf16 softcap=f16 sinks=bf16 gradient=jacobian exp_floor=2^-126 lse=running";
  const Contract contract = read(words);
  EXPECT_EQ(contract.differences, Format::bf16);
  EXPECT_EQ(contract.softcap, Format::f16);
  EXPECT_EQ(contract.sinks, Format::bf16);
  EXPECT_EQ(contract.gradient, GradientForm::jacobian);
  EXPECT_EQ(contract.least_exp, 0x1p-126);
  EXPECT_EQ(contract.lse, LseForm::running);
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

// What a contract's words stand for, against theory/proofs/contract/contract_words.v: Coq has printed the numbers of a
// grid of contracts, the heights of every sum=, and rescalings, into contract_words.tsv.

namespace softcheck::numerics::contract_map {
namespace {

using Cells = std::vector<std::string>;

struct Table {
  Cells names;  // of the columns behind the theta
  std::vector<Cells> contracts;
  Cells sizes;
  std::vector<Cells> heights;
  std::vector<Cells> rescalings;
};

const Table& table() {
  static const Table read = [] {
    Table result;
    std::ifstream file(std::string(SOFTCHECK_SOURCE_DIR) + "/proptests/tests/numerics/contract_words.tsv");
    for (std::string line; std::getline(file, line);) {
      Cells cells;
      std::istringstream stream(line);
      for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
      if (cells.front() == "names") result.names = cells;
      if (cells.front() == "contract") result.contracts.push_back(cells);
      if (cells.front() == "sum") result.sizes = cells;
      if (cells.front() == "height") result.heights.push_back(cells);
      if (cells.front() == "rescalings") result.rescalings.push_back(cells);
    }
    return result;
  }();
  return read;
}

std::int64_t integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) throw std::invalid_argument("no integer: " + text);
  return value;
}

/// "3p-24": 3 * 2^-24, also where that is no double; "0".
Enclosure number(const std::string& text) {
  if (text == "0") return Enclosure(0);
  const std::size_t place = text.find('p');
  return Enclosure(integer(text.substr(0, place))) * Enclosure::power_of_two(integer(text.substr(place + 1)));
}

/// The numbers of one line by their names, as the quantities of the theorems.
class Numbers {
 public:
  explicit Numbers(const Cells& cells) {
    for (std::size_t i = 5; i < cells.size(); ++i) values_[table().names.at(i)] = cells[i];
    if (cells.size() != table().names.size()) throw std::invalid_argument("columns are missing");
  }
  Enclosure operator[](const std::string& name) const { return number(values_.at(name)); }
  std::int64_t count(const std::string& name) const { return integer(values_.at(name)); }
  Enclosure log_unit(const std::string& name) const { return minus_log1m((*this)[name]); }
  /// As many roundings of the accumulator, and that of a narrowed reciprocal.
  Enclosure roundings(const std::string& name) const {
    return (*this)[name] * log_unit("roundoff") + log_unit("extra_roundoff");
  }

 private:
  std::map<std::string, std::string> values_;
};

void expect_exact(const Enclosure& bound, const Enclosure& proved, const std::string& what) {
  EXPECT_TRUE(bound.is_point() && proved.is_point() && bound.contains(proved))
      << what << ": " << bound.to_string() << ", the proofs have " << proved.to_string();
}

/// The same real, enclosed twice.
void expect_overlap(const Enclosure& bound, const Enclosure& proved, const std::string& what) {
  EXPECT_TRUE(bound.overlaps(proved)) << what << ": " << bound.to_string() << ", the proofs have "
                                      << proved.to_string();
}

/// Not less, and larger only by the doubles that 1 / theta and ln 2 are rounded up to.
void expect_rounded_up(const Enclosure& bound, const Enclosure& proved, const std::string& what) {
  EXPECT_FALSE((bound - proved).certainly_negative())
      << what << ": " << bound.to_string() << " < " << proved.to_string();
  EXPECT_FALSE((proved * Enclosure(1 + 0x1p-50) - bound).certainly_negative())
      << what << ": " << bound.to_string() << " > " << proved.to_string();
}

void compare_operations(const Contract& contract, const RoundingModel<Enclosure>& model, const Numbers& proved,
                        const std::string& what) {
  expect_exact(model.roundoff, proved["roundoff"], what + "roundoff");
  expect_exact(model.quantities.exp_error, proved["exp_error"], what + "exp_error");
  expect_exact(model.log_roundoff, proved["log_error"], what + "log_error");
  expect_exact(Enclosure(contract.tanh_error), proved["tanh_units"], what + "tanh");
  expect_exact(model.sum_floor, proved["sum_floor"], what + "sum_floor");
  expect_exact(model.product_floor, proved["product_floor"], what + "product_floor");
  expect_exact(model.exp_floor, proved["exp_floor"], what + "exp_floor");
  expect_rounded_up(model.exp_cutoff, Enclosure(2 * proved.count("cutoff_bits")) * log(Enclosure(2)), what + "cut-off");
  expect_overlap(model.reading_unit, proved.log_unit("reading_roundoff"), what + "reading_unit");
  expect_exact(model.reading_floor, proved["reading_floor"], what + "reading_floor");
  expect_exact(model.output_roundoff, proved["output_roundoff"], what + "output_roundoff");
  expect_exact(model.output_floor, proved["output_floor"], what + "output_floor");
  expect_overlap(model.item_unit, proved.log_unit("exp_error") + proved.log_unit("weights_roundoff"),
                 what + "item_unit");
  expect_exact(model.item_floor, proved["exp_floor"] + proved["weights_floor"], what + "item_floor");
  expect_overlap(model.total_unit, proved.log_unit("total_roundoff"), what + "total_unit");
  const auto stored = [&](const std::optional<Format>& format, const std::string& name) {
    const StorageError<Enclosure> error = storage_error<Enclosure>(contract, format);
    expect_overlap(error.unit, proved.log_unit(name + "_roundoff"), what + name + " unit");
    expect_exact(error.floor, proved[name + "_floor"], what + name + " floor");
  };
  stored(contract.total, "total");
  stored(contract.scores, "scores");
  stored(contract.values, "values");
  stored(contract.products, "products");
  stored(contract.score_gradients, "ds");
}

void compare_argument(const RoundingModel<Enclosure>& model, const RowStatistics<Enclosure>& row, const Numbers& proved,
                      const std::string& what) {
  const Enclosure theta(row.theta);
  const Enclosure log = proved.roundings("argument_roundings");
  const Enclosure step = exp(log) * proved["step_over_theta"] / theta + proved["step"];
  // sound of standard_model.v: nothing is promised of steeper arguments.
  if ((exp(log) - Enclosure(1.25)).certainly_positive() || (step - Enclosure(0.5)).certainly_positive()) {
    EXPECT_EQ(upper(model.argument_unit), std::numeric_limits<double>::infinity()) << what;
    return;
  }
  const Enclosure scaling = expm1(proved.roundings("scaling_roundings"));
  expect_exact(Enclosure(model.argument_steps), proved["argument_roundings"], what + "roundings of the argument");
  expect_overlap(model.argument_unit, log, what + "argument_unit");
  expect_overlap(model.scaling, scaling, what + "scaling");
  expect_rounded_up(model.quantities.argument_step, step, what + "argument_step");
  const Enclosure kappa = proved["conversion_roundoff"] * row.largest_magnitude +
                          proved["conversion_over_theta"] / theta + proved["conversion_loss"] +
                          Enclosure(2 * proved.count("maximum_moves")) * scaling * row.maximum_magnitude;
  expect_rounded_up(model.quantities.conversion, kappa, what + "conversion");
}

TEST(ContractMap, NumbersAreThoseOfTheProofs) {
  const PrecisionScope precision(1200);  // 2^-126 + 2^-1074 exactly
  std::size_t scaled = 0;
  for (const Cells& cells : table().contracts) {
    const Contract contract = parse_contract(cells[3], parse_format(cells[1]), parse_format(cells[2]));
    const double theta = number(cells[4]).upper_double();
    const RowStatistics<Enclosure> row{
        5, 5, 2, theta, Enclosure(1.25), Enclosure(0.5), Enclosure(1.5), Enclosure(3), Enclosure(4), Enclosure(4.25)};
    const RoundingModel<Enclosure> model(contract, row, Grants::all);
    const Numbers proved(cells);
    const std::string what = cells[1] + " to " + cells[2] + " [" + cells[3] + "] theta=" + cells[4] + " ";
    compare_operations(contract, model, proved, what);
    compare_argument(model, row, proved, what);
    scaled += row.theta != 1 ? 1 : 0;
  }
  EXPECT_GT(table().contracts.size(), 300u);
  EXPECT_GT(scaled, 90u);
}

TEST(ContractMap, HeightsAreThoseOfTheProofs) {
  std::size_t compared = 0;
  for (const Cells& cells : table().heights) {
    ASSERT_EQ(cells.size(), table().sizes.size());
    const Contract contract = parse_contract(cells[1], Format::f32, Format::f32);
    for (std::size_t i = 2; i < cells.size(); ++i, ++compared) {
      EXPECT_EQ(summation_height(contract, static_cast<std::uint64_t>(integer(table().sizes[i]))),
                static_cast<std::uint64_t>(integer(cells[i])))
          << cells[1] << " n=" << table().sizes[i];
    }
  }
  EXPECT_GT(compared, 2000u);
}

TEST(ContractMap, RescalingsAreThoseOfTheProofs) {
  for (const Cells& cells : table().rescalings) {
    std::vector<double> logits;
    std::istringstream row(cells.size() > 3 ? cells[3] : "");
    for (std::string x; row >> x;) {
      logits.push_back(x == "-" ? -std::numeric_limits<double>::infinity() : static_cast<double>(integer(x)));
    }
    const Contract contract = parse_contract(cells[1], Format::f32, Format::f32);
    EXPECT_EQ(rescaling_count(contract, logits), static_cast<std::uint64_t>(integer(cells[2])))
        << cells[1] << " of " << row.str();
  }
  EXPECT_EQ(table().rescalings.size(), 80u);
}

// Words without a Coq term: TRUST.md has what stands for their theorems.
constexpr std::string_view not_mapped[]{
    "differences=", "softcap=", "sinks=", "exp_floor=", "gradient=", "lse=running", "lse=base2"};

/// Every other key of a contract, and every one of its values, stands in the grid; of numbers the key.
TEST(ContractMap, TheGridHasEveryWord) {
  std::map<std::string, std::size_t> met;
  for (const Cells& cells : table().contracts) {
    std::istringstream words(cells[3]);
    for (std::string word; words >> word;) {
      ++met[word];
      ++met[word.substr(0, word.find('=') + 1)];
    }
  }
  for (const Cells& cells : table().heights) ++met[cells[1].substr(0, cells[1].find(':'))];
  for (const ContractWord& word : contract_words()) {
    std::istringstream values{std::string(word.values)};
    for (std::string value; std::getline(values, value, '|');) {
      const bool is_number = std::isupper(value.front()) != 0;
      const std::string wanted = std::string(word.key) + "=" + (is_number ? "" : value.substr(0, value.find(':')));
      const bool is_mapped =
          std::ranges::none_of(not_mapped, [&](std::string_view word) { return wanted.starts_with(word); });
      EXPECT_EQ(met[wanted] > 0, is_mapped) << wanted;
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics::contract_map
