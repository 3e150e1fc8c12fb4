#include "judge/trial/listed_calls.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "judge/ops/rows/row_op.hpp"
#include "proptests/generators/row_matrices/known_matrices.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

std::vector<std::uint64_t> widths_for(const JudgeOptions& options) {
  const std::uint64_t dense = options.effort == Effort::quick ? 129 : 1025;
  const std::uint64_t most = options.effort == Effort::quick ? 4097 : 65537;
  return swept_widths(dense, std::min(most, options.max_length));
}

/// Every width from default effort on; quick effort masks the tails alone.
std::vector<std::uint64_t> masked_widths(const JudgeOptions& options) {
  constexpr std::uint64_t first = 6, last = 1025;
  std::vector<std::uint64_t> widths;
  if (options.effort == Effort::quick) return widths;
  for (std::uint64_t n = first; n <= std::min(last, options.max_length); ++n) widths.push_back(n);
  return widths;
}

std::vector<std::uint64_t> united(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::vector<std::uint64_t> all;
  std::ranges::set_union(a, b, std::back_inserter(all));
  return all;
}

/// Partial states are far fewer than the items of a vocabulary.
std::uint64_t longest_listed(Op op, std::uint64_t most) {
  return op->quick_items == 0 ? most : std::min(most, 16 * op->quick_items);
}

/// The auxiliary number by which a call chooses k of n items; nothing if the op has no attribute k.
std::optional<std::uint64_t> auxiliary_of_choice(const RowOp& op, std::uint64_t n, std::uint64_t k) {
  constexpr std::uint64_t kinds = 64, seed = 5;
  for (std::uint64_t kind = 0; k > 0 && kind < kinds; ++kind) {
    const std::uint64_t auxiliary = kinds * seed + kind;
    if (op.attributes(auxiliary, n).k == static_cast<std::int32_t>(k)) return auxiliary;
  }
  return std::nullopt;
}

/// The auxiliary bits of a known router's groups; 0 if the domain's calls have no groups, or only others.
std::uint64_t auxiliary_of_groups(const RowOp& op, Domain domain, const KnownRows& shape) {
  if (shape.groups == 0 || !domain.has_groups()) return 0;
  const std::array<std::pair<const char*, std::uint64_t>, 3> numbers{
      {{"groups", shape.groups}, {"kept", shape.kept}, {"group_items", shape.group_items}}};
  for (const auto& [name, number] : numbers) {
    if (!domain.length(name).contains(number)) return 0;
    domain.lengths[name] = {number, number};
  }
  return op.set_auxiliaries(domain) & domain_bits;
}

}  // namespace

std::vector<RowMatrixCase> sweep_for(const KernelSubject& subject, const JudgeOptions& options) {
  const LengthRange columns = subject.domain.length("n"), rows = subject.domain.length("rows");
  const numerics::Format format = row_format(subject.op, subject.contract.input);
  const std::vector<std::uint64_t> listed = columns.listed_within(1, options.max_length);
  const TailWidths tails = tail_widths(options.max_length);
  std::vector<RowMatrixCase> sweep =
      width_sweep(format, united(united(widths_for(options), listed), tails.plain), !rows.everything());
  std::ranges::move(masked_sweep(format, united(united(masked_widths(options), listed), tails.masked),
                                 subject.domain.no_mask ? MaskUse::none : MaskUse::mixed),
                    std::back_inserter(sweep));
  std::ranges::stable_sort(sweep, {}, &RowMatrixCase::columns);
  const std::optional<std::uint64_t> count = rows.at_least(1);
  if (!count || *count <= 3) return sweep;
  // The domain has no calls of one to three rows: repeat the three in turn.
  std::erase_if(sweep, [&](const RowMatrixCase& matrix) {
    return matrix.rows.size() < 3 || matrix.columns * *count > options.cover_elements;
  });
  for (RowMatrixCase& matrix : sweep) matrix.rows = RowCycle(matrix.rows.cycle(), *count);
  return sweep;
}

std::vector<RowMatrixCase> far_masses_for(const KernelSubject& subject, const JudgeOptions& options) {
  // The longest rows of the domain whose sequential sum keeps four bits.
  const double unit = numerics::properties(subject.contract.accumulator).unit_roundoff;
  const auto meaningful = static_cast<std::uint64_t>(0x1p-4 / std::max(unit, 0x1p-40));
  const numerics::Format format = row_format(subject.op, subject.contract.input);
  std::vector<RowMatrixCase> matrices;
  const auto add = [&](std::uint64_t most) {
    const std::uint64_t columns =
        subject.domain.length("n").nearest(std::min({meaningful, most, std::uint64_t{3} << 15}));
    std::ranges::move(far_mass_matrices(format, columns), std::back_inserter(matrices));
  };
  // The length of quick effort comes first.
  const std::uint64_t quick_items = subject.op->quick_items;
  if (quick_items != 0 && quick_items < options.max_length) add(quick_items);
  add(longest_listed(subject.op, options.max_length));
  return matrices;
}

RowMatrixCase narrowed(RowMatrixCase matrix, Op op, std::uint64_t most_elements) {
  const std::uint64_t elements = std::max<std::uint64_t>(size_of(matrix), 1);
  matrix.auxiliary = op.rows().narrowed(matrix.columns, matrix.auxiliary, most_elements / elements);
  return matrix;
}

std::vector<RowMatrixCase> known_for(const KernelSubject& subject, const JudgeOptions& options) {
  constexpr std::size_t drawn = 8;
  constexpr std::uint64_t most_numbers = std::uint64_t{1} << 18;                 // numbers of vectors
  const bool limited = options.max_length < size_of(options.effort).max_length;  // by the caller
  const std::uint64_t longest = limited ? options.max_length : std::max(options.max_length, options.max_edge_length);
  const std::uint64_t most = longest_listed(subject.op, longest);
  // A call of 2^24 logits takes more than a gigabyte.
  const std::uint64_t most_logits = options.effort == Effort::normal ? std::uint64_t{1} << 23 : ~std::uint64_t{0};
  const std::vector<KnownRows> shapes =
      options.effort == Effort::quick ? chosen_rows(most, drawn, options.run.seed) : chosen_rows(most, most_logits);
  std::vector<RowMatrixCase> matrices;
  for (const KnownRows& shape : shapes) {
    matrices.push_back(known_matrix(row_format(subject.op, subject.contract.input), shape));
    RowMatrixCase& matrix = matrices.back();
    // By the shape alone, so that every effort makes the same call; with upstream gradients of any sign and other
    // attributes.
    const std::uint64_t own = 9 + (shape.rows * 29 + shape.n * 5) % (most_auxiliary - 9);
    matrix.auxiliary = auxiliary_of_choice(subject.op.rows(), shape.n, shape.k).value_or(own) |
                       auxiliary_of_groups(subject.op.rows(), subject.domain, shape);
    matrix = narrowed(std::move(matrix), subject.op, most_numbers);
    // Rows of a padded buffer, as tuned kernels use them.
    constexpr std::uint64_t few_rows = 64, padding = 64;
    if (shape.rows > few_rows || shape.n % 3 != 2) continue;
    RowMatrixCase padded = matrix;
    padded.in = padded.out = {static_cast<std::int64_t>(shape.n + padding), 1};
    matrices.push_back(std::move(padded));
  }
  // A support of 4,925 items, too long for a buffer of 4,096 candidates.
  constexpr std::uint64_t support = 4925;
  const std::optional<double> edge = subject.op.rows().edge_of_support(support);
  if (edge && options.effort != Effort::quick) {
    matrices.push_back(support_matrix(row_format(subject.op, subject.contract.input), support, *edge));
  }
  std::ranges::stable_sort(matrices, {}, [](const RowMatrixCase& matrix) { return size_of(matrix); });
  return matrices;
}

void order_by_new_classes(std::vector<RowMatrixCase>& matrices) {
  std::ranges::stable_sort(matrices, {}, [](const RowMatrixCase& matrix) { return size_of(matrix); });
  std::vector<std::vector<std::size_t>> classes;
  for (const RowMatrixCase& matrix : matrices) classes.push_back(classes_of(matrix));
  std::set<std::pair<std::size_t, std::size_t>> met;  // dimension and class
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const auto added = [&](const std::vector<std::size_t>& of) {
      std::size_t count = 0;
      for (std::size_t d = 0; d < of.size(); ++d) count += met.contains({d, of[d]}) ? 0 : 1;
      return count;
    };
    const auto from = static_cast<std::ptrdiff_t>(k);
    const auto best = std::ranges::max_element(classes.begin() + from, classes.end(), {}, added) - classes.begin();
    for (std::size_t d = 0; d < classes[static_cast<std::size_t>(best)].size(); ++d) {
      met.insert({d, classes[static_cast<std::size_t>(best)][d]});
    }
    // Rotating keeps the order of the others.
    std::rotate(matrices.begin() + from, matrices.begin() + best, matrices.begin() + best + 1);
    std::rotate(classes.begin() + from, classes.begin() + best, classes.begin() + best + 1);
  }
}

}  // namespace softcheck::proptests
