// What is written for Coq about a network: its numbers bit for bit, cells without a gap, bounds that no enclosure
// contradicts. That Coq accepts the file is a test of the proofs.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "certificates_oracle.hpp"
#include "experiments/certificates/certify_model.hpp"
#include "experiments/certificates/collapse.hpp"
#include "experiments/certificates/network_proof.hpp"
#include "experiments/certificates/spread_ladder.hpp"
#include "experiments/max_retrieval_layout.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {
namespace {

using numerics::Enclosure;

// The words of the literals between a definition's := and its end.
std::vector<std::uint32_t> words_of(const std::string& text, const std::string& definition) {
  std::vector<std::uint32_t> words;
  const std::size_t begin = text.find("Definition " + definition + " ");
  EXPECT_NE(begin, std::string::npos) << definition;
  if (begin == std::string::npos) return words;
  const std::size_t end = text.find("%words.", begin);
  for (std::size_t at = text.find("0x", begin); at < end; at = text.find("0x", at)) {
    for (at += 2; std::isxdigit(static_cast<unsigned char>(text[at])) != 0; at += 8) {
      words.push_back(static_cast<std::uint32_t>(std::stoul(text.substr(at, 8), nullptr, 16)));
    }
  }
  return words;
}

std::vector<std::uint32_t> bits_of(const Floats& parameters, std::size_t begin, std::size_t end) {
  std::vector<std::uint32_t> words;
  for (std::size_t i = begin; i < end; ++i) words.push_back(std::bit_cast<std::uint32_t>(parameters[i]));
  return words;
}

TEST(NetworkProof, EveryNumberOfTheNetworkStandsThereBitForBit) {
  const Floats parameters = trained_network();
  const std::string text = proof_text(parameters, propose_claims(parameters, 1024), "a network");
  for (const LayerPlace& place : layers) {
    const std::string name(place.name);
    EXPECT_EQ(words_of(text, name + "_weights"), bits_of(parameters, place.weights, place.biases())) << name;
    EXPECT_EQ(words_of(text, name + "_bias"), bits_of(parameters, place.biases(), place.end())) << name;
  }
}

// The set of the claim model.error, as the command chooses it by default.
TEST(NetworkProof, TheMistakeIsThatOfTheClaimAndItsTextSaysSo) {
  const numerics::FpEnvironmentGuard environment;
  const Floats parameters = trained_network();
  const ProofClaims claims = propose_claims(parameters, 1024);
  const std::uint64_t longest = ModelOptions{}.kernel_bytes / (std::uint64_t{8} * width);
  const std::optional<CollapseSet> set = find_collapse(NetworkCells(parameters), longest);
  ASSERT_TRUE(set && claims.mistake);
  const ProofMistake& mistake = *claims.mistake;
  EXPECT_EQ(std::ldexp(static_cast<double>(mistake.query), -14), set->query);
  EXPECT_EQ(std::ldexp(static_cast<double>(mistake.odd), -14), set->odd.priority);
  EXPECT_EQ(std::ldexp(static_cast<double>(mistake.other), -14), set->other.priority);
  EXPECT_EQ(mistake.odd_class, set->odd.class_index);
  EXPECT_EQ(mistake.other_class, set->other.class_index);
  EXPECT_EQ(mistake.wrong_from, set->wrong_from);
  EXPECT_GE(mistake.cells, 1);
  const std::string text = proof_text(parameters, claims, "a network");
  const auto says = [&](const std::string& what) { return text.find(what) != std::string::npos; };
  EXPECT_TRUE(says("wrong_from := " + std::to_string(mistake.wrong_from) + "; alpha_cells := "));
  EXPECT_TRUE(says("Theorem wrong_on_many n : (" + std::to_string(mistake.wrong_from) + " <= Z.of_nat n)%Z -> "));
  EXPECT_TRUE(
      says("(set_of n) " + std::to_string(mistake.other_class) + ".\nProof. exact (mistake_check.wrong_on_many"));
  EXPECT_TRUE(says("(set_of 2) " + std::to_string(mistake.odd_class) + "."));
}

TEST(NetworkProof, CellsOfEveryClassCoverThePriorities) {
  const ProofClaims claims = propose_claims(trained_network(), 1024);
  ASSERT_EQ(claims.cells.size(), static_cast<std::size_t>(class_count));
  for (const std::vector<ProofCell>& cells : claims.cells) {
    std::int64_t reached = -1;
    for (const ProofCell& cell : cells) {
      EXPECT_LE(cell.at - cell.half, reached);
      reached = std::max(reached, cell.at + cell.half);
    }
    EXPECT_GE(reached, 1 << 14);
  }
}

TEST(NetworkProof, BoundsAreAboveTheEnclosuresByAFewPercent) {
  const numerics::FpEnvironmentGuard environment;
  const Floats parameters = trained_network();
  const ProofClaims claims = propose_claims(parameters, 1024);
  const SpreadLadder ladder = spread_ladder(NetworkCells(parameters), 1);
  EXPECT_GE(product_bound(claims), ladder.product.lower_double());
  EXPECT_GE(folded_bound(claims), ladder.joint.lower_double());
  // The cells take 3 % at most, their balls' rounding and Gram bounds less than 2 %.
  EXPECT_LE(product_bound(claims), 1.05 * ladder.product.upper_double());
  EXPECT_LE(folded_bound(claims), 1.05 * ladder.joint.upper_double());
}

TEST(NetworkProof, TheLengthAndTheFloorAreThoseOfTheFoldedBound) {
  const numerics::PrecisionScope precision(512);
  const ProofClaims claims = propose_claims(trained_network(), 1024);
  const Enclosure spread(folded_bound(claims));
  const Enclosure log10 = log(Enclosure(1) + Enclosure(9) * exp(spread)) / log(Enclosure(10));
  // log10 of an integer of 93 digits less that of the number just below it is no double.
  EXPECT_GE(claims.log10_length, log10.lower_double());
  EXPECT_LE(claims.log10_length, std::nextafter(log10.upper_double(), INFINITY));
  EXPECT_EQ(claims.length.size(), static_cast<std::size_t>(claims.log10_length) + 1);
  const Enclosure ratio = Enclosure(1023) * exp(-spread);
  const Enclosure floor = (Enclosure(1) + spread) * ratio / (Enclosure(1) + ratio);
  EXPECT_LE(entropy_floor(claims), floor.upper_double());
  // 40 bits of it, less 2^-30.
  EXPECT_GE(entropy_floor(claims), floor.lower_double() * (1 - 0x1p-29));
}

}  // namespace
}  // namespace softcheck::experiments
