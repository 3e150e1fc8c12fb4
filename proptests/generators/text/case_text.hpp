#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softcheck::proptests {

/// The words of a one-line case text. The views point into the text.
std::vector<std::string_view> words_of(std::string_view text);

/// Parses a number in the form of hex_float(), or decimal; also "-inf".
/// throws   std::invalid_argument("case text: need a number, got ...")
double parse_number(std::string_view word);

/// Parses an integer in [lowest, highest], decimal or 0x...
/// throws   std::invalid_argument
std::uint64_t parse_count(std::string_view word, std::uint64_t lowest = 0, std::uint64_t highest = UINT64_MAX);

/// The rest of the word after "key=".
/// throws   std::invalid_argument if the word does not begin with it
std::string_view value_of(std::string_view word, std::string_view key);

/// The complexity of a number for a reader: 0 for 0, increasing with each bit of its significand, with the distance of
/// its exponent from 0 and with a sign; -inf costs as much as 4 bits. Shrinking only lowers it.
int complexity(double value);

/// Simpler numbers to try instead, simplest first: 0, +-1, the integer part, fewer bits, half the exponent, one less,
/// the opposite. All have a lower complexity, but may lie outside the value's format.
std::vector<double> simpler_numbers(double value);

/// Compares bits: -0 differs from 0.
bool same_bits(double a, double b);

/// The value rounded to this many significand bits, ties to even; -inf and 0 are unchanged.
double round_to_bits(double value, int bits);

/// The form of a repeated block: open, its entries, close, the count, behind. If `times` is not empty, a single
/// repeated entry is written as entry, times, count.
struct RepeatStyle {
  std::string_view open, close, behind, times;
};

/// Writes entries 0 to size - 1; a block that repeats is written once with its count, and may contain shorter ones.
///
/// periods    lengths of blocks to look for, longest first
/// same       same(i, j): are entries i and j equal?
/// word       word(i): the text of entry i
std::string repeats_text(std::size_t size, std::span<const std::size_t> periods, const RepeatStyle& style,
                         const std::function<bool(std::size_t, std::size_t)>& same,
                         const std::function<std::string(std::size_t)>& word);

/// Parses such a text.
template <class Entry>
class Repeats {
 public:
  /// most     number of entries in all
  explicit Repeats(std::size_t most) : most_(most) {}

  void add(Entry entry, std::uint64_t count = 1) {
    require(count <= most_ - std::min(most_, levels_.back().size()));
    levels_.back().insert(levels_.back().end(), count, entry);
  }
  void open() {
    require(levels_.size() < 8);
    levels_.emplace_back();
  }
  void close(std::uint64_t count) {
    require(levels_.size() > 1 && !levels_.back().empty());
    const std::vector<Entry> block = std::move(levels_.back());
    levels_.pop_back();
    std::vector<Entry>& outer = levels_.back();
    require(count <= (most_ - std::min(most_, outer.size())) / block.size());
    for (; count > 0; --count) outer.insert(outer.end(), block.begin(), block.end());
  }
  std::vector<Entry> take() {
    require(levels_.size() == 1);
    return std::move(levels_.front());
  }

 private:
  void require(bool holds) const {
    if (holds) return;
    throw std::invalid_argument("case text: need blocks that are closed, and at most " + std::to_string(most_) +
                                " entries");
  }

  std::size_t most_;
  std::vector<std::vector<Entry>> levels_{1};
};

}  // namespace softcheck::proptests
