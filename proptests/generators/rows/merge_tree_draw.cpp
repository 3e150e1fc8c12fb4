#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/rows/merge_tree.hpp"

namespace softcheck::proptests {
namespace {

/// Merges random nodes until one is left; with in_order only neighbours.
MergeTree random_tree(Draw& draw, std::size_t leaves, bool in_order) {
  std::vector<std::size_t> open(leaves);
  std::iota(open.begin(), open.end(), std::size_t{0});
  std::vector<MergeTree::Merge> merges;
  while (open.size() > 1) {
    if (!in_order) {
      std::swap(open[draw.below(open.size())], open.front());
      std::swap(open[1 + draw.below(open.size() - 1)], open[1]);
    }
    const std::size_t at = in_order ? draw.below(open.size() - 1) : 0;
    merges.push_back({open[at], open[at + 1]});
    open[at] = leaves + merges.size() - 1;
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  return MergeTree(std::move(merges));
}

/// Cuts at random places, or into equal blocks as kernels do; about one chunk in eight is empty.
std::vector<std::uint64_t> draw_chunks(Draw& draw, std::uint64_t length, std::size_t count) {
  std::vector<std::uint64_t> cuts{0, length};
  const bool equal = draw.one_in(2);
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t even = (length / count + 1) * i;
    cuts.push_back(draw.one_in(8) ? cuts.back() : equal ? std::min(even, length) : draw.below(length + 1));
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<std::uint64_t> chunks;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) chunks.push_back(cuts[i + 1] - cuts[i]);
  return chunks;
}

void draw_tree(Draw& draw, MergeTreeCase& merge_case) {
  const std::size_t leaves = merge_case.chunks.size();
  switch (draw.below(5)) {
    case 0:
      merge_case.shape = "left_comb";
      merge_case.tree = MergeTree::left_comb(leaves);
      break;
    case 1:
      merge_case.shape = "right_comb";
      merge_case.tree = MergeTree::right_comb(leaves);
      break;
    case 2:
      merge_case.shape = "balanced";
      merge_case.tree = MergeTree::balanced(leaves);
      break;
    case 3:
      merge_case.shape = "random";
      merge_case.tree = random_tree(draw, leaves, true);
      break;
    default:
      merge_case.shape = "shuffled";
      merge_case.tree = random_tree(draw, leaves, false);
  }
}

MergeTreeCase draw_case(const rc::Random& random, int size, const rc::Gen<RowCase>& rows, std::size_t max_chunks) {
  rc::Random own = random;
  const rc::Random rest = own.split();
  Draw draw(own);
  MergeTreeCase result;
  result.row = rows(rest, size).value();
  const double share = std::min(size, rc::kNominalSize) / static_cast<double>(rc::kNominalSize);
  const auto most = static_cast<std::uint64_t>(std::exp2(1 + share * std::log2(static_cast<double>(max_chunks) / 2)));
  result.chunks =
      draw_chunks(draw, result.row.row.size(), draw.log_uniform(1, std::clamp<std::uint64_t>(most, 1, max_chunks)));
  draw_tree(draw, result);
  return result;
}

/// Joins leaf i and the next one to one chunk, in leaf i's place.
MergeTreeCase join_chunks(const MergeTreeCase& from, std::size_t i) {
  MergeTreeCase result = from;
  result.tree = from.tree.without(i + 1);
  result.chunks[i] += result.chunks[i + 1];
  result.chunks.erase(result.chunks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  return result;
}

/// The same tree over a shorter row: cuts the last chunks.
MergeTreeCase over_row(const MergeTreeCase& from, RowCase row) {
  MergeTreeCase result = from;
  std::uint64_t left = row.row.size();
  for (std::uint64_t& size : result.chunks) {
    size = std::min(size, left);
    left -= size;
  }
  result.row = std::move(row);
  return result;
}

/// Structural steps; the row's steps come after them.
std::optional<MergeTreeCase> structural_step(const MergeTreeCase& from, std::size_t step) {
  const std::size_t leaves = from.chunks.size();
  if (step == 0) {
    if (leaves == 1) return std::nullopt;
    MergeTreeCase whole = from;
    whole.chunks = {from.row.row.size()};
    whole.tree = MergeTree();
    return whole;
  }
  if (step == 1) {
    MergeTreeCase comb = from;
    comb.tree = MergeTree::left_comb(leaves);
    if (comb.tree == from.tree) return std::nullopt;
    return comb;
  }
  if (step - 2 + 1 >= leaves) return std::nullopt;
  return join_chunks(from, step - 2);
}

}  // namespace

rc::Gen<MergeTreeCase> merge_tree_cases(const MergeTreeOptions& options) {
  if (options.max_chunks < 1) throw std::invalid_argument("merge_tree_cases: need max_chunks >= 1, got 0");
  return shrinking_cases(
      [=, rows = row_cases(options.row)](const rc::Random& random, int size) {
        return draw_case(random, size, rows, options.max_chunks);
      },
      [=](const MergeTreeCase& from) { return shrink_merge_tree_case(from, options); });
}

rc::Seq<MergeTreeCase> shrink_merge_tree_case(const MergeTreeCase& merge_case, const MergeTreeOptions& options) {
  const std::size_t structural = merge_case.chunks.size() + 1;
  rc::Seq<MergeTreeCase> trees = lazy_shrinks(merge_case, structural, structural_step);
  rc::Seq<MergeTreeCase> rows = rc::seq::map(shrink_row_case(merge_case.row, options.row), [merge_case](RowCase&& row) {
    return over_row(merge_case, std::move(row));
  });
  return rc::seq::concat(std::move(trees), std::move(rows));
}

}  // namespace softcheck::proptests
