#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "models/bounds/certify_checkpoint.hpp"
#include "models/bounds/input_forms.hpp"
#include "models/bounds/plane_weights.hpp"
#include "models/bounds/reached_inputs.hpp"

namespace softcheck::models {
namespace {

constexpr unsigned working_bits = 113;
constexpr std::int64_t sampled_tokens = 512;
constexpr std::int64_t sampled_places = 8;
constexpr std::size_t tried_queries = 24;
constexpr Index tried_lags = 64;
// Numbers of a group's maps at a time: 16 MiB for each of a few copies.
constexpr std::int64_t group_numbers = std::int64_t{1} << 21;

// One head: its maps, the forms that bound it and what they found. A head without rotary positions has a second form
// for its spread, of keys less their mean, which cancels in a difference.
struct EnumeratedHead {
  HeadCertificate* certificate = nullptr;
  InputMap query, key;
  SampledInputs sample;
  struct Form {
    DualPair pair;
    VectorXd centre;
    LargestImage of_query, of_key;
  };
  std::vector<Form> forms;  // of the logit, then of the spread
};

std::vector<TokenInput> spread_inputs(const TokenTable& table) {
  const std::int64_t tokens = std::min(sampled_tokens, table.tokens());
  const std::int64_t all = table.added().vectors.cols(), places = std::min(sampled_places, all);
  std::vector<TokenInput> inputs;
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t place = 0; place < places; ++place) {
      inputs.push_back({i * table.tokens() / tokens, places == 1 ? 0 : place * (all - 1) / (places - 1)});
    }
  }
  return inputs;
}

// Normed inputs in doubles: (d, inputs).
MatrixXd normed(const TokenTable& table, const std::vector<TokenInput>& inputs) {
  MatrixXd result(table.width(), inputs.size());
  CentredVectors token;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i == 0 || inputs[i].token != inputs[i - 1].token) token = table.block({inputs[i].token, 1});
    const VectorXd x = token.vectors.col(0) + table.added().vectors.col(inputs[i].added);
    const double square = x.squaredNorm() / static_cast<double>(table.width());
    result.col(static_cast<Index>(i)) = x / std::sqrt(square + table.epsilon());
  }
  return result;
}

void add_samples(EnumeratedHead& head, const std::vector<TokenInput>& inputs, const MatrixXd& z) {
  const auto image = [&](const InputMap& map) { return MatrixXd((map.linear * z).colwise() + map.constant); };
  const auto append = [](MatrixXd& to, const MatrixXd& columns) {
    const Index before = to.cols();
    to.conservativeResize(columns.rows(), before + columns.cols());
    to.rightCols(columns.cols()) = columns;
  };
  append(head.sample.queries, image(head.query));
  append(head.sample.keys, image(head.key));
  head.sample.inputs.insert(head.sample.inputs.end(), inputs.begin(), inputs.end());
}

void choose_forms(EnumeratedHead& head) {
  const HeadDescription& description = head.certificate->head;
  const MatrixXd &queries = head.sample.queries, &keys = head.sample.keys;
  const VectorXd none = VectorXd::Zero(keys.rows());
  if (description.rotary) {
    const MatrixXd form = plane_form(queries, keys, planes_of(*description.rotary, keys.rows()));
    head.forms.push_back({dual_pair(form), none, {}, {}});
    return;
  }
  head.forms.push_back({dual_pair(full_form(queries, keys)), none, {}, {}});
  const VectorXd mean = keys.rowwise().mean();
  head.forms.push_back({dual_pair(full_form(queries, keys.colwise() - mean)), mean, {}, {}});
}

// Both factors of every form, each by one sweep over the table. False where the work was ended.
bool sweep(std::vector<EnumeratedHead>& group, const TokenTable& table, unsigned threads,
           const std::function<bool()>& stop) {
  for (const bool of_key : {false, true}) {
    std::vector<InputMap> maps;
    for (const EnumeratedHead& head : group) {
      for (const EnumeratedHead::Form& form : head.forms) {
        const VectorXd none = VectorXd::Zero(form.centre.size());
        maps.push_back(of_key ? mapped(head.key, form.pair.key, form.pair.key_radius, form.centre)
                              : mapped(head.query, form.pair.query, 0, none));
      }
    }
    const std::vector<LargestImage> largest = largest_images(table, maps, threads, stop);
    if (largest.empty()) return false;
    std::size_t next = 0;
    for (EnumeratedHead& head : group) {
      for (EnumeratedHead::Form& form : head.forms) (of_key ? form.of_key : form.of_query) = largest[next++];
    }
  }
  return true;
}

// M z + c, certain.
BallMatrix image_of(const InputMap& map, const BallMatrix& z) {
  BallMatrix image = BallMatrix::exactly(map.linear) * z + BallMatrix::exactly(map.constant);
  const double size = frobenius_upper(z.middle.cwiseAbs() + z.radius);
  const double radius =
      (Enclosure(map.linear_radius) * Enclosure(size) + Enclosure(map.constant_radius)).upper_double();
  image.radius = numerics::raised(image.radius.array() + radius, 2);
  return image;
}

Enclosure product_of(const EnumeratedHead& head, const TokenTable& table, std::size_t query, const PlacedKey& key) {
  const HeadDescription& description = head.certificate->head;
  BallMatrix u = image_of(head.query, table.normalised(head.sample.inputs[query]));
  if (description.rotary) {
    const double factor = (description.causal ? -1.0 : 1.0) * static_cast<double>(key.lag);
    u = turned_back(u, planes_of(*description.rotary, u.rows()), description.rotary->frequencies.back(), factor);
  }
  return inner_product(u, image_of(head.key, table.normalised(head.sample.inputs[key.input])));
}

// The queries of the sample that its first form makes largest.
std::vector<std::size_t> promising(const EnumeratedHead& head) {
  const Eigen::RowVectorXd sizes = (head.forms.back().pair.query * head.sample.queries).colwise().squaredNorm();
  std::vector<std::size_t> order(head.sample.inputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(tried_queries, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](std::size_t a, std::size_t b) { return sizes(static_cast<Index>(a)) > sizes(static_cast<Index>(b)); });
  order.resize(count);
  return order;
}

void conclude(EnumeratedHead& head, const TokenTable& table, std::uint64_t seen) {
  HeadCertificate& certificate = *head.certificate;
  const Enclosure scale = certificate.scale;
  const auto bound = [&](const EnumeratedHead::Form& form) {
    return scale * Enclosure(form.of_query.upper) * Enclosure(form.of_key.upper);
  };
  Supremum logit{0, std::min(bound(head.forms.front()).upper_double(), certificate.logit.upper)};
  Supremum spread{0, std::min(2 * logit.upper, (Enclosure(2) * bound(head.forms.back())).upper_double())};
  spread.upper = std::min(spread.upper, certificate.spread.upper);

  // Inputs where a factor is largest, among the sample's.
  std::vector<TokenInput> extreme;
  for (const EnumeratedHead::Form& form : head.forms) {
    extreme.push_back(form.of_query.at);
    extreme.push_back(form.of_key.at);
  }
  add_samples(head, extreme, normed(table, extreme));
  const Index lags = static_cast<Index>(std::min<std::uint64_t>(static_cast<std::uint64_t>(tried_lags), seen - 1));
  if (seen >= 2) {
    const ReachedInputs reached = reach_inputs(certificate.head, table, head.sample, promising(head), lags);
    if (reached.logit > 0) {
      const Enclosure e = scale * abs(product_of(head, table, reached.logit_query, reached.logit_key));
      logit.lower = std::max(e.lower_double(), 0.0);
    }
    if (seen >= 3 && reached.two_keys) {
      const Enclosure apart =
          product_of(head, table, reached.query, reached.high) - product_of(head, table, reached.query, reached.low);
      spread.lower = std::max((scale * apart).lower_double(), 0.0);
    }
  }
  certificate.enumerated_spread = spread;
  certificate.enumerated_logit = logit;
}

}  // namespace

void enumerate_first_layer(const Checkpoint& checkpoint, const ModelDescription& model,
                           const std::vector<HeadCertificate*>& heads, unsigned threads,
                           const std::function<bool()>& stop) {
  const numerics::PrecisionScope scope(working_bits);
  std::vector<HeadCertificate*> first;
  for (HeadCertificate* head : heads) {
    if (head->head.layer == 0) first.push_back(head);
  }
  if (first.empty()) return;
  const HeadDescription& any = first.front()->head;
  if (!model.inputs || !any.input_norm || any.head_norm || any.softcap) {
    throw UnsupportedTensorFile(checkpoint.path() + ": " + model.architecture +
                                ": --vocabulary knows no finite table of what its first layer reads");
  }
  const TokenTable table(checkpoint, *model.inputs, any.input_norm->kind);
  const std::vector<TokenInput> inputs = spread_inputs(table);
  const MatrixXd z = normed(table, inputs);
  const std::int64_t numbers = model.head_dim * model.hidden;
  const auto together = static_cast<std::size_t>(std::max<std::int64_t>(1, group_numbers / numbers));
  HeadReader reader(checkpoint);
  for (std::size_t begin = 0; begin < first.size(); begin += together) {
    std::vector<EnumeratedHead> group;
    for (std::size_t i = begin; i < std::min(begin + together, first.size()); ++i) {
      if (stop && stop()) return;
      EnumeratedHead& head = group.emplace_back();
      head.certificate = first[i];
      head.query = input_map(reader.query_map(first[i]->head));
      head.key = input_map(reader.key_map(first[i]->head));
      add_samples(head, inputs, z);
      choose_forms(head);
    }
    if (!sweep(group, table, threads, stop)) return;
    for (EnumeratedHead& head : group) {
      const std::uint64_t window = head.certificate->head.window.value_or(std::numeric_limits<std::uint64_t>::max());
      conclude(head, table, std::min(static_cast<std::uint64_t>(model.context), window));
    }
  }
}

}  // namespace softcheck::models
