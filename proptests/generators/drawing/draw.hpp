#pragma once

#include <cstdint>
#include <random>

#include "proptests/engine/rapidcheck_types.hpp"

namespace softcheck::proptests {

/// The random numbers of one case: a number from RapidCheck seeds a standard engine, whose sequence the standard
/// defines. The distributions are our own, because those of the standard libraries differ: a seed gives the same case
/// everywhere.
class Draw {
 public:
  explicit Draw(rc::Random random);
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  /// Uniform in [0, count) up to 2^-64 count; count >= 1.
  std::uint64_t below(std::uint64_t count);
  /// Uniform in [lowest, highest].
  int between(int lowest, int highest);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double unit();
  /// True with probability 1/n.
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// Standard normal (Box and Muller).
  double normal();
  /// An integer in [lowest, highest] with a uniform logarithm; 1 <= lowest <= highest.
  std::uint64_t log_uniform(std::uint64_t lowest, std::uint64_t highest);

 private:
  std::mt19937_64 engine_;
};

}  // namespace softcheck::proptests
