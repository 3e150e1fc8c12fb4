#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "judge/certification/judge_question.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_model.hpp"

/// Rows and contracts on which the extracted judge and ours must agree.
namespace softcheck::proptests {

inline const std::vector<Op>& certified_ops() {
  static const std::vector<Op> ops{parse_op("softmax"), parse_op("logsumexp"), parse_op("entropy")};
  return ops;
}

struct JudgedContract {
  std::string words;
  numerics::Format input, output;
  numerics::Contract contract() const { return numerics::parse_contract(words, input, output); }
};

/// Every format as input, output and accumulator; errors, heights and subnormals of all kinds.
inline std::vector<JudgedContract> judged_contracts() {
  using enum numerics::Format;
  return {{"acc=f32 exp=1ulp sum=sequential", f32, f32}, {"acc=f32 exp=2ulp sum=lanes:8 subnormal=kept", f32, f32},
          {"acc=f32 exp=E:3,A:4 sum=tree", f16, f16},    {"acc=f32 exp=1ulp sum=blocks:32", bf16, bf16},
          {"acc=f64 exp=1ulp sum=sequential", f64, f64}, {"acc=f64 exp=2ulp sum=tree subnormal=flushed", f64, f64},
          {"acc=f32 exp=1ulp sum=tree", f64, f32},       {"acc=f16 exp=1ulp sum=tree", f16, f16},
          {"acc=bf16 exp=1ulp sum=tree", bf16, bf16}};
}

/// A row of n logits of that format, with no more than sixteen different ones; the last is masked where n is odd.
inline std::vector<double> judged_row(numerics::Format format, std::size_t n, double spread, std::mt19937_64& engine) {
  std::normal_distribution<double> normal(0, spread);
  std::vector<double> distinct(std::min<std::size_t>(n, 16));
  for (double& logit : distinct) logit = numerics::round_to(format, normal(engine));
  std::vector<double> row(n);
  for (std::size_t i = 0; i < n; ++i) row[i] = distinct[i < distinct.size() ? i : engine() % distinct.size()];
  if (n > 1 && n % 2 == 1) row.back() = -std::numeric_limits<double>::infinity();
  return row;
}

/// One value of a row: its item, what is exact, and what the contract allows it to err by.
struct AllowedValue {
  std::size_t item = 0;
  double exact = 0;    // within four doubles
  double allowed = 0;  // infinite where nothing is promised
};

inline std::vector<AllowedValue> allowed_values(Op op, const numerics::Contract& contract,
                                                const std::vector<double>& row, double theta) {
  const std::size_t count = to_string(op) == "softmax" ? row.size() : 1;
  std::vector<double> lower(count), upper(count), allowed(count);
  exact_row(op, contract, row, theta, lower, upper);
  granted_row(op, contract, row, theta, allowed);
  std::vector<AllowedValue> values;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > 1 && !std::isfinite(row[i])) continue;
    values.push_back({i, lower[i] + 0.5 * (upper[i] - lower[i]), allowed[i]});
  }
  return values;
}

/// The share of a threshold by which the two judges' may differ: what ours adds to the theorems', and the doubles that
/// a value lies between.
inline double unjudged_share(const AllowedValue& value) {
  return 0x1p-10 + 16 * std::fabs(value.exact) * 0x1p-52 / value.allowed;
}

}  // namespace softcheck::proptests
