#include "judge/exhaustive/enumerated_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "judge/sandbox/watched_kernel.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Checking all pages for late writes takes as long as a call.
constexpr std::size_t calls_between_looks = 64;

std::size_t bytes_of(Format format) { return static_cast<std::size_t>(properties(format).storage_bits) / 8; }

std::int64_t signed_of(std::size_t size) { return static_cast<std::int64_t>(size); }

// Pads each number to a vector of dim numbers with zeros.
std::span<const std::byte> spread_out(std::span<const std::byte> numbers, std::size_t each, std::size_t dim,
                                      std::vector<std::byte>& wide) {
  if (dim == 1) return numbers;
  wide.assign(numbers.size() * dim, std::byte{0});
  for (std::size_t i = 0; i < numbers.size(); i += each) std::memcpy(&wide[i * dim], &numbers[i], each);
  return wide;
}

}  // namespace

std::size_t EnumeratedKernel::Output::bytes() const { return values * bytes_of(format); }

EnumeratedKernel::EnumeratedKernel(const KernelSubject& subject, const KernelLimits& limits)
    : subject_(subject), kernel_(subject.source, limits), returned_(subject.op->is_attention() ? 3 : 1) {}

std::size_t EnumeratedKernel::bytes_of_row(const RowShape& shape) const {
  return (subject_.op->is_attention() ? 1 : shape.columns) * bytes_of(subject_.contract.input);
}

auto EnumeratedKernel::outputs_of(const RowShape& shape, std::size_t rows) const -> std::vector<Output> {
  const std::int64_t count = signed_of(rows);
  if (!subject_.op->is_attention()) {
    const bool scalar = subject_.op->one_value_per_row;
    std::vector<std::int64_t> sizes{count};
    if (!scalar) sizes.push_back(signed_of(shape.columns));
    return {{subject_.contract.output, sizes, scalar ? 1 : shape.columns}};
  }
  std::vector<Output> outputs{{subject_.contract.input, {1, 1, count, signed_of(shape.value_dim)}, shape.value_dim}};
  while (outputs.size() < returned_) outputs.push_back({subject_.contract.output, {1, 1, count}, 1});
  return outputs;
}

// Adds the call's inputs, with their places and bytes.
void EnumeratedKernel::place_inputs(const RowShape& shape, std::size_t rows, const BlockBytes& block,
                                    TensorCall& call) {
  const auto add = [&](std::vector<std::int64_t> sizes, std::span<const std::byte> bytes) {
    TensorPlace& place = call.inputs.emplace_back().place;
    place.format = subject_.contract.input;
    place.shape = std::move(sizes);
    place.alignment = static_cast<std::size_t>(subject_.domain.alignment);
    inputs_.push_back(bytes);
  };
  inputs_.clear();
  const std::int64_t count = signed_of(rows), columns = signed_of(shape.columns);
  if (!subject_.op->is_attention()) return add({count, columns}, block.rows);
  const std::size_t each = bytes_of(subject_.contract.input), wide = shape.value_dim;
  if (values_.size() != shape.columns * wide * each) {
    values_.assign(shape.columns * wide * each, std::byte{0});
    const std::uint64_t one = encode(subject_.contract.input, 1);
    for (std::size_t j = 0; j < shape.columns; ++j) std::memcpy(&values_[(j * wide + j) * each], &one, each);
  }
  const std::int64_t dim = signed_of(shape.dim);
  call.scale = shape.scale;
  add({1, 1, count, dim}, spread_out(block.rows, each, shape.dim, queries_));
  add({1, 1, columns, dim}, spread_out(block.auxiliary, each, shape.dim, keys_));
  add({1, 1, columns, signed_of(wide)}, values_);
}

TensorReply EnumeratedKernel::ask(const RowShape& shape, std::size_t rows, const BlockBytes& block,
                                  BlockResults& results) {
  TensorCall call;
  call.theta = shape.theta;
  place_inputs(shape, rows, block, call);
  const std::vector<Output> outputs = outputs_of(shape, rows);
  results.resize(outputs.size());
  std::vector<std::span<std::byte>> to;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    TensorPlace& place = call.outputs.emplace_back().place;
    place.format = outputs[k].format;
    place.shape = outputs[k].shape;
    place.alignment = static_cast<std::size_t>(subject_.domain.alignment);
    results[k].resize(rows * outputs[k].bytes());
    to.emplace_back(results[k]);
  }
  return kernel_.call_bytes(call, inputs_, to);
}

// An attention kernel may lack entropy, or lse: if it refuses the first call, ask for fewer outputs.
TensorReply EnumeratedKernel::ask_for_what_it_returns(const RowShape& shape, std::size_t rows, const BlockBytes& block,
                                                      BlockResults& results) {
  TensorReply reply = ask(shape, rows, block, results);
  while (reply.end == CallEnd::refused && returned_ > 1 && !answered_) {
    notes_.insert(std::string(returned_ == 3 ? "entropies" : "log-sum-exps") + ": the kernel refuses to return them");
    --returned_;
    reply = ask(shape, rows, block, results);
  }
  answered_ = answered_ || reply.end == CallEnd::done;
  return reply;
}

void EnumeratedKernel::add(const std::string& claim, const RowShape& shape, std::size_t rows, const BlockBytes& block,
                           const TensorReply* ending, const std::string& remark) {
  if (subject_.exempt.contains(claim)) {
    notes_.insert("does not hold, as known: " + claim);
    return;
  }
  if (std::ranges::any_of(broken_, [&](const Broken& one) { return one.certificate.claim == claim; })) return;
  const Format format = subject_.contract.input;
  const std::span<const std::byte> first = block.rows.first(bytes_of_row(shape));
  std::vector<double> numbers((first.size() + block.auxiliary.size()) / bytes_of(format));
  const std::size_t own = first.size() / bytes_of(format);
  decode_all(format, first, std::span(numbers).first(own));
  decode_all(format, block.auxiliary, std::span(numbers).subspan(own));
  const EnumeratedRow row{shape, first, block.auxiliary, numbers, {}};
  KernelEvidence evidence;
  evidence.asked.case_text = case_text_of(subject_.op, format, row);
  evidence.asked.remark = remark;
  if (rows > 1) evidence.asked.remark += " (the first of " + std::to_string(rows) + " rows of the call)";
  if (ending != nullptr) evidence.ending = CallEnding{ending->end, ending->death, ending->printed};
  std::string case_text = evidence.asked.case_text;
  const bool special = case_text.starts_with("matrix") || case_text.find(" nan=") != std::string::npos;
  broken_.push_back({std::move(case_text), shape.columns, special, observed(claim, std::move(evidence), 1)});
}

// Halves the rows as long as one half also ends the kernel.
void EnumeratedKernel::find_row(const RowShape& shape, std::size_t rows, BlockBytes block, TensorReply reply) {
  const bool any_count = subject_.domain.length(subject_.op->is_attention() ? "queries" : "rows").everything();
  BlockResults results;
  while (rows > 1 && any_count && reply.end != CallEnd::timed_out) {
    const std::size_t half = rows / 2, bytes = half * bytes_of_row(shape);
    const BlockBytes front{block.rows.first(bytes), block.auxiliary}, back{block.rows.subspan(bytes), block.auxiliary};
    TensorReply first = ask(shape, half, front, results);
    if (first.end != CallEnd::done) {
      rows = half;
      block = front;
      reply = std::move(first);
      continue;
    }
    TensorReply second = ask(shape, rows - half, back, results);
    if (second.end == CallEnd::done) break;
    rows -= half;
    block = back;
    reply = std::move(second);
  }
  add("kernel.returns", shape, rows, block, &reply, "");
}

void EnumeratedKernel::look_into(const RowShape& shape, std::size_t rows, const BlockBytes& block,
                                 const TensorReply& reply) {
  if (reply.end == CallEnd::refused) {
    if (!subject_.domain.everything()) {
      add("kernel.accepts", shape, rows, block, nullptr,
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
    find_row(shape, rows, block, reply);
  }
  if (reply.inputs_changed) add("kernel.keeps_inputs", shape, rows, block, nullptr, "");
  if (reply.wrote_outside) add("kernel.stays_inside", shape, rows, block, nullptr, "");
  if (reply.environment_changed) add("kernel.keeps_environment", shape, rows, block, nullptr, "");
  if (++since_late_ % calls_between_looks == 0 && kernel_.wrote_late()) {
    add("kernel.stays_inside", shape, rows, block, nullptr, " (an earlier call wrote after it returned)");
  }
}

bool EnumeratedKernel::call(const RowShape& shape, std::size_t rows, const BlockBytes& block, BlockResults& results) {
  const LengthRange allowed = subject_.domain.length(subject_.op->is_attention() ? "queries" : "rows");
  const std::size_t row = bytes_of_row(shape);
  results.clear();
  for (std::size_t done = 0; done < rows;) {
    const std::size_t left = rows - done;
    const auto most = allowed.at_most(left);
    const bool fits = most && *most > 0;
    const auto count = static_cast<std::size_t>(fits ? *most : allowed.at_least(1).value_or(1));
    BlockBytes part{block.rows.subspan(done * row, std::min(left, count) * row), block.auxiliary};
    const BlockBytes own = part;
    if (!fits) {
      // The domain requires more rows: repeat the last one.
      padded_.assign(part.rows.begin(), part.rows.end());
      while (padded_.size() < count * row) {
        padded_.insert(padded_.end(), part.rows.end() - static_cast<std::ptrdiff_t>(row), part.rows.end());
      }
      part.rows = padded_;
    }
    const TensorReply reply = ask_for_what_it_returns(shape, count, part, part_);
    look_into(shape, std::min(left, count), own, reply);
    if (reply.end != CallEnd::done) return false;
    if (count == rows) {
      results.swap(part_);
      return true;
    }
    results.resize(part_.size());
    for (std::size_t k = 0; k < part_.size(); ++k) {
      const auto kept = static_cast<std::ptrdiff_t>(part_[k].size() / count * std::min(left, count));
      results[k].insert(results[k].end(), part_[k].begin(), part_[k].begin() + kept);
    }
    done += std::min(left, count);
  }
  return true;
}

}  // namespace softcheck::proptests
