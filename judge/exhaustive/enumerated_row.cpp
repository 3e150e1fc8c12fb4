#include "judge/exhaustive/enumerated_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/ops/rows/row_description.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// All numbers of a format of at most 16 bits, indexed by their bits.
const std::vector<double>& numbers_of(Format format) {
  static std::array<std::vector<double>, 6> tables;
  std::vector<double>& table = tables.at(static_cast<std::size_t>(format));
  if (table.empty()) {
    table.resize(std::size_t{1} << properties(format).storage_bits);
    for (std::size_t bits = 0; bits < table.size(); ++bits) table[bits] = decode(format, bits);
  }
  return table;
}

template <class Stored, class Read>
void read_all(std::span<const std::byte> bytes, std::span<double> values, Read read) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    values[i] = read(stored);
  }
}

std::uint64_t bits_at(std::span<const std::byte> bytes, std::size_t each, std::size_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * each, each);
  return bits;
}

bool has_nan(std::span<const double> numbers) {
  return std::ranges::any_of(numbers, [](double x) { return std::isnan(x); });
}

// The number of a NaN in a case, with this one's bits if the case's six patterns include them.
std::uint64_t nan_number(Format format, NanPlace::Tensor tensor, std::size_t index, std::size_t extent,
                         std::uint64_t bits) {
  NanPlace place;
  place.tensor = tensor;
  for (std::size_t k = 0; k < NanPlace::positions; ++k) {
    place.position = static_cast<NanPlace::Position>(k);
    if (place.along(extent) == index) break;
  }
  for (std::size_t k = 0; k < NanPlace::patterns; ++k) {
    place.bits = static_cast<NanPlace::Bits>(k);
    if (nan_bits(format, place.bits) == bits) return place.number();
  }
  const bool negative = std::signbit(decode(format, bits));
  place.bits = negative ? NanPlace::Bits::payload_negative : NanPlace::Bits::payload;
  return place.number();
}

// The rows of the identity matrix.
std::vector<double> identity(const RowShape& shape) {
  std::vector<double> values(shape.columns * shape.value_dim, 0.0);
  for (std::size_t j = 0; j < shape.columns; ++j) values[j * shape.value_dim + j] = 1;
  return values;
}

// Pads each number with zeros to dim numbers.
std::vector<double> widened(std::span<const double> numbers, std::size_t dim) {
  std::vector<double> wide(numbers.size() * dim, 0.0);
  for (std::size_t i = 0; i < numbers.size(); ++i) wide[i * dim] = numbers[i];
  return wide;
}

RowOpinion opinion_of_query(Op op, const Contract& contract, const EnumeratedRow& row) {
  const std::size_t outputs = row.shape.value_dim;
  const std::vector<double> query = widened(row.logits.first(1), row.shape.dim),
                            keys = widened(row.logits.subspan(1), row.shape.dim), values = identity(row.shape);
  AttentionTask task{op, contract, contract.output};
  task.contract.output = contract.input;
  AttentionRow asked;
  asked.query = query;
  asked.keys = keys;
  asked.values = values;
  asked.value_size = outputs;
  asked.scale = row.shape.scale;
  asked.visible.assign(row.shape.columns, 1);
  AttentionValues got{row.got.first(outputs), std::nullopt, std::nullopt};
  if (row.got.size() > outputs) got.lse = row.got[outputs];
  if (row.got.size() > outputs + 1) got.entropy = row.got[outputs + 1];
  RowVerdicts verdicts = judge_attention(task, asked, got);
  return {std::move(verdicts.findings), verdicts.vacuity, false};
}

}  // namespace

void decode_all(Format format, std::span<const std::byte> bytes, std::span<double> values) {
  const int bits = properties(format).storage_bits;
  if (bits == 64) return read_all<double>(bytes, values, [](double value) { return value; });
  if (bits == 32) return read_all<float>(bytes, values, [](float value) { return value; });
  const std::vector<double>& table = numbers_of(format);
  if (bits == 16) return read_all<std::uint16_t>(bytes, values, [&](std::uint16_t stored) { return table[stored]; });
  read_all<std::uint8_t>(bytes, values, [&](std::uint8_t stored) { return table[stored]; });
}

RowMatrixCase row_as_case(Format format, std::span<const std::byte> row, double theta) {
  const auto each = static_cast<std::size_t>(properties(format).storage_bits) / 8;
  std::vector<double> logits(row.size() / each);
  decode_all(format, row, logits);
  RowMatrixCase matrix;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i]) && logits[i] != infinity) continue;
    matrix.specials.push_back({0, i, bits_at(row, each, i)});
    logits[i] = 0;
  }
  matrix.rows = {RunLengthRow::of(logits)};
  matrix.columns = logits.size();
  matrix.theta = theta;
  matrix.format = format;
  return matrix;
}

AttentionCase query_as_case(Format format, const EnumeratedRow& row) {
  const auto each = static_cast<std::size_t>(properties(format).storage_bits) / 8;
  const RowShape& shape = row.shape;
  std::vector<double> numbers(row.logits.begin(), row.logits.end());
  AttentionCase attention;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isnan(numbers[i])) continue;
    numbers[i] = 0;
    attention.nan =
        i == 0 ? nan_number(format, NanPlace::Tensor::query, 0, 1, bits_at(row.bytes, each, 0))
               : nan_number(format, NanPlace::Tensor::key, i - 1, shape.columns, bits_at(row.auxiliary, each, i - 1));
  }
  attention.format = format;
  attention.shape.keys = shape.columns;
  attention.shape.dim = shape.dim;
  attention.shape.value_dim = shape.value_dim;
  attention.scale = shape.scale;
  attention.outputs = 3;
  attention.queries = widened(std::span(numbers).first(1), shape.dim);
  attention.keys = widened(std::span(numbers).subspan(1), shape.dim);
  attention.values = identity(shape);
  return attention;
}

std::string case_text_of(Op op, Format format, const EnumeratedRow& row) {
  if (op->is_attention()) return to_text(query_as_case(format, row));
  const RowMatrixCase matrix = row_as_case(format, row.bytes, row.shape.theta);
  // A row without visible items replays as a call of a property that has such rows.
  const bool hidden = std::ranges::all_of(row.logits, [](double x) { return x == -infinity; });
  return hidden ? to_text(matrix) : text_of(matrix);
}

CallDescription describe_call(Op op, Format format, const EnumeratedRow& row) {
  if (op->is_attention()) return describe_call(query_as_case(format, row), "", std::nullopt);
  return describe_call(row_as_case(format, row.bytes, row.shape.theta), op, format, "", 0);
}

bool is_nan_as_due(const EnumeratedRow& row) {
  const auto is_nan = [](double x) { return x != x; };
  return std::ranges::any_of(row.logits, is_nan) && std::ranges::all_of(row.got, is_nan);
}

RowOpinion opinion_of(Op op, const Contract& contract, const EnumeratedRow& row) {
  RowOpinion opinion;
  const bool infinite = std::ranges::find(row.logits, infinity) != row.logits.end();
  opinion.special = has_nan(row.logits) || infinite;
  if (has_nan(row.logits)) {
    const auto wrong = std::ranges::find_if(row.got, [](double x) { return !std::isnan(x); });
    const bool right = wrong == row.got.end();
    ValueFinding finding{nan_claim, std::nullopt, Enclosure(0), right ? nan : *wrong, 0, Decision::proved, {}, true};
    finding.item = right ? 0 : static_cast<std::size_t>(wrong - row.got.begin());
    if (!right) finding.decision = Decision::violated;
    opinion.findings.push_back(std::move(finding));
    return opinion;
  }
  if (op->is_attention()) return opinion_of_query(op, contract, row);
  const double theta = row.shape.theta;
  if (infinite) {
    opinion.findings = judge_limit(op, contract, row.logits, theta, row.got).findings;
    for (ValueFinding& finding : opinion.findings) finding.claim = infinite_claim;
    return opinion;
  }
  RowVerdicts verdicts = judge_values(op, contract, row.logits, theta, row.got);
  opinion.findings = std::move(verdicts.findings);
  opinion.vacuity = verdicts.vacuity;
  return opinion;
}

}  // namespace softcheck::proptests
