#include "proptests/exhaustive/enumerated_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "numerics/formats/special_values.hpp"
#include "proptests/judge/calls/asked_row.hpp"
#include "proptests/judge/calls/watched_kernel.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// All numbers of a format of at most 16 bits, by their bits.
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

// To look through all pages for late writes takes as long as a call.
constexpr std::size_t calls_between_looks = 64;

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

EnumeratedKernel::EnumeratedKernel(const KernelSubject& subject, const KernelLimits& limits)
    : subject_(subject), kernel_(subject.source, limits) {}

std::size_t EnumeratedKernel::bytes_of(const RowShape& shape) const {
  return shape.columns * static_cast<std::size_t>(properties(subject_.contract.input).storage_bits) / 8;
}

std::size_t EnumeratedKernel::result_bytes(const RowShape& shape, std::size_t rows) const {
  const std::size_t each = static_cast<std::size_t>(properties(subject_.contract.output).storage_bits) / 8;
  return rows * (subject_.op->one_value_per_row ? 1 : shape.columns) * each;
}

TensorReply EnumeratedKernel::ask(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits,
                                  std::span<std::byte> results) {
  const auto count = static_cast<std::int64_t>(rows), columns = static_cast<std::int64_t>(shape.columns);
  TensorCall call;
  call.theta = shape.theta;
  call.inputs.resize(1);
  call.outputs.resize(1);
  TensorPlace &in = call.inputs[0].place, &out = call.outputs[0].place;
  in.format = subject_.contract.input;
  out.format = subject_.contract.output;
  in.shape = {count, columns};
  out.shape = subject_.op->one_value_per_row ? std::vector<std::int64_t>{count} : in.shape;
  in.alignment = out.alignment = static_cast<std::size_t>(subject_.domain.alignment);
  return kernel_.call_bytes(call, logits, results);
}

void EnumeratedKernel::add(const std::string& claim, const RowShape& shape, std::size_t rows,
                           std::span<const std::byte> logits, const TensorReply* ending, const std::string& remark) {
  if (subject_.exempt.contains(claim)) {
    notes_.insert("does not hold, as known: " + claim);
    return;
  }
  if (std::ranges::any_of(broken_, [&](const Broken& one) { return one.certificate.claim == claim; })) return;
  const RowMatrixCase first = row_as_case(subject_.contract.input, logits.first(bytes_of(shape)), shape.theta);
  KernelEvidence evidence;
  evidence.asked.case_text = text_of(first);
  evidence.asked.remark = remark;
  if (rows > 1) evidence.asked.remark += " (the first of " + std::to_string(rows) + " rows of the call)";
  if (ending != nullptr) evidence.ending = CallEnding{ending->end, ending->death, ending->printed};
  std::string case_text = evidence.asked.case_text;
  broken_.push_back({std::move(case_text), shape.columns, observed(claim, std::move(evidence), 1)});
}

// Halves of the rows, as long as one of them ends the kernel, too.
void EnumeratedKernel::find_row(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits,
                                TensorReply reply) {
  std::vector<std::byte> results(result_bytes(shape, rows));
  while (rows > 1 && subject_.domain.length("rows").everything() && reply.end != CallEnd::timed_out) {
    const std::size_t half = rows / 2, bytes = half * bytes_of(shape);
    TensorReply first = ask(shape, half, logits.first(bytes), std::span(results).first(result_bytes(shape, half)));
    if (first.end != CallEnd::done) {
      rows = half;
      logits = logits.first(bytes);
      reply = std::move(first);
      continue;
    }
    const std::span<const std::byte> rest = logits.subspan(bytes);
    TensorReply second = ask(shape, rows - half, rest, std::span(results).first(result_bytes(shape, rows - half)));
    if (second.end == CallEnd::done) break;
    rows -= half;
    logits = rest;
    reply = std::move(second);
  }
  add("kernel.returns", shape, rows, logits, &reply, "");
}

void EnumeratedKernel::look_into(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits,
                                 const TensorReply& reply) {
  if (reply.end == CallEnd::refused) {
    if (!subject_.domain.everything()) {
      add("kernel.accepts", shape, rows, logits, nullptr,
          " (refused: it returned " + std::to_string(reply.refusal) + ")");
    }
    return;
  }
  if (reply.end == CallEnd::not_made) {
    notes_.insert("calls whose tensors the device has no memory for were not made, and count as refused");
    return;
  }
  if (reply.end != CallEnd::done) {
    lost_ = true;
    find_row(shape, rows, logits, reply);
  }
  if (reply.inputs_changed) add("kernel.keeps_inputs", shape, rows, logits, nullptr, "");
  if (reply.wrote_outside) add("kernel.stays_inside", shape, rows, logits, nullptr, "");
  if (reply.environment_changed) add("kernel.keeps_environment", shape, rows, logits, nullptr, "");
  if (++since_late_ % calls_between_looks == 0 && kernel_.wrote_late()) {
    add("kernel.stays_inside", shape, rows, logits, nullptr, " (an earlier call wrote after it returned)");
  }
}

bool EnumeratedKernel::call(const RowShape& shape, std::size_t rows, std::span<const std::byte> logits,
                            std::span<std::byte> results) {
  const LengthRange allowed = subject_.domain.length("rows");
  const std::size_t row = bytes_of(shape), result = result_bytes(shape, 1);
  for (std::size_t done = 0; done < rows;) {
    const std::size_t left = rows - done;
    const auto most = allowed.at_most(left);
    const bool fits = most && *most > 0;
    const auto count = static_cast<std::size_t>(fits ? *most : allowed.at_least(1).value_or(1));
    std::span<const std::byte> part = logits.subspan(done * row, std::min(left, count) * row);
    std::span<std::byte> to = results.subspan(done * result, std::min(left, count) * result);
    TensorReply reply;
    if (fits) {
      reply = ask(shape, count, part, to);
    } else {
      // The domain has more rows only: the last one stands again and again.
      padded_.assign(part.begin(), part.end());
      while (padded_.size() < count * row)
        padded_.insert(padded_.end(), part.end() - static_cast<long>(row), part.end());
      padded_results_.resize(count * result);
      reply = ask(shape, count, padded_, padded_results_);
      std::copy_n(padded_results_.begin(), to.size(), to.begin());
    }
    look_into(shape, std::min(left, count), part, reply);
    if (reply.end != CallEnd::done) return false;
    done += std::min(left, count);
  }
  return true;
}

}  // namespace softcheck::proptests
