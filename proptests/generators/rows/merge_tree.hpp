#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proptests/engine/rapidcheck_types.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// A binary tree: the order in which leaves' states are merged.
class MergeTree {
 public:
  /// Two nodes: numbers below leaves() are leaves, leaves() + i is the result of merge i.
  struct Merge {
    std::size_t left = 0;
    std::size_t right = 0;
    friend bool operator==(const Merge&, const Merge&) = default;
  };

  /// A single leaf.
  MergeTree() = default;
  /// throws   std::invalid_argument unless every node except the last merge is merged exactly once, after it exists
  explicit MergeTree(std::vector<Merge> merges);

  static MergeTree left_comb(std::size_t leaves);   // (((0 1) 2) 3): a sequential scan
  static MergeTree right_comb(std::size_t leaves);  // (0 (1 (2 3)))
  static MergeTree balanced(std::size_t leaves);

  std::size_t leaves() const { return merges_.size() + 1; }
  const std::vector<Merge>& merges() const { return merges_; }
  /// The tree without this leaf: its sibling replaces their parent, and later leaves move down by one.
  MergeTree without(std::size_t leaf) const;

  /// The state of the root after all merges.
  ///
  /// states   (leaves())
  template <class State, class Combine>
  State fold(std::vector<State> states, Combine&& combine) const {
    for (const Merge& merge : merges_) states.push_back(combine(states[merge.left], states[merge.right]));
    return std::move(states.back());
  }

  friend bool operator==(const MergeTree&, const MergeTree&) = default;

 private:
  /// Numbers the merges by the order of closing brackets in the text, so that equal trees are equal values.
  void number_as_read();

  std::vector<Merge> merges_;
};

/// "((0 1) 2)"
std::string to_text(const MergeTree& tree);
/// throws   std::invalid_argument unless the text is a tree with each leaf 0 ... k - 1 once
MergeTree parse_merge_tree(std::string_view text);

/// A row cut into consecutive chunks, some of them empty, and the order in which their states are merged.
struct MergeTreeCase {
  RowCase row;
  std::vector<std::uint64_t> chunks;  // sizes; their sum is the row's size
  MergeTree tree;                     // one leaf per chunk
  std::string shape;                  // how the tree was drawn; not part of its text

  friend bool operator==(const MergeTreeCase& a, const MergeTreeCase& b) {
    return a.row == b.row && a.chunks == b.chunks && a.tree == b.tree;
  }
};

/// The chunks as views of the expanded row.
std::vector<std::span<const double>> chunks_of(const MergeTreeCase& merge_case, std::span<const double> logits);

struct MergeTreeOptions {
  RowOptions row;
  std::size_t max_chunks = 64;
};

/// Left combs, right combs, balanced trees, ordered and shuffled random trees, over rows of row_cases().
rc::Gen<MergeTreeCase> merge_tree_cases(const MergeTreeOptions& options = {});

/// Fewer chunks, the left comb, then the row's shrinks with the chunks cut to fit.
rc::Seq<MergeTreeCase> shrink_merge_tree_case(const MergeTreeCase& merge_case, const MergeTreeOptions& options = {});

/// "merge ((0 1) 2) chunks=3,0,5 row f32 theta=0x1p+0 ..."
std::string to_text(const MergeTreeCase& merge_case);
void from_text(std::string_view text, MergeTreeCase& merge_case);
/// Number of logits and merges.
std::size_t size_of(const MergeTreeCase& merge_case);
void showValue(const MergeTreeCase& merge_case, std::ostream& stream);

}  // namespace softcheck::proptests
