#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <random>
#include <utility>

namespace softcheck::proptests {

/// Random numbers of one case: one number drawn from RapidCheck seeds a standard engine, whose sequence the standard
/// fixes. The distributions are our own, since those of the standard library differ between libraries: a seed gives
/// the same case everywhere.
class Draw {
 public:
  explicit Draw(rc::Random random) : engine_(random.next()) {}
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  /// Uniform in [0, count) up to 2^-64 count; count >= 1.
  std::uint64_t below(std::uint64_t count);
  /// Uniform in [lowest, highest].
  int between(int lowest, int highest);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double unit();
  /// True once in n times.
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  /// Standard normal (Box and Muller).
  double normal();
  /// A whole number in [lowest, highest] with a uniform logarithm; 1 <= lowest <= highest.
  std::uint64_t log_uniform(std::uint64_t lowest, std::uint64_t highest);

 private:
  std::mt19937_64 engine_;
};

/// A lazy sequence of simpler cases: candidate(value, k) -> std::optional<Case> for k = 0, 1, ..., nothing where step k
/// does not apply, until count steps are through. Candidates are made one at a time: most are never looked at.
template <class Case, class Candidate>
rc::Seq<Case> lazy_shrinks(Case value, std::size_t count, Candidate candidate) {
  struct Steps {
    Case value;
    std::size_t count;
    Candidate candidate;
    std::size_t step = 0;

    rc::Maybe<Case> operator()() {
      while (step < count) {
        if (auto simpler = candidate(value, step++)) return std::move(*simpler);
      }
      return rc::Nothing;
    }
  };
  return rc::makeSeq<Steps>(Steps{std::move(value), count, std::move(candidate)});
}

}  // namespace softcheck::proptests
