#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/filter/argument_filter.cpp"
#include "numerics/filter/argument_filter.hpp"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/filter/filter_lanes.inl"
#include "numerics/formats/fp_environment.hpp"

#ifndef SOFTCHECK_NUMERICS_ARGUMENT_LOGARITHMS_
#define SOFTCHECK_NUMERICS_ARGUMENT_LOGARITHMS_
namespace softcheck::numerics::stages {
/// c = k / 32, 1 / (1 + c) and ln(1 + c), rounded.
struct Logarithms {
  std::array<double, 33> centre, inverse, logarithm;
};
const Logarithms& logarithms();

/// The inputs of the lanes.
struct Pass {
  const ArgumentRows* rows;
  const ArgumentTable* table;
  const ArgumentQuestion* question;
};
}  // namespace softcheck::numerics::stages
#endif

HWY_BEFORE_NAMESPACE();
namespace softcheck::numerics::HWY_NAMESPACE {

// Factor that lowers the thresholds: the table's own roundings and those of a comparison are a few 2^-53.
constexpr double lowered = 1 - 0x1p-40;

using stages::Pass;

HWY_INLINE Whole entry_of(Lanes d, Real deviation) {
  const hn::RebindToSigned<Lanes> di;
  constexpr std::int64_t first = (std::int64_t{ArgumentTable::least_exponent} + 1023) << ArgumentTable::entry_bits;
  const Whole place = hn::ShiftRight<52 - ArgumentTable::entry_bits>(hn::BitCast(di, deviation));
  const Whole last = hn::Set(di, static_cast<std::int64_t>(ArgumentTable::entries - 1));
  const Whole entry = hn::Min(hn::Max(hn::Sub(place, hn::Set(di, first - 2)), hn::Set(di, 1)), last);
  return hn::IfThenZeroElse(hn::RebindMask(di, hn::Eq(deviation, hn::Zero(d))), entry);
}

/// ln(1 + t) for 0 <= t <= 1, absolute error 2 2^-53: 1 + t = c (1 + r) with one of 33 numbers c, and |r| <= 1 / 64.
HWY_INLINE Real log_of_one_plus(Lanes d, Real t) {
  const hn::RebindToSigned<Lanes> di;
  const stages::Logarithms& table = stages::logarithms();
  const Real shift = hn::Set(d, rounding_shift);
  const Real shifted = hn::MulAdd(t, hn::Set(d, 32), shift);
  const Whole place = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, shift));
  const Real centre = hn::GatherIndex(d, table.centre.data(), place);
  const Real r = hn::Mul(hn::Sub(t, centre), hn::GatherIndex(d, table.inverse.data(), place));
  // r - r^2 / 2 + ... - r^10 / 10; the remainder is below 2^-69.
  Real q = hn::Set(d, -1.0 / 10);
  for (int k = 9; k >= 2; --k) q = hn::MulAdd(q, r, hn::Set(d, (k % 2 == 0 ? -1.0 : 1.0) / k));
  const Real small = hn::MulAdd(hn::Mul(r, r), q, r);
  return hn::Add(hn::GatherIndex(d, table.logarithm.data(), place), small);
}

/// The best value of each lane, and its position.
struct Best {
  Real value, at;
  HWY_INLINE void offer(Real candidate, Real place) {
    const auto better = hn::Gt(candidate, value);
    value = hn::IfThenElse(better, candidate, value);
    at = hn::IfThenElse(better, place, at);
  }
};

struct Lane {
  const Pass& pass;
  Lanes d;
  Best share, ulps;
  Real row_sum, total, count, allowed;

  /// Compares |got - value| with constant' + floor, including the errors of the quick value; updates the statistics of
  /// proved values.
  template <bool kNotNegative>
  HWY_INLINE hn::Mask<Lanes> within(Real got, Real value, Real error, Real threshold, Real place,
                                    hn::Mask<Lanes> asked) {
    const Real signed_error = hn::Sub(got, value), distance = hn::Abs(signed_error);
    const Real least = hn::Mul(threshold, hn::Set(d, lowered));
    hn::Mask<Lanes> proved = hn::Le(hn::Add(distance, error), least);
    proved = hn::And(proved, hn::Lt(hn::Abs(got), hn::Set(d, std::numeric_limits<double>::infinity())));
    if (kNotNegative) {
      const hn::RebindToSigned<Lanes> di;
      const auto sign = hn::Lt(hn::BitCast(di, got), hn::Zero(di));
      proved = hn::AndNot(hn::RebindMask(d, sign), proved);
    }
    const auto counts = hn::And(proved, asked);
    share.offer(hn::IfThenElseZero(counts, hn::Div(hn::Add(distance, error), least)), place);
    const Real magnitude = hn::Abs(value);
    const auto sized = hn::And(
        counts, hn::And(hn::Lt(threshold, magnitude), hn::Ge(magnitude, hn::Set(d, pass.question->smallest_normal))));
    const Real unit =
        hn::Mul(hn::And(magnitude, exponent_field(d)), hn::Set(d, std::ldexp(2.0, -pass.question->precision)));
    const Real in_units = hn::IfThenElseZero(sized, hn::Div(signed_error, unit));
    const Real before = ulps.value;
    ulps.offer(hn::Abs(in_units), place);
    allowed = hn::IfThenElse(hn::Gt(ulps.value, before), hn::Div(threshold, unit), allowed);
    total = hn::Add(total, in_units);
    count = hn::Add(count, hn::IfThenElseZero(sized, hn::Set(d, 1)));
    return proved;
  }
};

template <ArgumentValue kValue>
HWY_INLINE hn::Mask<Lanes> judge_at(Lane& lane, std::size_t i, std::size_t count) {
  constexpr bool coefficient = kValue == ArgumentValue::coefficient,
                 logarithm = kValue == ArgumentValue::log_coefficient;
  const Lanes d = lane.d;
  const ArgumentRows& rows = *lane.pass.rows;
  const ArgumentTable& table = *lane.pass.table;
  const ArgumentErrors& errors = lane.pass.question->errors;
  const auto at = [&](std::span<const double> column) {
    return count == hn::Lanes(d) ? load(d, column.data() + i) : load_tail(d, column.data() + i, count, 0.0);
  };
  const auto asked = hn::FirstN(d, count);
  const Real place = hn::Add(hn::Set(d, static_cast<double>(i)), hn::Iota(d, 0));
  const Real deviation = at(rows.deviation), zero = hn::Zero(d), one = hn::Set(d, 1);
  const Whole entry = entry_of(d, deviation);
  const Real capped = hn::Min(deviation, hn::Set(d, stages::largest_deviation));
  const Real weight =
      hn::IfThenElseZero(hn::Le(deviation, hn::Set(d, stages::largest_deviation)), exponential(d, capped));
  const Real sum = rows.sum.empty() ? hn::Add(one, weight) : at(rows.sum);
  const Real constant = hn::GatherIndex(d, table.constant.data(), entry);
  const Real slope = hn::GatherIndex(d, table.slope.data(), entry);
  const Real floor = hn::GatherIndex(d, table.floor.data(), entry);
  const Real unit = hn::Set(d, stages::unit), tiny = hn::Set(d, stages::element_floor);
  const Real relative =
      hn::Mul(hn::MulAdd(hn::Set(d, errors.per_deviation), capped, hn::Set(d, errors.relative)), unit);
  // Rows with a NaN or an infinity stay open.
  auto proved = hn::Le(deviation, hn::Set(d, std::numeric_limits<double>::max()));
  if constexpr (coefficient) {
    const Real inverse = hn::Div(one, sum);
    const auto ask = [&](Real got, Real value, Real steepness) {
      const Real threshold = hn::MulAdd(hn::MulAdd(slope, steepness, constant), value, floor);
      proved =
          hn::And(proved, lane.within<true>(got, value, hn::MulAdd(relative, value, tiny), threshold, place, asked));
      proved = hn::And(proved, hn::Le(got, one));
    };
    if (!rows.of_maximum.empty()) ask(at(rows.of_maximum), inverse, zero);
    if (!rows.of_other.empty()) ask(at(rows.of_other), hn::Mul(weight, inverse), deviation);
    const bool both = !rows.of_maximum.empty() && !rows.of_other.empty();
    if (both || !rows.total.empty()) {
      const Real total = rows.total.empty() ? hn::Add(at(rows.of_maximum), at(rows.of_other)) : at(rows.total);
      const Real least = hn::Mul(hn::GatherIndex(d, table.row_sum.data(), entry), hn::Set(d, lowered));
      // The computed sum of the values: relative error of at most the additions in S.
      const Real distance = hn::MulAdd(total, hn::Mul(hn::Set(d, errors.relative), unit), hn::Abs(hn::Sub(total, one)));
      const auto holds = hn::Le(distance, least);
      proved = hn::And(proved, holds);
      lane.row_sum = hn::Max(lane.row_sum, hn::IfThenElseZero(hn::And(holds, asked), hn::Div(distance, least)));
    }
  } else {
    const Real log_sum = rows.log_sum.empty() ? log_of_one_plus(d, weight) : at(rows.log_sum);
    const Real absolute = hn::Set(d, errors.absolute * stages::unit);
    const Real scaled = rows.maximum.empty() ? zero : hn::Div(at(rows.maximum), hn::Set(d, lane.pass.question->theta));
    const auto threshold_at = [&](Real steepness) {
      const Real size = hn::Abs(hn::Add(scaled, log_sum));
      const Real magnitudes = hn::MulAdd(
          hn::Set(d, table.per_value), size,
          hn::MulAdd(hn::Set(d, table.per_maximum), hn::Abs(scaled), hn::Mul(hn::Set(d, table.per_log_sum), log_sum)));
      return hn::Add(hn::MulAdd(slope, steepness, hn::Add(constant, floor)), magnitudes);
    };
    const auto ask = [&](Real got, Real value, Real steepness) {
      // Only a log-sum-exp includes the maximum.
      const Real parts = kValue == ArgumentValue::logsumexp ? hn::Add(hn::Abs(value), hn::Abs(scaled)) : hn::Abs(value);
      const Real error = hn::MulAdd(hn::Set(d, errors.rounding * stages::unit), parts, absolute);
      proved = hn::And(proved, lane.within<kValue == ArgumentValue::entropy>(got, value, error, threshold_at(steepness),
                                                                             place, asked));
    };
    if constexpr (logarithm) {
      if (!rows.of_maximum.empty()) ask(at(rows.of_maximum), hn::Neg(log_sum), zero);
      if (!rows.of_other.empty()) ask(at(rows.of_other), hn::Neg(hn::Add(deviation, log_sum)), deviation);
    } else if constexpr (kValue == ArgumentValue::logsumexp) {
      ask(at(rows.of_maximum), hn::Add(scaled, log_sum), zero);
    } else {
      const Real moment = rows.moment.empty() ? hn::Div(hn::Mul(weight, capped), sum) : at(rows.moment);
      ask(at(rows.of_maximum), hn::Add(log_sum, moment), zero);
    }
  }
  return hn::Or(proved, hn::Not(asked));
}

template <ArgumentValue kValue>
void judge_all(const Pass& pass, ArgumentFindings& found) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d), n = pass.rows->deviation.size();
  const Real zero = hn::Zero(d);
  Lane lane{pass, d, {zero, zero}, {zero, zero}, zero, zero, zero, zero};
  HWY_ALIGN double flags[HWY_MAX_BYTES / sizeof(double)];
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = std::min(lanes, n - i);
    const auto proved = judge_at<kValue>(lane, i, count);
    if (hn::AllTrue(d, proved)) continue;
    hn::Store(hn::IfThenElseZero(proved, hn::Set(d, 1)), d, flags);
    for (std::size_t k = 0; k < count; ++k) {
      if (flags[k] == 0) found.open.push_back(i + k);
    }
  }
  HWY_ALIGN double columns[8][HWY_MAX_BYTES / sizeof(double)];
  hn::Store(lane.share.value, d, columns[0]);
  hn::Store(lane.share.at, d, columns[1]);
  hn::Store(lane.ulps.value, d, columns[2]);
  hn::Store(lane.ulps.at, d, columns[3]);
  hn::Store(lane.allowed, d, columns[4]);
  hn::Store(lane.row_sum, d, columns[5]);
  hn::Store(lane.total, d, columns[6]);
  hn::Store(lane.count, d, columns[7]);
  for (std::size_t k = 0; k < lanes; ++k) {
    if (columns[0][k] > found.largest_share) {
      found.largest_share = columns[0][k];
      found.largest_at = static_cast<std::size_t>(columns[1][k]);
    }
    if (columns[2][k] > found.worst_ulps) {
      found.worst_ulps = columns[2][k];
      found.worst_at = static_cast<std::size_t>(columns[3][k]);
      found.worst_allowed = columns[4][k];
    }
    found.row_sum_share = std::fmax(found.row_sum_share, columns[5][k]);
    found.total_ulps += columns[6][k];
    found.ulps += static_cast<std::uint64_t>(columns[7][k]);
  }
}

void ask_all(const Pass& pass, ArgumentFindings& found) {
  switch (pass.question->value) {
    case ArgumentValue::coefficient:
      return judge_all<ArgumentValue::coefficient>(pass, found);
    case ArgumentValue::log_coefficient:
      return judge_all<ArgumentValue::log_coefficient>(pass, found);
    case ArgumentValue::logsumexp:
      return judge_all<ArgumentValue::logsumexp>(pass, found);
    case ArgumentValue::entropy:
      return judge_all<ArgumentValue::entropy>(pass, found);
  }
}

void weigh_all(const double* deviation, std::size_t n, double* weights) {
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double buffer[HWY_MAX_BYTES / sizeof(double)];
  for (std::size_t i = 0; i < n; i += lanes) {
    const std::size_t count = std::min(lanes, n - i);
    const Real x = count == lanes ? load(d, deviation + i) : load_tail(d, deviation + i, count, 0.0);
    const Real limit = hn::Set(d, stages::largest_deviation);
    const Real weight = hn::IfThenElseZero(hn::Le(x, limit), exponential(d, hn::Min(x, limit)));
    if (count == lanes) {
      hn::StoreU(weight, d, weights + i);
    } else {
      hn::Store(weight, d, buffer);
      std::copy_n(buffer, count, weights + i);
    }
  }
}

}  // namespace softcheck::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::numerics {

HWY_EXPORT(ask_all);
HWY_EXPORT(weigh_all);

const stages::Logarithms& stages::logarithms() {
  static const Logarithms table = [] {
    Logarithms made{};
    const PrecisionScope precision(113);
    for (std::size_t k = 0; k < made.centre.size(); ++k) {
      made.centre[k] = static_cast<double>(k) / 32;
      made.inverse[k] = 1 / (1 + made.centre[k]);
      made.logarithm[k] = log1p(Enclosure(made.centre[k])).midpoint();
    }
    return made;
  }();
  return table;
}

ArgumentTable::ArgumentTable()
    : constant(entries, 0),
      slope(entries, 0),
      floor(entries, 0),
      row_sum(entries, 0),
      per_value(std::numeric_limits<double>::infinity()),
      per_maximum(std::numeric_limits<double>::infinity()),
      per_log_sum(std::numeric_limits<double>::infinity()) {}

double ArgumentTable::lower_end(std::size_t entry) {
  if (entry < 2) return 0;
  const std::size_t steps = entry - 2, binade = steps / entries_per_binade;
  const double fraction = static_cast<double>(steps % entries_per_binade) / entries_per_binade;
  return std::ldexp(1 + fraction, least_exponent + static_cast<int>(binade));
}

double ArgumentTable::upper_end(std::size_t entry) {
  if (entry == 0) return 0;
  return entry + 1 < entries ? lower_end(entry + 1) : std::numeric_limits<double>::max();
}

std::size_t ArgumentTable::entry_of(double deviation) {
  if (deviation == 0) return 0;
  constexpr std::int64_t first = (std::int64_t{least_exponent} + 1023) << entry_bits;
  const std::int64_t place = std::bit_cast<std::int64_t>(deviation) >> (52 - entry_bits);
  return static_cast<std::size_t>(std::clamp<std::int64_t>(place - first + 2, 1, entries - 1));
}

void ArgumentTable::set(std::size_t entry, const ArgumentThreshold& threshold) {
  constant.at(entry) = threshold.constant;
  slope.at(entry) = threshold.slope;
  floor.at(entry) = threshold.floor;
  row_sum.at(entry) = threshold.row_sum;
  per_value = std::min(per_value, threshold.per_value);
  per_maximum = std::min(per_maximum, threshold.per_maximum);
  per_log_sum = std::min(per_log_sum, threshold.per_log_sum);
}

double ArgumentTable::least_part(const ArgumentTable& other) const {
  // A threshold is a sum of products with these numbers, and the other table has at least this share of each.
  double part = 1;
  const auto compare = [&part](double own, double others) {
    if (!(others >= own)) part = std::isfinite(own) ? std::min(part, others / own * (1 - 0x1p-50)) : 0;
  };
  for (std::size_t entry = 0; entry < entries; ++entry) {
    compare(constant[entry], other.constant[entry]);
    compare(slope[entry], other.slope[entry]);
    compare(floor[entry], other.floor[entry]);
    compare(row_sum[entry], other.row_sum[entry]);
  }
  compare(per_value, other.per_value);
  compare(per_maximum, other.per_maximum);
  compare(per_log_sum, other.per_log_sum);
  return part;
}

ArgumentFindings judge_arguments(const ArgumentRows& rows, const ArgumentTable& table,
                                 const ArgumentQuestion& question) {
  const FpEnvironmentGuard guard;
  const std::size_t n = rows.deviation.size();
  for (const std::span<const double> column :
       {rows.maximum, rows.of_maximum, rows.of_other, rows.total, rows.sum, rows.log_sum, rows.moment}) {
    if (column.empty() || column.size() == n) continue;
    throw std::invalid_argument("judge_arguments: need columns of " + std::to_string(n) + " rows, got " +
                                std::to_string(column.size()));
  }
  ArgumentFindings found;
  HWY_DYNAMIC_DISPATCH(ask_all)(stages::Pass{&rows, &table, &question}, found);
  return found;
}

void argument_weights(std::span<const double> deviation, std::span<double> weights) {
  const FpEnvironmentGuard guard;
  if (weights.size() != deviation.size()) throw std::invalid_argument("argument_weights: need spans of one size");
  HWY_DYNAMIC_DISPATCH(weigh_all)(deviation.data(), deviation.size(), weights.data());
}

// In units of 2^-53. A weight errs by 2, and by D for each rounding of D. S errs by its weights' average, whose D is at
// most ln n, and by its additions; 1 / S and p by one rounding each. For two items ln S errs by half of its weight's
// error, and by 2 of log_of_one_plus; for more by S's, and by an ulp of the library's log, 2 ln S. A moment sum w D / S
// <= ln n (0.28 for two items) errs by its weights, a product, its additions, S and a quotient; and by the roundings of
// D like a second moment, which is at most (ln n + 1)^2.
ArgumentErrors argument_errors(ArgumentValue value, int roundings, std::size_t items, double additions) {
  const bool pair = items <= 2;
  const double log_items = std::log(static_cast<double>(std::max<std::size_t>(items, 2)));
  ArgumentErrors errors;
  errors.relative = 6 + additions + roundings * log_items;
  errors.per_deviation = 2 * roundings;
  errors.rounding = 2 + roundings;
  errors.absolute = 3 + additions + roundings * log_items + (pair ? 0 : 2 * log_items + 1);
  if (value == ArgumentValue::entropy) {
    errors.absolute += (8 + 2 * additions) * (pair ? 0.28 : log_items);
    errors.absolute += 2 * roundings * (log_items + 1) * (log_items + 1);
  }
  return errors;
}

}  // namespace softcheck::numerics
#endif
