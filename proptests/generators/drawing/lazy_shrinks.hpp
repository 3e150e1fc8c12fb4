#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <utility>

namespace softcheck::proptests {

/// A lazy sequence of simpler cases: candidate(value, k) -> std::optional<Case> for k in [0, count), nothing if step k
/// does not apply. Computes candidates one at a time, since most are never used.
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

/// Cases as make(random, size) draws them; they shrink to those of shrink(case).
template <class Make, class Shrink>
auto shrinking_cases(Make make, Shrink shrink) {
  return [=](const rc::Random& random, int size) { return rc::shrinkable::shrinkRecur(make(random, size), shrink); };
}

}  // namespace softcheck::proptests
