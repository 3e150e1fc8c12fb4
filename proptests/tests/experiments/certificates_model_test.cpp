// Everything at once: the claims are those of docs/certificates.md, and all hold of a trained network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "certificates_oracle.hpp"
#include "experiments/certificates/certify_model.hpp"
#include "experiments/certificates/collapse.hpp"
#include "experiments/certificates/network_proof.hpp"
#include "experiments/certificates/spread_ladder.hpp"
#include "experiments/max_retrieval_layout.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {
namespace {

using numerics::Verdict;

const std::filesystem::path source(SOFTCHECK_SOURCE_DIR);

// Copies b's value: what attention comes to on a set that collapses.
int value_of_the_last(const softcheck_call* call) {
  const DLTensor& v = *call->inputs[2];
  const std::size_t row = width * static_cast<std::size_t>(v.dtype.bits) / 8;
  const auto* values = static_cast<const std::byte*>(v.data);
  std::copy_n(values + row * static_cast<std::size_t>(v.shape[2] - 1), row,
              static_cast<std::byte*>(call->outputs[0]->data));
  return 0;
}

int refuse_all(const softcheck_call*) { return 1; }

// The ids in the table's rows: | `model.spread.exact` | ...
std::set<std::string> documented_claims() {
  std::ifstream file(source / "docs/certificates.md");
  std::set<std::string> claims;
  const std::regex row(R"(^\| `(model\.[a-z0-9_.]+)` \|.*)");
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) claims.insert(match[1]);
  }
  return claims;
}

TEST(CertifiedModel, ItsClaimsAreTheDocumentedOnesAndHold) {
  ModelOptions options;
  options.attention = value_of_the_last;
  std::set<std::string> claims;
  for (const ModelClaim& claim : certify_model(trained_network(), options)) {
    claims.insert(claim.claim);
    EXPECT_FALSE(claim.lines.empty()) << claim.claim;
    ASSERT_FALSE(claim.certificates.empty()) << claim.claim;
    for (const numerics::Certificate& certificate : claim.certificates) {
      EXPECT_EQ(certificate.claim, claim.claim);
      EXPECT_FALSE(certificate.witness.empty()) << claim.claim;
      EXPECT_EQ(certificate.verdict, Verdict::proved) << claim.claim;
    }
  }
  EXPECT_EQ(claims, documented_claims());
}

// Labelled full: CertifiedModel.WithoutAKernelNoneIsClaimedToHaveRun
TEST(CertifiedModel, WithoutAKernelNoneIsClaimedToHaveRun) {
  ModelOptions refusing, without;
  refusing.attention = refuse_all;
  for (const ModelOptions& options : {refusing, without}) {
    for (const ModelClaim& claim : certify_model(trained_network(), options)) {
      EXPECT_FALSE(claim.claim.ends_with(".kernel")) << claim.claim;
    }
  }
  // Nor on sets that do not fit.
  ModelOptions small;
  small.attention = value_of_the_last;
  small.kernel_bytes = 1;
  for (const ModelClaim& claim : certify_model(trained_network(), small)) {
    EXPECT_FALSE(claim.claim.ends_with(".kernel")) << claim.claim;
  }
}

TEST(CertifiedModel, AnUntrainedNetworkIsCertifiedToo) {
  for (const ModelClaim& claim : certify_model(random_network(4, 1))) {
    const bool may_be_vacuous = claim.claim == "model.error";
    const Verdict verdict = numerics::worst(claim.certificates);
    EXPECT_TRUE(verdict == Verdict::proved || (may_be_vacuous && verdict == Verdict::vacuous)) << claim.claim;
  }
}

TEST(CertifiedModel, WhatLeavesTheRangeOfDoubleIsRefused) {
  Floats parameters = random_network(3, 1);
  for (float& value : parameters) value *= 3e38F;
  EXPECT_THROW(certify_model(parameters), std::range_error);
}

TEST(CertifiedModel, LogitsThatAreAllAlikeAreRefused) {
  Floats parameters = random_network(3, 1);
  const auto begin = parameters.begin();
  std::fill(begin + static_cast<std::ptrdiff_t>(place_of(Layer::attention_key).weights),
            begin + static_cast<std::ptrdiff_t>(place_of(Layer::attention_key).biases()), 0.0F);
  EXPECT_THROW(certify_model(parameters), std::range_error);
}

TEST(CertifiedModel, NothingIsShownInAFormatThatOverflows) {
  Floats parameters = trained_network();
  // Values of some 10^7, and as much less behind them: another network of the same classes.
  constexpr float factor = 0x1p20F;
  for (std::size_t i = place_of(Layer::attention_value).weights; i < place_of(Layer::attention_value).end(); ++i)
    parameters[i] *= factor;
  for (std::size_t i = place_of(Layer::attention_output).weights; i < place_of(Layer::attention_output).biases(); ++i) {
    parameters[i] /= factor;
  }
  std::set<std::string> claims;
  for (const ModelClaim& claim : certify_model(parameters)) claims.insert(claim.claim);
  EXPECT_TRUE(claims.contains("model.error"));
  EXPECT_TRUE(claims.contains("model.collapse.bf16"));
  EXPECT_FALSE(claims.contains("model.collapse.f16"));
}

TEST(CertifiedModel, BadOptionsAreNamed) {
  const auto refusal = [](const ModelOptions& options, const Floats& parameters) -> std::string {
    try {
      certify_model(parameters, options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  ModelOptions eps, items;
  eps.eps = 1;
  items.items = 0;
  EXPECT_THAT(refusal(eps, trained_network()), testing::HasSubstr("need eps in (0, 1), got 1"));
  EXPECT_THAT(refusal(items, trained_network()), testing::HasSubstr("need items >= 1"));
  EXPECT_THAT(refusal({}, Floats(7)), testing::HasSubstr("need 118666 parameters, got 7"));
}

using numerics::Certificate;
using numerics::Enclosure;

// The ladder of spreads, from what is observed to Proposition 3.1's product, and wrong rungs.
Verdict verdict_of(const std::vector<Certificate>& certificates, const std::string& claim) {
  for (const Certificate& certificate : certificates) {
    if (certificate.claim == claim) return certificate.verdict;
  }
  ADD_FAILURE() << "no " << claim;
  return Verdict::undecided;
}

TEST(CertifiedLadder, EveryRungIsProved) {
  const numerics::FpEnvironmentGuard environment;
  for (const Floats& parameters : networks()) {
    const std::vector<Certificate> certificates = certify_ladder(spread_ladder(NetworkCells(parameters), 1));
    EXPECT_EQ(certificates.size(), 5U);
    for (const Certificate& certificate : certificates) {
      EXPECT_EQ(certificate.verdict, Verdict::proved) << certificate.claim;
      EXPECT_LE(certificate.slack, 1) << certificate.claim;
    }
  }
}

TEST(CertifiedLadder, WrongRungsAreRejected) {
  const numerics::FpEnvironmentGuard environment;
  const SpreadLadder ladder = spread_ladder(NetworkCells(trained_network()), 1);
  const auto with = [&](const std::function<void(SpreadLadder&)>& change, const std::string& claim) {
    SpreadLadder changed = ladder;
    change(changed);
    return verdict_of(certify_ladder(changed), claim);
  };
  EXPECT_EQ(with([](SpreadLadder& l) { l.observed = l.observed * sqrt(Enclosure(width)); }, "model.spread.observed"),
            Verdict::violated)
      << "the scale forgotten in one of them";
  EXPECT_EQ(with([](SpreadLadder& l) { l.exact.upper *= 1.01; }, "model.spread.exact"), Verdict::violated) << "wide";
  EXPECT_THROW(with([](SpreadLadder& l) { std::swap(l.exact.lower, l.exact.upper); }, "model.spread.exact"),
               std::invalid_argument)
      << "swapped ends are no interval";
  EXPECT_EQ(with([](SpreadLadder& l) { std::swap(l.joint, l.product); }, "model.spread.product"), Verdict::violated);
  EXPECT_EQ(with([](SpreadLadder& l) { l.direct = l.direct / Enclosure(2); }, "model.spread.direct"), Verdict::violated)
      << "items' norm in place of their distance";
}

TEST(CertifiedLadder, RungsThatAreAllButEqualAreTold) {
  const numerics::FpEnvironmentGuard environment;
  // The joint bound exceeds the direct one by a part in 10^6; what both share is known to a part in 10^4.
  const std::filesystem::path readings = std::filesystem::path(SOFTCHECK_SOURCE_DIR) / "experiments/models/readings";
  const NetworkCells network(read_model(readings / "loss-cosine.safetensors").parameters);
  const SpreadLadder ladder = spread_ladder(network, 1);
  EXPECT_TRUE(ladder.joint.overlaps(ladder.direct));
  EXPECT_EQ(verdict_of(certify_ladder(ladder), "model.spread.joint"), Verdict::proved);
}

// K^T Q with the singular values 2, 1, ..., 1; queries along the first direction: the bounds are nearly attained.
Floats network_along_one_direction() {
  RandomWords words(5);
  Floats parameters = initial_parameters(words);
  const auto set = [&](Layer layer, int row, int column, float value) {
    parameters[place_of(layer).weights + static_cast<std::size_t>(row * place_of(layer).inputs + column)] = value;
  };
  for (int i = 0; i < width; ++i) {
    for (int j = 0; j < width; ++j) {
      set(Layer::attention_query, i, j, i == j ? (i == 0 ? 2 : 1) : 0);
      set(Layer::attention_key, i, j, i == j ? 1 : 0);
      set(Layer::query_2, i, j, 0);
    }
  }
  parameters[place_of(Layer::query_2).biases()] = 4;
  parameters[place_of(Layer::attention_query).biases() + 1] = 0.02F;  // across: joint > direct, but barely
  return parameters;
}

TEST(CertifiedLadder, ASingularValueBelowTheTrueOneIsRejected) {
  const numerics::FpEnvironmentGuard environment;
  const NetworkCells network(network_along_one_direction());
  EXPECT_EQ(verdict_of(certify_ladder(spread_ladder(network, 1)), "model.spread.joint"), Verdict::proved);
  // Two steps of power iteration from a vector of ones.
  const SigmaEnclosure power = [](const Eigen::MatrixXd& matrix) {
    Eigen::VectorXd x = Eigen::VectorXd::Ones(matrix.cols());
    for (int i = 0; i < 2; ++i) x = (matrix.transpose() * (matrix * x)).normalized();
    const double sigma = (matrix * x).norm();
    return numerics::SingularValueEnclosure{sigma, sigma};
  };
  EXPECT_EQ(verdict_of(certify_ladder(spread_ladder(network, 1, power)), "model.spread.joint"), Verdict::violated);
}

// What is written for Coq about a network: its numbers bit for bit, cells without a gap, bounds that no enclosure
// contradicts. That Coq accepts the file is a test of the proofs.

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
