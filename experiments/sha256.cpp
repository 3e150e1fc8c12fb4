#include "experiments/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace softcheck::experiments {
namespace {

// The first 32 fraction bits of the roots of the first primes: cube roots are the rounds' constants, square roots the
// initial state. Exact: a root below 8 leaves 50 of a double's 53 bits for the fraction.
template <std::size_t count, class Root>
std::array<std::uint32_t, count> prime_roots(Root root) {
  std::array<std::uint32_t, count> result{};
  std::size_t found = 0;
  for (int candidate = 2; found < count; ++candidate) {
    bool prime = true;
    for (int d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
    if (!prime) continue;
    const double value = root(static_cast<double>(candidate));
    result[found++] = static_cast<std::uint32_t>((value - std::floor(value)) * 0x1p32);
  }
  return result;
}

using State = std::array<std::uint32_t, 8>;

void add_block(State& state, std::string_view block) {
  static const auto constants = prime_roots<64>([](double x) { return std::cbrt(x); });
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const std::uint32_t u = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
  }
  const State step{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += step[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  State state = prime_roots<8>([](double x) { return std::sqrt(x); });
  for (std::size_t i = 0; i < padded.size(); i += 64) add_block(state, std::string_view(padded).substr(i, 64));
  std::string text;
  for (const std::uint32_t word : state) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw std::runtime_error(path.string() + ": need a file that can be read");
  return sha256(bytes);
}

}  // namespace softcheck::experiments
