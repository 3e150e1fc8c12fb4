#include "judge/call/sequence_layout.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "judge/call/attention_call.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {

using numerics::Format;

namespace {

InputTensor integers(std::initializer_list<std::size_t> shape, std::vector<double> values) {
  InputTensor tensor{compact_place(std::nullopt, shape), std::move(values)};
  tensor.place.integer_bits = 32;
  return tensor;
}

std::vector<double> as_numbers(const std::vector<std::size_t>& lengths) { return {lengths.begin(), lengths.end()}; }

}  // namespace

SequenceLayout::SequenceLayout(const AttentionCase& attention) : case_(attention) {
  const AttentionSequences& of = attention.sequences;
  for (const std::size_t count : of.queries) query_starts_.push_back(query_starts_.back() + static_cast<double>(count));
  for (const std::size_t count : of.keys) key_starts_.push_back(key_starts_.back() + static_cast<double>(count));
  place_queries();
  if (of.page_size > 0) {
    place_pages();
  } else {
    place_keys();
  }
}

void SequenceLayout::place_queries() {
  const AttentionShape& s = case_.shape;
  if (!case_.sequences.packed) {
    queries_.resize(s.batch * s.heads() * s.queries);
    for (std::size_t row = 0; row < queries_.size(); ++row) queries_[row] = row;
    return;
  }
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t i = 0; i < case_.queries_of(b); ++i) {
      for (std::size_t h = 0; h < s.heads(); ++h) queries_.emplace_back((b * s.heads() + h) * s.queries + i);
    }
  }
}

void SequenceLayout::place_keys() {
  const AttentionShape& s = case_.shape;
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t j = 0; j < case_.keys_of(b); ++j) {
      for (std::size_t kv = 0; kv < s.kv_heads; ++kv) keys_.emplace_back((b * s.kv_heads + kv) * s.keys + j);
    }
  }
}

// Each sequence's row of the page table usually ends in one or more spare entries, which point to one of two pages that
// no sequence owns: a kernel that reads one page too many then reads no number. In every fourth order the longest
// sequence's row is full, so that an inaccessible page follows the table.
void SequenceLayout::place_pages() {
  const AttentionShape& s = case_.shape;
  const std::size_t size = case_.sequences.page_size;
  const auto pages_of = [&](std::size_t b) { return (case_.keys_of(b) + size - 1) / size; };
  const std::size_t spare = case_.sequences.order % 4 == 3 ? 0 : 1;
  std::size_t owned = 0;
  columns_ = 1;
  for (std::size_t b = 0; b < s.batch; ++b) {
    owned += pages_of(b);
    columns_ = std::max(columns_, pages_of(b) + spare);
  }
  pages_ = owned + 2;
  std::vector<std::size_t> numbers(pages_);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  Draw draw(case_.sequences.order);
  for (std::size_t k = pages_; case_.sequences.order != 0 && k > 1; --k)
    std::swap(numbers[k - 1], numbers[draw.below(k)]);
  keys_.resize(pages_ * size * s.kv_heads);
  std::size_t next = 0;
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t column = 0; column < columns_; ++column) {
      const bool own = column < pages_of(b);
      const std::size_t page = numbers[own ? next++ : owned + column % 2];
      table_.push_back(static_cast<double>(page));
      for (std::size_t slot = 0; own && slot < size && column * size + slot < case_.keys_of(b); ++slot) {
        for (std::size_t kv = 0; kv < s.kv_heads; ++kv) {
          keys_[(page * size + slot) * s.kv_heads + kv] = (b * s.kv_heads + kv) * s.keys + column * size + slot;
        }
      }
    }
  }
}

std::vector<double> SequenceLayout::gathered(const std::vector<double>& numbers, const Rows& rows,
                                             std::size_t size) const {
  const double nobodys = case_.sequences.finite ? numerics::properties(case_.cache_format()).largest : numerics::nan;
  std::vector<double> result;
  result.reserve(rows.size() * size);
  for (const std::optional<std::size_t>& row : rows) {
    for (std::size_t t = 0; t < size; ++t) result.push_back(row ? numbers[*row * size + t] : nobodys);
  }
  return result;
}

TensorPlace SequenceLayout::place_of_queries(std::size_t size) const {
  const AttentionShape& s = case_.shape;
  return case_.sequences.packed ? compact_place(case_.format, {total_queries(), s.heads(), size})
                                : compact_place(case_.format, {s.batch, s.heads(), s.queries, size});
}

TensorPlace SequenceLayout::place_of_keys(std::size_t size) const {
  const std::size_t heads = case_.shape.kv_heads, page = case_.sequences.page_size;
  return page > 0 ? compact_place(case_.cache_format(), {pages_, page, heads, size})
                  : compact_place(case_.cache_format(), {total_keys(), heads, size});
}

TensorPlace SequenceLayout::place_of_scalars(Format format) const {
  const AttentionShape& s = case_.shape;
  return case_.sequences.packed ? compact_place(format, {s.heads(), total_queries()})
                                : compact_place(format, {s.batch, s.heads(), s.queries});
}

InputTensor SequenceLayout::of_queries(const std::vector<double>& numbers, std::size_t size) const {
  return {place_of_queries(size), gathered(numbers, queries_, size)};
}

InputTensor SequenceLayout::of_keys(const std::vector<double>& numbers, std::size_t size) const {
  return {place_of_keys(size), gathered(numbers, keys_, size)};
}

InputTensor SequenceLayout::of_scalars(const std::vector<double>& numbers, Format format) const {
  InputTensor tensor{place_of_scalars(format), std::vector<double>(queries_.size())};
  for (std::size_t row = 0; row < queries_.size(); ++row) tensor.values[scalar_of(row)] = numbers[*queries_[row]];
  return tensor;
}

void SequenceLayout::add_sequences(TensorCall& call) const {
  const AttentionSequences& of = case_.sequences;
  const std::size_t batch = case_.shape.batch;
  const auto add = [&](Role role, InputTensor tensor) {
    call.inputs.push_back(std::move(tensor));
    call.roles.push_back(role);
  };
  if (of.packed) add(Role::cu_q, integers({batch + 1}, query_starts_));
  if (of.page_size == 0) add(Role::cu_k, integers({batch + 1}, key_starts_));
  if (of.page_size == 0) return;
  add(Role::block_table, integers({batch, columns_}, table_));
  add(Role::lengths, integers({batch}, as_numbers(of.keys)));
  call.attributes.page_size = static_cast<std::int64_t>(of.page_size);
}

TensorCall SequenceLayout::call(Format scalars) const {
  const AttentionCase& a = case_;
  TensorCall call;
  call.op = SOFTCHECK_OP_ATTENTION;
  call.scale = a.scale;
  call.causal = a.causal;
  call.inputs = {of_queries(a.queries, a.shape.dim), of_keys(a.keys, a.shape.dim),
                 of_keys(a.values, a.shape.value_dim)};
  call.roles = {Role::query, Role::key, Role::value};
  add_sequences(call);
  add_attributes(a, call);
  call.outputs.push_back({place_of_queries(a.shape.value_dim), std::nullopt});
  for (int i = 1; i < a.outputs; ++i) call.outputs.push_back({place_of_scalars(scalars), std::nullopt});
  return call;
}

std::vector<double> SequenceLayout::scattered(const std::vector<double>& numbers, const Rows& rows, std::size_t size,
                                              std::size_t dense_rows) {
  std::vector<double> result(dense_rows * size);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t c = 0; c < size && rows[row]; ++c) result[*rows[row] * size + c] = numbers[row * size + c];
  }
  return result;
}

std::vector<double> SequenceLayout::dense_queries(const std::vector<double>& numbers, std::size_t size) const {
  const AttentionShape& s = case_.shape;
  return scattered(numbers, queries_, size, s.batch * s.heads() * s.queries);
}

std::vector<double> SequenceLayout::dense_keys(const std::vector<double>& numbers, std::size_t size) const {
  const AttentionShape& s = case_.shape;
  return scattered(numbers, keys_, size, s.batch * s.kv_heads * s.keys);
}

std::vector<std::vector<double>> SequenceLayout::dense(const std::vector<std::vector<double>>& outputs) const {
  const AttentionShape& s = case_.shape;
  if (!case_.sequences.packed) return outputs;
  std::vector<std::vector<double>> result{dense_queries(outputs[0], s.value_dim)};
  for (std::size_t k = 1; k < outputs.size(); ++k) {
    std::vector<double>& to = result.emplace_back(s.batch * s.heads() * s.queries);
    for (std::size_t row = 0; row < queries_.size(); ++row) to[*queries_[row]] = outputs[k][scalar_of(row)];
  }
  return result;
}

std::size_t SequenceLayout::element_of(std::size_t tensor, std::size_t element) const {
  constexpr std::size_t of_values = 2;  // tensors from this one on have rows of value_dim: v, out and its gradient
  const Rows& rows = tensor == 0 || tensor > of_values ? queries_ : keys_;
  const std::size_t size = tensor >= of_values ? case_.shape.value_dim : case_.shape.dim;
  const auto row = std::ranges::find(rows, std::optional(element / size));
  if (row == rows.end()) throw std::logic_error("SequenceLayout::element_of: need an element that the call holds");
  return static_cast<std::size_t>(row - rows.begin()) * size + element % size;
}

}  // namespace softcheck::proptests
