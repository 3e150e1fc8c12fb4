#include "proptests/generators/rows/merge_tree.hpp"

#include <numeric>
#include <ostream>
#include <stdexcept>

#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

/// Parses "((0 1) 2)"; numbers merges by the order of closing brackets.
class TreeParser {
 public:
  explicit TreeParser(std::string_view text) : text_(text) {}

  MergeTree parse() {
    const Node root = node(0);
    if (position_ != text_.size()) fail();
    const std::size_t leaves = merges_.size() + 1;
    if (root.is_merge != (leaves > 1)) fail();
    std::vector<MergeTree::Merge> merges;
    for (const auto& [left, right] : merges_) merges.push_back({number(left, leaves), number(right, leaves)});
    if (leaves == 1 && root.index != 0) fail();
    return MergeTree(std::move(merges));
  }

 private:
  struct Node {
    bool is_merge;
    std::size_t index;
  };

  [[noreturn]] void fail() const {
    throw std::invalid_argument("merge tree: need a tree such as ((0 1) 2), got \"" + std::string(text_) + "\"");
  }

  static std::size_t number(const Node& node, std::size_t leaves) {
    return node.is_merge ? leaves + node.index : node.index;
  }

  void expect(char character) {
    if (position_ >= text_.size() || text_[position_] != character) fail();
    ++position_;
  }

  Node node(int depth) {
    constexpr int deepest = 4096;  // limits recursion
    if (depth > deepest || position_ >= text_.size()) fail();
    if (text_[position_] != '(') {
      const std::size_t end = std::min(text_.find_first_of(" ()", position_), text_.size());
      const std::string_view word = text_.substr(position_, end - position_);
      position_ = end;
      // A larger index cannot be a leaf of a tree in this text.
      return {false, static_cast<std::size_t>(parse_count(word, 0, text_.size()))};
    }
    expect('(');
    const Node left = node(depth + 1);
    expect(' ');
    const Node right = node(depth + 1);
    expect(')');
    merges_.emplace_back(left, right);
    return {true, merges_.size() - 1};
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::vector<std::pair<Node, Node>> merges_;
};

}  // namespace

MergeTree::MergeTree(std::vector<Merge> merges) : merges_(std::move(merges)) {
  std::vector<int> used(leaves() + merges_.size(), 0);
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    for (std::size_t node : {merges_[i].left, merges_[i].right}) {
      if (node >= leaves() + i || used[node]++ > 0) {
        throw std::invalid_argument("MergeTree: need every node merged once, after it was made; merge " +
                                    std::to_string(i) + " takes node " + std::to_string(node));
      }
    }
  }
  number_as_read();
}

void MergeTree::number_as_read() {
  // Visits nodes from the root, right before left, and reverses: each node then follows its own subtrees, the left one
  // first.
  std::vector<std::size_t> order;
  std::vector<std::size_t> open;
  if (!merges_.empty()) open.push_back(merges_.size() - 1);
  while (!open.empty()) {
    const std::size_t merge = open.back();
    open.pop_back();
    order.push_back(merge);
    for (std::size_t node : {merges_[merge].left, merges_[merge].right}) {
      if (node >= leaves()) open.push_back(node - leaves());
    }
  }
  std::vector<std::size_t> renamed(leaves() + merges_.size());
  std::iota(renamed.begin(), renamed.end(), std::size_t{0});
  for (std::size_t i = 0; i < order.size(); ++i) renamed[leaves() + order[i]] = leaves() + order.size() - 1 - i;
  std::vector<Merge> numbered(merges_.size());
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    numbered[renamed[leaves() + i] - leaves()] = {renamed[merges_[i].left], renamed[merges_[i].right]};
  }
  merges_ = std::move(numbered);
}

MergeTree MergeTree::left_comb(std::size_t leaves) {
  std::vector<Merge> merges;
  for (std::size_t i = 1; i < leaves; ++i) merges.push_back({i == 1 ? 0 : leaves + i - 2, i});
  return MergeTree(std::move(merges));
}

MergeTree MergeTree::right_comb(std::size_t leaves) {
  std::vector<Merge> merges;
  for (std::size_t i = 1; i < leaves; ++i) merges.push_back({leaves - 1 - i, i == 1 ? leaves - 1 : leaves + i - 2});
  return MergeTree(std::move(merges));
}

MergeTree MergeTree::balanced(std::size_t leaves) {
  std::vector<std::size_t> level(leaves);
  std::iota(level.begin(), level.end(), std::size_t{0});
  std::vector<Merge> merges;
  while (level.size() > 1) {
    std::vector<std::size_t> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      next.push_back(leaves + merges.size());
      merges.push_back({level[i], level[i + 1]});
    }
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = std::move(next);
  }
  return MergeTree(std::move(merges));
}

MergeTree MergeTree::without(std::size_t leaf) const {
  if (leaf >= leaves() || leaves() == 1) {
    throw std::invalid_argument("MergeTree::without: need a leaf of a tree of two or more, got " +
                                std::to_string(leaf));
  }
  std::vector<std::size_t> renamed(leaves() + merges_.size());
  for (std::size_t i = 0; i < leaves(); ++i) renamed[i] = i > leaf ? i - 1 : i;
  std::vector<Merge> kept;
  for (std::size_t i = 0; i < merges_.size(); ++i) {
    const Merge& merge = merges_[i];
    std::size_t& name = renamed[leaves() + i];
    if (merge.left == leaf || merge.right == leaf) {
      name = renamed[merge.left == leaf ? merge.right : merge.left];
    } else {
      name = leaves() - 1 + kept.size();
      kept.push_back({renamed[merge.left], renamed[merge.right]});
    }
  }
  return MergeTree(std::move(kept));
}

std::string to_text(const MergeTree& tree) {
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < tree.leaves(); ++i) nodes.push_back(std::to_string(i));
  return tree.fold(std::move(nodes),
                   [](const std::string& left, const std::string& right) { return "(" + left + " " + right + ")"; });
}

MergeTree parse_merge_tree(std::string_view text) { return TreeParser(text).parse(); }

std::vector<std::span<const double>> chunks_of(const MergeTreeCase& merge_case, std::span<const double> logits) {
  std::vector<std::span<const double>> views;
  for (std::size_t begin = 0; std::uint64_t size : merge_case.chunks) {
    if (size > logits.size() - begin) throw std::invalid_argument("chunks_of: the chunks are longer than the row");
    views.push_back(logits.subspan(begin, size));
    begin += size;
  }
  return views;
}

std::string to_text(const MergeTreeCase& merge_case) {
  std::string chunks;
  for (std::uint64_t size : merge_case.chunks) chunks += (chunks.empty() ? "" : ",") + std::to_string(size);
  return "merge " + to_text(merge_case.tree) + " chunks=" + chunks + " " + to_text(merge_case.row);
}

void from_text(std::string_view text, MergeTreeCase& merge_case) {
  constexpr std::string_view head = "merge ";
  const std::size_t chunks_at = text.find(" chunks=");
  const std::size_t row_at = text.find(" row ");
  if (!text.starts_with(head) || chunks_at == std::string_view::npos || row_at == std::string_view::npos ||
      row_at < chunks_at || chunks_at < head.size()) {
    throw std::invalid_argument("merge case: need \"merge TREE chunks=A,B,... row ...\", got \"" + std::string(text) +
                                "\"");
  }
  MergeTreeCase result;
  result.shape = "text";
  result.tree = parse_merge_tree(text.substr(head.size(), chunks_at - head.size()));
  std::string_view sizes = value_of(text.substr(chunks_at + 1, row_at - chunks_at - 1), "chunks");
  while (true) {
    const std::size_t comma = sizes.find(',');
    result.chunks.push_back(parse_count(sizes.substr(0, comma), 0, std::uint64_t{1} << 40));
    if (comma == std::string_view::npos) break;
    sizes.remove_prefix(comma + 1);
  }
  from_text(text.substr(row_at + 1), result.row);
  const std::uint64_t total = std::accumulate(result.chunks.begin(), result.chunks.end(), std::uint64_t{0});
  if (total != result.row.row.size() || result.chunks.size() != result.tree.leaves()) {
    throw std::invalid_argument("merge case: need a leaf for each chunk and chunks that add up to the row, got \"" +
                                std::string(text) + "\"");
  }
  merge_case = std::move(result);
}

std::size_t size_of(const MergeTreeCase& merge_case) {
  return size_of(merge_case.row) + merge_case.tree.merges().size();
}

void showValue(const MergeTreeCase& merge_case, std::ostream& stream) { stream << to_text(merge_case); }

}  // namespace softcheck::proptests
