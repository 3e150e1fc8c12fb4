#include "proptests/tests/models/described_head.hpp"

#include <algorithm>
#include <cmath>

#include "proptests/tests/models/running_bound.hpp"

namespace softcheck::models {

using Row = std::vector<Float32Bound>;

namespace {

Float32Bound exactly(double value) { return {value, 0}; }

}  // namespace

DescribedHead::DescribedHead(const Checkpoint& checkpoint, const HeadDescription& head, double epsilon,
                             std::size_t list)
    : checkpoint_(checkpoint), head_(head), epsilon_(epsilon), list_(list) {}

std::vector<double> DescribedHead::numbers(const VectorPlace& place) const {
  const TensorBlock block = checkpoint_.read(*checkpoint_.find(place.tensor), {0, 1}, place.entries);
  return {block.values.data(), block.values.data() + block.values.size()};
}

Row DescribedHead::normalised(const std::optional<InputNorm>& described, const ObservedTensor& input,
                              std::int64_t position) const {
  Row row;
  for (std::int64_t i = 0; i < input.shape[1]; ++i) row.push_back(exactly(input.at(position, i)));
  if (!described) return row;
  const InputNorm& norm = *described;
  row =
      norm.kind == NormKind::layer_norm ? layer_normalised(row, epsilon_) : root_mean_square_normalised(row, epsilon_);
  if (!norm.gain.tensor.empty()) {
    const std::vector<double> gain = numbers(norm.gain);
    const double plus = norm.gain_plus_one ? 1 : 0;
    // Gemma's sum 1 + w is rounded too.
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = scaled(row[i], gain[i] + plus);
  }
  if (!norm.offset.tensor.empty()) {
    const std::vector<double> offset = numbers(norm.offset);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] + exactly(offset[i]);
  }
  return row;
}

Row DescribedHead::projected(const Side& side, const Row& input) const {
  const MatrixPlace& place = side.matrix;
  const IndexRange inputs = {0, static_cast<std::int64_t>(input.size())};
  const std::int64_t head_dim = place.outputs.count;
  // All that are normalised together, of which this head's are kept.
  const std::int64_t together = side.norm_width ? side.norm_width : head_dim;
  const std::int64_t first = place.outputs.first - side.head * head_dim;
  const IndexRange outputs = {first, together};
  const StoredTensor& stored = *checkpoint_.find(place.tensor);
  Eigen::MatrixXd weights = place.transposed ? checkpoint_.read(stored, inputs, outputs).values
                                             : checkpoint_.read(stored, outputs, inputs).values;
  if (place.transposed) weights.transposeInPlace();
  std::vector<double> bias;
  if (!side.bias.tensor.empty()) bias = numbers({side.bias.tensor, {first, outputs.count}});
  Row row;
  for (std::int64_t output = 0; output < together; ++output) {
    Row terms;
    for (std::size_t i = 0; i < input.size(); ++i) {
      terms.push_back(input[i] * exactly(weights(output, static_cast<Eigen::Index>(i))));
    }
    if (!bias.empty()) terms.push_back(exactly(bias[static_cast<std::size_t>(output)]));
    row.push_back(sum(terms));
  }
  if (!head_.head_norm) return row;
  row = root_mean_square_normalised(row, epsilon_);
  const Row kept(row.begin() + side.head * head_dim, row.begin() + (side.head + 1) * head_dim);
  const std::vector<double> gain = numbers(side.norm_gain);
  Row result;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    result.push_back(scaled(kept[i], gain[i] + (head_.head_norm->gain_plus_one ? 1 : 0)));
  }
  return result;
}

Row DescribedHead::rotated(Row row, std::int64_t position) const {
  if (!head_.rotary) return row;
  const Rotary& rotary = *head_.rotary;
  const std::size_t planes = static_cast<std::size_t>(rotary.width) / 2;
  const double factor = rotary.factor.midpoint();
  for (std::size_t plane = 0; plane < planes; ++plane) {
    const double frequency = rotary.frequencies.at(list_).at(plane).midpoint();
    const double angle = static_cast<double>(position) * frequency;
    // The peer's frequency: an exponent e in [0, 1) with a rounding, which the power turns into e ln base = |ln theta|
    // roundings; a power and a quotient (4); of a scaled type a ramp from plane numbers of at most width, each rounded,
    // and up to 8 operations with it. Then the product with the position, and cos or sin to 2 roundings.
    const double roundings = std::abs(std::log(frequency)) + 4 + 2 * static_cast<double>(rotary.width) + 8 + 1;
    const double turned = std::abs(angle) * roundings * float32_unit;
    const Float32Bound cosine = scaled(rounded(Float32Bound{std::cos(angle), turned}, 2), factor);
    const Float32Bound sine = scaled(rounded(Float32Bound{std::sin(angle), turned}, 2), factor);
    const bool interleaved = rotary.layout == PlaneLayout::interleaved;
    // Turned keys of their own are a row's last coordinates.
    const std::size_t begin = head_.turned_key ? row.size() - 2 * planes : 0;
    Float32Bound& x = row[begin + (interleaved ? 2 * plane : plane)];
    Float32Bound& y = row[begin + (interleaved ? 2 * plane + 1 : plane + planes)];
    const Float32Bound before = x;
    x = before * cosine - y * sine;
    y = y * cosine + before * sine;
  }
  return row;
}

std::vector<Row> DescribedHead::side_rows(const Side& side, const ObservedTensor& input) const {
  std::vector<Row> rows;
  for (std::int64_t position = 0; position < input.shape[0]; ++position) {
    rows.push_back(rotated(projected(side, normalised(side.norm, input, position)), position));
  }
  return rows;
}

std::vector<Row> DescribedHead::queries(const ObservedTensor& input) const {
  Side side = {head_.input_norm, head_.query, head_.query_bias, {}, 0, 0};
  if (const auto& norm = head_.head_norm) {
    side.norm_gain = norm->query_gain;
    side.norm_width = norm->query_width;
    if (norm->query_width != head_.query.outputs.count) side.head = head_.head;
  }
  return side_rows(side, input);
}

std::vector<Row> DescribedHead::keys(const ObservedTensor& input) const {
  Side side = {head_.key_norm ? head_.key_norm : head_.input_norm, head_.key, head_.key_bias, {}, 0, 0};
  if (const auto& norm = head_.head_norm) {
    side.norm_gain = norm->key_gain;
    side.norm_width = norm->key_width;
    if (norm->key_width != head_.key.outputs.count) side.head = head_.key_head;
  }
  return side_rows(side, input);
}

std::vector<Row> DescribedHead::keys(const ObservedTensor& input, const ObservedTensor& turned_input) const {
  const std::optional<InputNorm> turned_norm = head_.turned_key->norm;
  const Side own = {head_.key_norm, head_.key, {}, {}, 0, 0},
             turned = {turned_norm, head_.turned_key->matrix, {}, {}, 0, 0};
  std::vector<Row> rows;
  for (std::int64_t position = 0; position < input.shape[0]; ++position) {
    Row row = projected(own, normalised(own.norm, input, position));
    for (const Float32Bound& one : projected(turned, normalised(turned_norm, turned_input, position)))
      row.push_back(one);
    rows.push_back(rotated(std::move(row), position));
  }
  return rows;
}

Float32Bound DescribedHead::score(const Row& query, const Row& key) const {
  Row terms;
  for (std::size_t i = 0; i < query.size(); ++i) terms.push_back(query[i] * key[i]);
  const Float32Bound logit = scaled(sum(terms), head_.scale.midpoint());
  if (!head_.softcap) return logit;
  // tanh has slope at most 1 and is good to 4 roundings; before and behind it stand a quotient and a product.
  const double cap = *head_.softcap;
  const Float32Bound inner = rounded(Float32Bound{logit.value / cap, logit.error / cap});
  return scaled(rounded(Float32Bound{std::tanh(inner.value), inner.error}, 4), cap);
}

// T5's buckets: half of a direction's are a distance each, the others grow with its logarithm up to the last.
double DescribedHead::distance_bias(std::int64_t query, std::int64_t key, double farthest) const {
  if (!head_.distance_bias) return 0;
  const StoredTensor& table = *checkpoint_.find(head_.distance_bias->table);
  const std::int64_t direction = head_.causal ? table.rows() : table.rows() / 2, half = direction / 2;
  const std::int64_t distance = std::abs(query - key);
  std::int64_t bucket = distance;
  if (distance >= half) {
    const double share = std::log(static_cast<double>(distance) / static_cast<double>(half)) /
                         std::log(farthest / static_cast<double>(half));
    // transformers takes the logarithm in f32: no distance of the tests lies within its rounding of a bucket's end.
    const double place = share * static_cast<double>(direction - half);
    bucket = std::min(half + static_cast<std::int64_t>(place), direction - 1);
  }
  if (key > query && !head_.causal) bucket += direction;
  return checkpoint_.read(table, {bucket, 1}, {head_.distance_bias->head, 1}).values(0, 0);
}

bool DescribedHead::attends(std::int64_t query, std::int64_t key) const {
  if (head_.causal && key > query) return false;
  if (!head_.window) return true;
  const auto window = static_cast<std::int64_t>(*head_.window);
  return head_.causal ? query - key < window : 2 * std::abs(query - key) < window;
}

double DescribedHead::sink() const { return numbers(head_.sink).at(0); }

}  // namespace softcheck::models
