#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "judge/exhaustive/enumeration.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Queries per call. All 2^16 take seventeen calls, so every sixteenth call, the sampled one, goes through all of them.
constexpr std::uint64_t queries_of_call = 3856;
constexpr std::size_t most_keys = 4096;

std::uint64_t patterns_of(Format format) { return std::uint64_t{1} << properties(format).storage_bits; }

// The common parts of all calls.
struct ScoreCalls {
  Format format = Format::bf16;
  RowShape shape;
  std::uint64_t first = 0, last = 0;  // bit patterns of queries
  bool finite = false;                // leave out queries that are NaN
  double largest = 0;                 // largest product of a query and a key
};

// Queries in the order of their bits, with the keys of each call.
class Scores final : public Enumeration {
 public:
  /// keys   (calls, columns) bit patterns
  Scores(const ScoreCalls& calls, std::vector<std::uint64_t> keys, std::string said)
      : calls_(calls), keys_(std::move(keys)), said_(std::move(said)) {
    for (std::uint64_t bits = 0; bits < patterns_of(calls.format); ++bits) {
      const double query = decode(calls.format, bits);
      // No contract defines the result of an infinite query: replace it by 0.
      const bool left_out = std::isinf(query) || (calls.finite && std::isnan(query));
      queries_.push_back(left_out ? Query{0, 0} : Query{bits, std::fabs(query)});
    }
  }

  std::string name() const override { return said_; }
  std::uint64_t blocks() const override { return keys_.size() / calls_.shape.columns * parts(); }
  RowShape shape(std::uint64_t) const override { return calls_.shape; }
  std::size_t rows(std::uint64_t block) const override {
    return static_cast<std::size_t>(std::min(queries_of_call, calls_.last - first_of(block)));
  }
  std::size_t numbers(std::uint64_t block) const override { return rows(block) + calls_.shape.columns; }
  std::size_t sampled_row(std::uint64_t block) const override { return block * 61 % rows(block); }

  void fill(std::uint64_t block, std::span<std::byte> numbers) const override {
    const std::size_t bytes = static_cast<std::size_t>(properties(calls_.format).storage_bits) / 8;
    std::byte* to = numbers.data();
    const auto put = [&](std::uint64_t pattern) {
      std::memcpy(to, &pattern, bytes);  // little endian, like the ABI's tensors
      to += bytes;
    };
    const std::size_t columns = calls_.shape.columns;
    const auto keys = std::span(keys_).subspan(static_cast<std::size_t>(block / parts()) * columns, columns);
    const double largest_key = largest_of(keys), scale = std::fmax(calls_.shape.scale, 1);
    const std::uint64_t first = first_of(block);
    for (std::uint64_t r = first; r < first + rows(block); ++r) {
      put(queries_[r].magnitude * largest_key * scale > calls_.largest ? 0 : queries_[r].bits);
    }
    for (const std::uint64_t key : keys) put(key);
  }

 private:
  struct Query {
    std::uint64_t bits;
    double magnitude;
  };

  std::uint64_t parts() const { return (calls_.last - calls_.first + queries_of_call - 1) / queries_of_call; }
  std::uint64_t first_of(std::uint64_t block) const { return calls_.first + block % parts() * queries_of_call; }

  double largest_of(std::span<const std::uint64_t> keys) const {
    double largest = 0;
    for (const std::uint64_t key : keys) largest = std::fmax(largest, std::fabs(decode(calls_.format, key)));
    return largest;
  }

  ScoreCalls calls_;
  std::vector<std::uint64_t> keys_;
  std::vector<Query> queries_;  // indexed by their bits
  std::string said_;
};

// A dim of the domain. If the domain requires scale = 1 / sqrt(dim), one that makes it a power of two: with only one
// nonzero number the scores are then exact, as the quick test assumes.
std::optional<std::uint64_t> dimension_of(const Domain& domain) {
  const LengthRange dims = domain.length("dim");
  constexpr std::uint64_t most = 4096;
  if (!domain.usual_scale) {
    const std::uint64_t dim = dims.nearest(1);
    return dim >= 1 && dim <= most ? std::optional(dim) : std::nullopt;
  }
  for (std::uint64_t dim = 1; dim <= most; dim *= 4) {
    if (dims.contains(dim)) return dim;
  }
  return std::nullopt;
}

// The reason why the domain has no such calls; empty if it has.
std::string shape_in(const Domain& domain, RowShape& shape) {
  if (domain.has_sequences()) return "the domain has packed sequences or pages in every call";
  if (domain.all_causal) return "the domain has causal calls alone";
  if (domain.equal_lengths || domain.equal_dims) return "the domain ties queries to keys, or values to dim";
  for (const char* length : {"batch", "heads", "group"}) {
    if (!domain.length(length).contains(1)) return "the domain has no " + std::string(length) + "=1";
  }
  const std::optional<std::uint64_t> dim = dimension_of(domain);
  if (!dim) return "the domain has no dim to 4096 whose scale is a power of two";
  const std::uint64_t keys = domain.length("keys").nearest(usual_score_keys);
  if (keys < 2 || keys > most_keys) return "the domain has no keys between 2 and 4096";
  const std::optional<std::uint64_t> values = domain.length("values").at_least(keys);
  if (!values || *values > most_keys) return "the domain has no values between its keys and 4096";
  shape.columns = static_cast<std::size_t>(keys);
  shape.dim = static_cast<std::size_t>(*dim);
  shape.value_dim = static_cast<std::size_t>(*values);
  shape.scale = domain.usual_scale ? 1 / std::sqrt(static_cast<double>(*dim)) : 1;
  return "";
}

// Finite patterns in order, as many per call as fit with the key of 0; the last call is filled up.
std::vector<std::uint64_t> neighbours_beside_zero(Format format, std::size_t columns, bool zero_first) {
  std::vector<std::uint64_t> finite, keys;
  for (std::uint64_t bits = 0; bits < patterns_of(format); ++bits) {
    if (std::isfinite(decode(format, bits))) finite.push_back(bits);
  }
  while (finite.size() % (columns - 1) != 0) finite.push_back(finite.back());
  for (std::size_t i = 0; i < finite.size(); i += columns - 1) {
    if (zero_first) keys.push_back(0);
    keys.insert(keys.end(), finite.begin() + static_cast<std::ptrdiff_t>(i),
                finite.begin() + static_cast<std::ptrdiff_t>(i + columns - 1));
    if (!zero_first) keys.push_back(0);
  }
  return keys;
}

// One NaN in the middle of keys of 1.
std::vector<std::uint64_t> one_nan_each(Format format, std::size_t columns) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t bits = 0; bits < patterns_of(format); ++bits) {
    if (!std::isnan(decode(format, bits))) continue;
    keys.insert(keys.end(), columns, encode(format, 1));
    keys[keys.size() - columns + columns / 2] = bits;
  }
  return keys;
}

// ", d = 1, scale = 1"
std::string call_text(const RowShape& shape) {
  std::string text = ", d = " + std::to_string(shape.dim);
  if (shape.dim > 1) text += " of which all but one are 0";
  return text + ", scale = " + (shape.scale == 1 ? "1" : hex_float(shape.scale));
}

}  // namespace

std::vector<std::unique_ptr<Enumeration>> score_enumerations(const KernelSubject& subject, const ArgumentRange& range,
                                                             std::vector<std::string>& skipped) {
  std::vector<std::unique_ptr<Enumeration>> all;
  ScoreCalls calls;
  calls.format = subject.contract.input;
  calls.finite = subject.domain.finite;
  if (const std::string reason = shape_in(subject.domain, calls.shape); !reason.empty()) {
    skipped.push_back("scores: " + reason);
    return all;
  }
  const std::uint64_t patterns = patterns_of(calls.format);
  calls.first = std::min(range.first, patterns);
  calls.last = std::min(range.last, patterns);
  if (calls.first == calls.last) return all;
  const FormatProperties &input = properties(calls.format), &accumulator = properties(subject.contract.accumulator);
  calls.largest = accumulator.largest;
  const std::string format(input.name), with = call_text(calls.shape), finite = calls.finite ? "finite " : "";
  std::string limit;
  if (input.largest * input.largest * std::fmax(calls.shape.scale, 1) > calls.largest) {
    limit = " but where a product of its row is beyond " + std::string(accumulator.name);
  }
  const std::string others = std::to_string(calls.shape.columns - 1);
  for (const bool first : {true, false}) {
    all.push_back(std::make_unique<Scores>(calls, neighbours_beside_zero(calls.format, calls.shape.columns, first),
                                           "every " + finite + format + " query with every finite key" + limit + with +
                                               ", " + others + " neighbouring keys " +
                                               (first ? "behind one of 0" : "and one of 0 behind them")));
  }
  if (calls.finite) return all;
  all.push_back(
      std::make_unique<Scores>(calls, one_nan_each(calls.format, calls.shape.columns),
                               "every " + format + " query with every key that is NaN" + with + ", among keys of 1"));
  return all;
}

}  // namespace softcheck::proptests
