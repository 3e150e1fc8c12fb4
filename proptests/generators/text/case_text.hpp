#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

/// The words of a one-line case text, separated by blanks. The views point into text.
std::vector<std::string_view> words_of(std::string_view text);

/// A number as hex_float() writes it, or decimal; "-inf" too.
/// throws   std::invalid_argument("case text: need a number, got ...")
double parse_number(std::string_view word);

/// A whole number in [lowest, highest], decimal or 0x...
/// throws   std::invalid_argument
std::uint64_t parse_count(std::string_view word, std::uint64_t lowest = 0, std::uint64_t highest = UINT64_MAX);

/// What follows "key=" in word.
/// throws   std::invalid_argument when word does not begin with it
std::string_view value_of(std::string_view word, std::string_view key);

/// How much a number asks of a reader: 0 for 0, then more with each bit of its significand, its exponent's distance
/// from 0 and a sign; -inf costs as much as 4 bits. Shrinking only ever lowers it.
int complexity(double value);

/// Simpler numbers to try in value's place, the simplest first: 0, +-1, the integer part, fewer bits, half the
/// exponent, one less, the opposite. All cost less, but they may lie outside value's format.
std::vector<double> simpler_numbers(double value);

/// Whether both are written alike: -0 is not 0.
bool same_bits(double a, double b);

/// value rounded to so many significand bits, ties to even; -inf and 0 stay.
double round_to_bits(double value, int bits);

}  // namespace softcheck::proptests
