// The constants that Coq prints (theorem_constants.hpp) are those of the code. The bounds of rounding.hpp are Coq's own
// text; StatedBounds compares them with docs/tolerances.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_model.hpp"
#include "proptests/tests/numerics/theorem_constants.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::numerics {
namespace {

TEST(TheoremFormulas, TheConstantsOfAdaptiveTemperatureAreProved) {
  ASSERT_EQ(theory::published_quartic.size(), theorems::quartic_thousandths.size());
  for (std::size_t i = 0; i < theorems::quartic_thousandths.size(); ++i) {
    EXPECT_EQ(theory::published_quartic[i], theorems::quartic_thousandths[i]);
  }
  const PrecisionScope precision(128);
  const auto decimal = [](long long digits, const char* unit) { return Enclosure(digits) * Enclosure::decimal(unit); };
  const auto same = [](const char* text, const Enclosure& value) { return Enclosure::decimal(text).overlaps(value); };
  EXPECT_TRUE(same(theory::largest_beta, decimal(theorems::largest_beta_digits, "1e-5")));
  EXPECT_TRUE(same(theory::inactive_from, decimal(theorems::inactive_from_digits, "1e-5")));
  EXPECT_TRUE(same(theory::lipschitz_constant, decimal(theorems::lipschitz_digits, "1e-5")));
  // The proved digits are off by one in the last place at most.
  const theory::ActiveInterval interval = theory::active_interval();
  const auto near = [&](const Enclosure& value, long long digits, const char* unit) {
    return less_equal(abs(value - decimal(digits, unit)), Enclosure::decimal(unit)) == Decision::proved;
  };
  EXPECT_TRUE(near(interval.first, theorems::first_root_digits, "1e-18"));
  EXPECT_TRUE(near(interval.last, theorems::last_root_digits, "1e-18"));
  EXPECT_TRUE(near(interval.at_maximum, theorems::top_digits, "1e-14"));
  EXPECT_TRUE(near(interval.maximum, theorems::maximum_digits, "1e-14"));
  EXPECT_FALSE(near(interval.first, theorems::first_root_digits + 3, "1e-18"));
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

// Words without a Coq term: TRUST.md has what stands for their theorems. weights=e: the formats of 8 bits.
constexpr std::string_view not_mapped[]{"differences=", "softcap=",  "sinks=",      "exp_floor=", "gradient=",
                                        "sigmoid=",     "weights=e", "lse=running", "lse=base2"};

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
