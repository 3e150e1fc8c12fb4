#include "models/report/head_observer.hpp"

#include <algorithm>
#include <cmath>

#include "models/forward/network.hpp"
#include "numerics/matrices/ball_matrix.hpp"
#include "theory/attention_variants.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::models {

using Eigen::Index;
using numerics::BallMatrix;
using numerics::Certificate;
using numerics::Enclosure;

namespace {

// A row's logits, all visible, as far as doubles have them; radius bounds what is missing of each.
struct Row {
  std::vector<double> logits;
  double radius = 0;
};

Row row_of(const BallMatrix& scores, Index query, const HeadDescription& head, const Enclosure& scale) {
  const Index keys = scores.cols();
  const auto window = static_cast<Index>(std::min<std::uint64_t>(head.window.value_or(1u << 30), 1u << 30));
  // Without a causal mask a window has as many items to both sides.
  const Index before = head.causal ? window - 1 : window / 2, behind = head.causal ? 0 : window / 2;
  const Index end = std::min(query + behind + 1, keys);
  Row row;
  const double s = scale.midpoint();
  double reach = 0;
  for (Index j = std::max<Index>(query - before, 0); j < end; ++j) {
    const double logit = s * scores.middle(query, j);
    reach = std::max(reach, std::fabs(logit));
    row.radius = std::max(row.radius, scores.radius(query, j));
    // tanh has a slope of at most 1: the radius stays valid.
    row.logits.push_back(head.softcap ? *head.softcap * std::tanh(logit / *head.softcap) : logit);
  }
  // What the scale as a double, its product and a cap took: a few roundings of the largest.
  row.radius = (Enclosure(row.radius) * scale + Enclosure(reach) * Enclosure(0x1p-48)).upper_double();
  return row;
}

struct Softmax {
  double entropy = 0, largest = 0;
};

// highest   of the items: a sink among the logits may be larger
Softmax softmax_of(const std::vector<double>& logits, double highest) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0, moment = 0;
  for (const double x : logits) {
    const double weight = std::exp(x - top);
    sum += weight;
    moment += weight * (x - top);
  }
  return {std::log(sum) - moment / sum, std::exp(highest - top) / sum};
}

}  // namespace

HeadObserver::HeadObserver(const HeadCertificate& certificate) : certificate_(certificate) {
  result_.least_entropy = INFINITY;
}

void HeadObserver::add(const BallMatrix& queries, const BallMatrix& keys) {
  const BallMatrix scores = inner_products(queries, keys);
  for (Index i = 0; i < scores.rows(); ++i) {
    Row row = row_of(scores, i, certificate_.head, certificate_.head.scale);
    if (row.logits.size() < 2) continue;  // one item has no spread and the coefficient 1, whatever it is
    const auto [low, high] = std::ranges::minmax_element(row.logits);
    const Enclosure spread = Enclosure(*high) - Enclosure(*low), off(row.radius);
    const Enclosure size = maximum(abs(Enclosure(*high)), abs(Enclosure(*low)));
    result_.logit = {std::max(result_.logit.lower, (size - off).lower_double()),
                     std::max(result_.logit.upper, (size + off).upper_double())};
    spreads_.push_back(spread.midpoint());
    // A sink is one more item, whose coefficient is left out: entropy and Lemma 2.1 are of all n + 1.
    const double highest = *high;
    if (certificate_.sink) row.logits.push_back(*certificate_.sink);
    const Softmax softmax = softmax_of(row.logits, highest);
    result_.least_entropy = std::min(result_.least_entropy, softmax.entropy);
    result_.largest_coefficient = std::max(result_.largest_coefficient, softmax.largest);
    const Enclosure twice = Enclosure(2) * off;
    result_.spread.upper = std::max(result_.spread.upper, (spread + twice).upper_double());
    const double certain = (spread - twice).lower_double();
    if (widest_.empty() || certain > result_.spread.lower) widest_ = std::move(row.logits);
    result_.spread.lower = std::max(result_.spread.lower, certain);
  }
}

void HeadObserver::finish(std::size_t place, const std::string& file, Observation& observation) {
  result_.place = place;
  result_.rows = spreads_.size();
  if (result_.rows == 0) return;
  std::ranges::nth_element(spreads_, spreads_.begin() + static_cast<std::ptrdiff_t>(spreads_.size() / 2));
  result_.median_spread = spreads_[spreads_.size() / 2];
  const std::string witness =
      file + ": head " + std::to_string(certificate_.head.layer) + "." + std::to_string(certificate_.head.head);
  std::vector<Certificate>& certificates = observation.certificates;
  const auto within = [&](const char* claim, const Supremum& observed, double bound) {
    certificates.push_back(numerics::certify_less_equal(claim, witness, [&] {
      return numerics::Sides{Enclosure::between(observed.lower, observed.upper), Enclosure(bound)};
    }));
  };
  within("model.observed.spread", result_.spread, certificate_.spread.upper);
  within("model.observed.logit", result_.logit, certificate_.logit.upper);
  for (Certificate& certificate : theory::certify_lemma_2_1(widest_, 1)) {
    certificate.claim = "model.observed.coefficients";
    certificate.witness = witness + ", " + certificate.witness;
    certificates.push_back(std::move(certificate));
  }
  observation.heads.push_back(result_);
}

Observation observe_tokens(const ForwardPass& pass, const std::vector<HeadCertificate>& certificates,
                           const TokenObservation& job) {
  std::vector<HeadObserver> observers(certificates.begin(), certificates.end());
  std::int64_t last = -1;
  for (const HeadCertificate& certificate : certificates) {
    last = std::max<std::int64_t>(last, certificate.head.layer);
  }
  pass.run(last, [&](const LayerAttention& layer) {
    if (job.progress) job.progress(layer.layer);
    in_parallel(certificates.size(), job.threads, [&](std::size_t place) {
      const HeadDescription& head = certificates[place].head;
      if (head.layer != layer.layer) return;
      // A head's rows of all inputs, then the columns of each.
      const Index width = head.query.outputs.count;
      for (const TokenRange& input : pass.inputs()) {
        observers[place].add(
            BallMatrix::exactly(layer.query.block(head.head * width, input.first, width, input.count)),
            BallMatrix::exactly(layer.key.block(head.key_head * width, input.first, width, input.count)));
      }
    });
    return !job.stop || !job.stop();
  });
  Observation result;
  for (std::size_t place = 0; place < certificates.size(); ++place) observers[place].finish(place, job.file, result);
  return result;
}

}  // namespace softcheck::models
