#include "judge/trial/effort.hpp"

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace softcheck::proptests {
namespace {

// The longest row of known_shapes.cpp fits.
constexpr std::uint64_t longest_vocabulary = std::uint64_t{5} << 16;

constexpr std::array<Effort, 4> efforts{Effort::quick, Effort::normal, Effort::deep, Effort::exhaustive};

}  // namespace

const char* to_string(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return "quick";
    case Effort::normal:
      return "default";
    case Effort::deep:
      return "deep";
    case Effort::exhaustive:
      return "exhaustive";
  }
  return "?";
}

Effort parse_effort(std::string_view word) {
  for (const Effort effort : efforts) {
    if (word == to_string(effort)) return effort;
  }
  throw std::invalid_argument("effort: need quick, default, deep or exhaustive, got '" + std::string(word) + "'");
}

Effort effort_from_environment(Effort otherwise) {
  const char* word = std::getenv("SOFTCHECK_EFFORT");
  if (word == nullptr) return otherwise;
  try {
    return parse_effort(word);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string("SOFTCHECK_EFFORT: ") + error.what());
  }
}

EffortSize size_of(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return {100, std::uint64_t{1} << 17, 2'048, longest_vocabulary, std::uint64_t{1} << 17, 0};
    case Effort::normal:
      return {400, std::uint64_t{1} << 17, 20'480, 1'000'001, std::uint64_t{1} << 19, 1};
    case Effort::deep:
    case Effort::exhaustive:
      break;
  }
  return {4000, std::uint64_t{1} << 20, 1'000'000, std::uint64_t{1} << 20, std::uint64_t{1} << 22, 4};
}

}  // namespace softcheck::proptests
