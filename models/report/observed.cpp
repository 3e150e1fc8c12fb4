#include "models/report/observed.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <string>

#include "models/read/file_source.hpp"
#include "models/read/tensor_reader.hpp"
#include "numerics/ball_matrix.hpp"
#include "theory/attention_variants.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::models {

using Eigen::Index;
using Eigen::MatrixXd;
using numerics::BallMatrix;
using numerics::Certificate;
using numerics::Enclosure;

namespace {

struct Recorded {
  SafetensorsEntry query, key;
  std::int64_t layer = 0;
};

class Activations {
 public:
  explicit Activations(const std::filesystem::path& path)
      : name_(path.string()), source_(open_file_source(path)), header_(read_safetensors_header(source_, name_)) {}

  const std::string& name() const { return name_; }

  // Pairs of a query and a key tensor, by what stands before ".query" and ".key".
  std::vector<Recorded> pairs() const {
    static const std::regex pattern(R"((.*\.)?layers\.(\d{1,6})\.(query|key))");
    std::map<std::string, Recorded> by_stem;
    for (const SafetensorsEntry& entry : header_.tensors) {
      std::smatch match;
      if (!std::regex_match(entry.name, match, pattern)) continue;
      Recorded& recorded = by_stem[entry.name.substr(0, entry.name.rfind('.'))];
      recorded.layer = std::stoll(match[2]);
      (match[3] == "query" ? recorded.query : recorded.key) = entry;
    }
    if (by_stem.empty()) {
      throw TensorFileError(name_ + ": need tensors 'layers.0.query' and 'layers.0.key', got none of such a name");
    }
    std::vector<Recorded> result;
    for (const auto& [stem, recorded] : by_stem) {
      if (recorded.query.name.empty() || recorded.key.name.empty()) {
        throw TensorFileError(name_ + ": need both '" + stem + ".query' and '" + stem + ".key', got one of them");
      }
      result.push_back(recorded);
    }
    return result;
  }

  // One head's vectors as columns (head_dim, n).
  BallMatrix head(const SafetensorsEntry& entry, std::int64_t head, std::int64_t heads, std::int64_t head_dim) const {
    if (entry.shape.size() != 3 || entry.shape[1] != heads || entry.shape[2] != head_dim) {
      std::string got;
      for (const std::int64_t size : entry.shape) got += (got.empty() ? "" : ", ") + std::to_string(size);
      throw TensorFileError(name_ + ": tensor '" + entry.name + "': need shape (n, " + std::to_string(heads) + ", " +
                            std::to_string(head_dim) + "), got (" + got + ")");
    }
    const StoredTensor tensor{entry.name, entry.dtype, {entry.shape[0], heads * head_dim}};
    const TensorBlock block = read_tensor_block({source_, name_, header_.data_begin + entry.begin}, tensor,
                                                {0, entry.shape[0]}, {head * head_dim, head_dim});
    return BallMatrix::exactly(block.values.transpose());
  }

 private:
  std::string name_;
  ByteSource source_;
  SafetensorsHeader header_;
};

// A row's logits, all visible, as far as doubles have them; radius bounds what is missing of each.
struct Row {
  std::vector<double> logits;
  double radius = 0;
};

Row row_of(const BallMatrix& scores, Index query, const HeadDescription& head, const Enclosure& scale) {
  const Index keys = scores.cols();
  const Index end = head.causal ? std::min(query + 1, keys) : keys;
  const auto window = static_cast<Index>(std::min<std::uint64_t>(head.window.value_or(1u << 30), 1u << 30));
  Row row;
  const double s = scale.midpoint();
  double reach = 0;
  for (Index j = std::max<Index>(head.causal ? end - window : 0, 0); j < end; ++j) {
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

Softmax softmax_of(const std::vector<double>& logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0, moment = 0;
  for (const double x : logits) {
    const double weight = std::exp(x - top);
    sum += weight;
    moment += weight * (x - top);
  }
  return {std::log(sum) - moment / sum, 1 / sum};
}

class HeadObserver {
 public:
  HeadObserver(std::size_t place, const HeadCertificate& certificate) : certificate_(certificate) {
    result_.place = place;
    result_.least_entropy = INFINITY;
  }

  void add(const BallMatrix& queries, const BallMatrix& keys) {
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
      const Softmax softmax = softmax_of(row.logits);
      result_.least_entropy = std::min(result_.least_entropy, softmax.entropy);
      result_.largest_coefficient = std::max(result_.largest_coefficient, softmax.largest);
      const Enclosure twice = Enclosure(2) * off;
      result_.spread.upper = std::max(result_.spread.upper, (spread + twice).upper_double());
      const double certain = (spread - twice).lower_double();
      if (widest_.empty() || certain > result_.spread.lower) widest_ = std::move(row.logits);
      result_.spread.lower = std::max(result_.spread.lower, certain);
    }
  }

  ObservedHead finish(const std::string& file, std::vector<Certificate>& certificates) {
    result_.rows = spreads_.size();
    if (result_.rows == 0) return result_;
    std::ranges::nth_element(spreads_, spreads_.begin() + static_cast<std::ptrdiff_t>(spreads_.size() / 2));
    result_.median_spread = spreads_[spreads_.size() / 2];
    const std::string witness =
        file + ": head " + std::to_string(certificate_.head.layer) + "." + std::to_string(certificate_.head.head);
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
    return result_;
  }

 private:
  const HeadCertificate& certificate_;
  ObservedHead result_;
  std::vector<double> spreads_, widest_;
};

}  // namespace

Observation observe(const std::filesystem::path& activations, const ModelDescription& model,
                    const std::vector<HeadCertificate>& certificates) {
  const Activations file(activations);
  const std::vector<Recorded> pairs = file.pairs();
  for (const Recorded& recorded : pairs) {
    if (recorded.layer >= model.layers) {
      throw TensorFileError(file.name() + ": tensor '" + recorded.query.name + "': need a layer of 0-" +
                            std::to_string(model.layers - 1));
    }
  }
  Observation result;
  for (std::size_t place = 0; place < certificates.size(); ++place) {
    const HeadDescription& head = certificates[place].head;
    HeadObserver observer(place, certificates[place]);
    for (const Recorded& recorded : pairs) {
      if (recorded.layer != head.layer) continue;
      observer.add(file.head(recorded.query, head.head, model.heads, model.head_dim),
                   file.head(recorded.key, head.key_head, model.key_heads, model.head_dim));
    }
    ObservedHead observed = observer.finish(file.name(), result.certificates);
    if (observed.rows != 0) result.heads.push_back(observed);
  }
  return result;
}

}  // namespace softcheck::models
