#include "proptests/generators/networks/normed_head.hpp"

#include <array>
#include <cmath>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/matrices/blocks.hpp"
#include "proptests/generators/matrices/matrix.hpp"
#include "proptests/generators/text/case_text.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::array<MatrixFamily, 6> weight_families{MatrixFamily::gaussian, MatrixFamily::integer,
                                                      MatrixFamily::rank_one, MatrixFamily::graded,
                                                      MatrixFamily::hadamard, MatrixFamily::zero_rows};
constexpr std::array<std::string_view, 2> norm_names{"rms_norm", "layer_norm"};
// Names of a case's matrices, in the order of blocks_of_head().
constexpr std::array<std::string_view, 7> block_names{"gain",       "shift",    "query", "key",
                                                      "query_bias", "key_bias", "inputs"};

Blocks blocks_of_head(const NormedHeadCase& head) {
  constexpr int width = 0, model = 1, item = 2;  // axes
  return {{head.gain, model, -1},    {head.shift, model, -1},      {head.query, width, model},
          {head.key, width, model},  {head.query_bias, width, -1}, {head.key_bias, width, -1},
          {head.inputs, item, model}};
}

NormedHeadCase head_of(const Blocks& blocks, const NormedHeadCase& from) {
  return {from.layer_norm,  from.norm_epsilon, blocks[0].matrix, blocks[1].matrix, blocks[2].matrix,
          blocks[3].matrix, blocks[4].matrix,  blocks[5].matrix, blocks[6].matrix};
}

NormedHeadCase draw_head(const rc::Random& random, int size, const NormedHeadOptions& options) {
  Draw draw(random);
  const MatrixFamily family = weight_families[draw.below(weight_families.size())];
  const std::size_t width = draw_size(draw, options.max_width, size);
  const std::size_t d = draw_size(draw, options.max_dimension, size);
  const std::size_t items = draw_size(draw, options.max_items, size);
  const bool biased = !draw.one_in(4), gained = draw.one_in(2);
  const auto bias = [&](std::size_t rows) {
    return biased ? draw_matrix(draw, MatrixFamily::gaussian, rows, 1) : Matrix{rows, 1, std::vector<double>(rows)};
  };
  NormedHeadCase head;
  head.layer_norm = draw.one_in(2);
  head.norm_epsilon = std::ldexp(1.0, draw.between(-40, 2));
  head.gain = gained ? draw_matrix(draw, MatrixFamily::gaussian, d, 1) : Matrix{d, 1, std::vector<double>(d, 1.0)};
  head.shift = bias(d);
  head.query = draw_matrix(draw, family, width, d);
  head.key = draw_matrix(draw, family, width, d);
  head.query_bias = bias(width);
  head.key_bias = bias(width);
  head.inputs = draw_matrix(draw, draw.one_in(2) ? MatrixFamily::integer : MatrixFamily::gaussian, items, d);
  return head;
}

}  // namespace

theory::NormedHead normed_head(const NormedHeadCase& head) {
  theory::NormedHead result;
  result.norm = head.layer_norm ? theory::Norm::layer_norm : theory::Norm::rms_norm;
  result.norm_epsilon = head.norm_epsilon;
  result.gain = to_eigen(head.gain);
  result.shift = to_eigen(head.shift);
  result.query = to_eigen(head.query);
  result.key = to_eigen(head.key);
  result.query_bias = to_eigen(head.query_bias);
  result.key_bias = to_eigen(head.key_bias);
  result.scale = 1 / std::sqrt(static_cast<double>(head.query.rows));
  return result;
}

rc::Gen<NormedHeadCase> normed_head_cases(const NormedHeadOptions& options) {
  if (options.max_width < 1 || options.max_dimension < 1 || options.max_items < 1) {
    throw std::invalid_argument("normed_head_cases: need sizes >= 1");
  }
  return shrinking_cases([=](const rc::Random& random, int size) { return draw_head(random, size, options); },
                         [=](const NormedHeadCase& from) { return shrink_normed_head_case(from); });
}

rc::Seq<NormedHeadCase> shrink_normed_head_case(const NormedHeadCase& head) {
  std::vector<NormedHeadCase> own(2, head);
  own[0].layer_norm = false;
  own[1].norm_epsilon = 1;
  std::erase(own, head);
  return rc::seq::concat(rc::seq::fromContainer(std::move(own)), shrink_blocks(head, blocks_of_head(head), head_of));
}

std::string to_text(const NormedHeadCase& head) {
  std::string text =
      "normed " + std::string(norm_names[head.layer_norm]) + " eps=" + numerics::hex_float(head.norm_epsilon);
  const Blocks blocks = blocks_of_head(head);
  for (std::size_t i = 0; i < blocks.size(); ++i) text += block_text(block_names[i], blocks[i].matrix);
  return text;
}

void from_text(std::string_view text, NormedHeadCase& head) {
  const std::vector<std::string_view> words = words_of(text);
  constexpr std::size_t first_block = 3;
  const bool begins = words.size() == first_block + block_names.size() && words[0] == "normed" &&
                      (words[1] == norm_names[0] || words[1] == norm_names[1]);
  if (!begins) {
    throw std::invalid_argument(
        "normed head case: need \"normed layer_norm|rms_norm eps=... gain=... shift=... query=... key=... "
        "query_bias=... key_bias=... inputs=...\", got \"" +
        std::string(text) + "\"");
  }
  NormedHeadCase result;
  result.layer_norm = words[1] == norm_names[1];
  result.norm_epsilon = parse_number(value_of(words[2], "eps"));
  Blocks blocks(block_names.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    blocks[i].matrix = parse_block(words[first_block + i], block_names[i]);
  result = head_of(blocks, result);
  const std::size_t d = result.gain.rows, width = result.query.rows;
  const auto is = [](const Matrix& matrix, std::size_t rows, std::size_t cols) {
    return matrix.rows == rows && matrix.cols == cols;
  };
  const bool fits = is(result.gain, d, 1) && is(result.shift, d, 1) && is(result.query, width, d) &&
                    is(result.key, width, d) && is(result.query_bias, width, 1) && is(result.key_bias, width, 1) &&
                    is(result.inputs, result.inputs.rows, d);
  if (!fits) throw std::invalid_argument("normed head case: the shapes do not fit in \"" + std::string(text) + "\"");
  if (!(result.norm_epsilon > 0 && std::isfinite(result.norm_epsilon))) {
    throw std::invalid_argument("normed head case: need a positive eps, got " + std::string(words[2]));
  }
  head = std::move(result);
}

std::size_t size_of(const NormedHeadCase& head) {
  std::size_t size = 0;
  for (const Block& block : blocks_of_head(head)) size += block.matrix.entries.size();
  return size;
}

void showValue(const NormedHeadCase& head, std::ostream& stream) { stream << to_text(head); }

}  // namespace softcheck::proptests
