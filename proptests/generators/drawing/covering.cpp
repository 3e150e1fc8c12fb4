#include "proptests/generators/drawing/covering.hpp"

#include <algorithm>

#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {
namespace {

/// Records which pairs of classes some choice contains.
class PairTable {
 public:
  explicit PairTable(const std::vector<std::size_t>& counts) : counts_(counts) {
    for (const std::size_t count : counts) {
      first_.push_back(total_);
      total_ += count;
    }
    met_.assign(total_ * total_, 0);
  }
  bool met(std::size_t d, std::size_t x, std::size_t e, std::size_t y) const { return row(d, x, e)[y] != 0; }
  /// By class of e: 1 if a choice has it together with x of d, else 0.
  const unsigned char* row(std::size_t d, std::size_t x, std::size_t e) const {
    return &met_[(first_[d] + x) * total_ + first_[e]];
  }
  void meet(std::size_t d, std::size_t x, std::size_t e, std::size_t y) {
    met_[(first_[d] + x) * total_ + first_[e] + y] = met_[(first_[e] + y) * total_ + first_[d] + x] = 1;
  }
  void meet(const std::vector<std::size_t>& choice) {
    for (std::size_t d = 0; d < counts_.size(); ++d) {
      for (std::size_t e = 0; e < d; ++e) meet(d, choice[d], e, choice[e]);
    }
  }

 private:
  std::vector<std::size_t> counts_, first_;
  std::size_t total_ = 0;
  std::vector<unsigned char> met_;  // bytes, so that a row is contiguous
};

class Designer {
 public:
  Designer(const std::vector<std::size_t>& counts, const std::function<bool(const ClassChoice&)>& possible, Draw& draw)
      : counts_(counts), possible_(possible), draw_(draw), pairs_(counts), ranked_(counts.size()) {
    for (const std::size_t count : counts) met_.emplace_back(count, false);
  }

  std::vector<std::vector<std::size_t>> design() {
    std::vector<std::vector<std::size_t>> result;
    for (std::size_t d = 0; d < counts_.size(); ++d) {
      for (std::size_t e = 0; e < d; ++e) {
        for (std::size_t x = 0; x < counts_[d]; ++x) {
          for (std::size_t y = 0; y < counts_[e]; ++y) {
            if (pairs_.met(d, x, e, y)) continue;
            ClassChoice choice(counts_.size());
            choice[d] = x;
            choice[e] = y;
            if (const auto complete = completed(std::move(choice))) result.push_back(*complete);
            pairs_.meet(d, x, e, y);  // or it is not possible
          }
        }
      }
    }
    return result;
  }

  std::vector<std::vector<std::size_t>> touch() {
    only_classes_ = true;
    std::vector<std::vector<std::size_t>> result;
    for (std::size_t d = 0; d < counts_.size(); ++d) {
      for (std::size_t x = 0; x < counts_[d]; ++x) {
        if (met_[d][x]) continue;
        ClassChoice choice(counts_.size());
        choice[d] = x;
        if (const auto complete = completed(std::move(choice))) result.push_back(*complete);
      }
    }
    return result;
  }

 private:
  // The number of chosen classes it is already paired with, and its distance from the random start.
  using Ranked = std::pair<std::size_t, std::size_t>;

  /// Completes the choice with classes that add the most new pairs; ties are random.
  std::optional<std::vector<std::size_t>> completed(ClassChoice choice) {
    if (!possible_(choice)) return std::nullopt;
    std::vector<std::size_t> order;
    for (std::size_t f = 0; f < counts_.size(); ++f) {
      if (!choice[f]) order.push_back(f);
    }
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[draw_.below(i)]);
    steps_left_ = most_steps;
    if (!fill(choice, order, 0)) return std::nullopt;
    std::vector<std::size_t> complete;
    for (const std::optional<std::size_t>& chosen : choice) complete.push_back(*chosen);
    pairs_.meet(complete);
    for (std::size_t f = 0; f < complete.size(); ++f) met_[f][complete[f]] = true;
    return complete;
  }

  // Backtracks: a possible choice may leave a later dimension without a class. Gives up after most_steps, as the time
  // may grow exponentially with the dimensions.
  bool fill(ClassChoice& choice, const std::vector<std::size_t>& order, std::size_t at) {
    if (at == order.size()) return true;
    const std::size_t f = order[at];
    const std::size_t count = counts_[f], turn = draw_.below(count);
    count_old(choice, f);
    std::vector<Ranked>& ranked = ranked_[at];
    ranked.clear();
    for (std::size_t i = 0; i < count; ++i) ranked.emplace_back(old_[(turn + i) % count], i);
    std::ranges::sort(ranked);
    for (const auto& [old, from_turn] : ranked) {
      choice[f] = (turn + from_turn) % count;
      if (steps_left_ == 0) break;
      --steps_left_;
      if (possible_(choice) && fill(choice, order, at + 1)) return true;
    }
    choice[f].reset();
    return false;
  }

  // Fills old_.
  void count_old(const ClassChoice& choice, std::size_t f) {
    if (only_classes_) return old_.assign(met_[f].begin(), met_[f].end());
    old_.assign(counts_[f], 0);
    for (std::size_t d = 0; d < choice.size(); ++d) {
      if (d == f || !choice[d]) continue;
      const unsigned char* row = pairs_.row(d, *choice[d], f);
      for (std::size_t z = 0; z < old_.size(); ++z) old_[z] += row[z];
    }
  }

  static constexpr std::size_t most_steps = 2000000;  // a limit on time, seconds: 20,000 cuts designs of rows

  const std::vector<std::size_t>& counts_;
  const std::function<bool(const ClassChoice&)>& possible_;
  Draw& draw_;
  PairTable pairs_;
  std::vector<std::vector<bool>> met_;  // covered classes
  bool only_classes_ = false;
  std::size_t steps_left_ = most_steps;
  // Buffers, reused because a design has thousands of steps.
  std::vector<std::size_t> old_;             // by class: number of chosen classes that it is already paired with
  std::vector<std::vector<Ranked>> ranked_;  // by chosen dimension
};

}  // namespace

std::vector<std::vector<std::size_t>> covering_choices(const std::vector<std::size_t>& counts,
                                                       const std::function<bool(const ClassChoice&)>& possible,
                                                       Draw& draw) {
  return Designer(counts, possible, draw).design();
}

std::vector<std::vector<std::size_t>> touching_choices(const std::vector<std::size_t>& counts,
                                                       const std::function<bool(const ClassChoice&)>& possible,
                                                       Draw& draw) {
  return Designer(counts, possible, draw).touch();
}

}  // namespace softcheck::proptests
