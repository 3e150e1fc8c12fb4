// The ladder of spreads, from what is observed to Proposition 3.1's product, and wrong rungs.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "certificates_oracle.hpp"
#include "experiments/certificates/spread_ladder.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {
namespace {

using numerics::Certificate;
using numerics::Enclosure;
using numerics::Verdict;

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

}  // namespace
}  // namespace softcheck::experiments
