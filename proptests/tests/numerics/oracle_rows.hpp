#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace softcheck::numerics {

/// Rows on which oracles are compared: every shape that bends a formula, at sizes from 1 on.
struct OracleRow {
  std::string name;
  std::vector<double> logits;
};

inline std::vector<OracleRow> oracle_rows(std::size_t n) {
  std::mt19937_64 engine(20241001 + n);
  std::normal_distribution<double> normal;
  const auto made = [n](auto entry) {
    std::vector<double> row(n);
    for (std::size_t i = 0; i < n; ++i) row[i] = entry(i);
    return row;
  };
  const auto draw = [&](std::size_t) { return normal(engine); };
  std::vector<OracleRow> rows{
      {"normal", made(draw)},
      {"float", made([&](std::size_t i) { return static_cast<double>(static_cast<float>(3 * draw(i))); })},
      {"all equal", made([](std::size_t) { return -1.75; })},
      {"ramp up", made([](std::size_t i) { return 0.37 * static_cast<double>(i); })},
      {"ramp down", made([](std::size_t i) { return -0.01 * static_cast<double>(i); })},
      {"plateaus", made([](std::size_t i) { return static_cast<double>(i / 5 % 3); })},
      {"one-hot", made([](std::size_t i) { return i == 0 ? 60.0 : 0.0; })},
      {"late peak", made([n](std::size_t i) { return i + 1 == n ? 20.0 : -3.0; })},
      {"wide", made([&](std::size_t i) { return 300 * draw(i); })},
      {"widest float", made([](std::size_t i) { return i % 2 ? -0x1.fffffep127 : 0x1.fffffep127; })},
      {"near equal", made([](std::size_t i) { return 1 + static_cast<double>(i) * 0x1p-52; })},
      {"shifted up", made([&](std::size_t i) { return 65536 + draw(i); })},
      {"shifted down", made([&](std::size_t i) { return -65536 + draw(i); })},
      {"subnormal", made([](std::size_t i) { return static_cast<double>(i) * 0x1p-1074; })},
      {"masked", made([&](std::size_t i) { return i % 3 == 1 ? -HUGE_VAL : draw(i); })},
      {"masked first", made([&](std::size_t i) { return i + 1 < n ? -HUGE_VAL : draw(i); })},
  };
  return rows;
}

}  // namespace softcheck::numerics
