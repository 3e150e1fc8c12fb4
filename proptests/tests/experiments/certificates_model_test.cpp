// Everything at once: the claims are those of docs/certificates.md, and all hold of a trained network.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <stdexcept>

#include "certificates_oracle.hpp"
#include "experiments/certificates/certify_model.hpp"
#include "kernels/abi/softcheck_kernel.h"

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

}  // namespace
}  // namespace softcheck::experiments
