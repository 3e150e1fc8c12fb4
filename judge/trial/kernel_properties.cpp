#include "judge/trial/kernel_properties.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>

#include "judge/ops/rows/matrix_features.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/listed_calls.hpp"
#include "proptests/generators/row_matrices/known_matrices.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

RowOptions rows_for(const KernelSubject& subject, const JudgeOptions& options) {
  RowOptions rows;
  rows.formats = {row_format(subject.op, subject.contract.input)};
  rows.families.assign(kernel_row_families().begin(), kernel_row_families().end());
  rows.max_length = options.max_length;
  rows.max_edge_length = std::max(options.max_length, options.max_edge_length);
  rows.domain = subject.domain;
  // 1 / theta must stay in the accumulator's range: beyond it no contract promises anything.
  if (subject.contract.accumulator == numerics::Format::f16) rows.theta_exponent = 12;
  constexpr int of_losses = 6;
  if (!subject.op->has_theta) rows.theta_exponent = subject.domain.temperature ? of_losses : 0;
  if (subject.op->number != 0) {
    rows.auxiliaries = most_auxiliary & ~subject.op.rows().closed_auxiliaries(subject.domain);
    rows.auxiliaries_set = subject.op.rows().set_auxiliaries(subject.domain);
    // Bits select these attributes. A generator's call has no attributes yet, so these words would exclude all of them.
    rows.domain.base_2 = rows.domain.renormalized = rows.domain.mean_only = rows.domain.reverse_only = false;
  }
  rows.masks = subject.op->takes_infinities;
  if (!subject.op->takes_mask) rows.domain.no_mask = true;
  if (!subject.op->takes_infinities) rows.domain.finite = true;
  rows.domain.no_infinity = !numerics::properties(rows.formats.front()).has_infinity;
  return rows;
}

/// The options of matrices with rows of at most max_length logits.
RowMatrixOptions matrices_of(RowOptions rows, std::uint64_t max_length) {
  RowMatrixOptions matrices;
  matrices.rows = std::move(rows);
  matrices.rows.max_length = std::min(matrices.rows.max_length, max_length);
  // A domain of long rows has no shorter ones.
  const LengthRange domain = matrices.rows.domain.length("n");
  matrices.rows.max_length = std::max(matrices.rows.max_length, domain.nearest(0));
  matrices.rows.max_edge_length = matrices.rows.max_length;
  return matrices;
}

/// The same options with the numbers of rows that the domain allows.
RowMatrixOptions in_domain(RowMatrixOptions matrices) {
  const LengthRange domain = matrices.rows.domain.length("rows");
  matrices.least_rows = domain.nearest(matrices.least_rows);
  matrices.most_rows = std::max(matrices.least_rows, domain.nearest(matrices.most_rows));
  return matrices;
}

/// Can a call hide items: by a mask, or by -inf?
bool may_hide(const Domain& domain) { return domain.hides_by_infinity() || !domain.no_mask; }

/// Rows per call of many rows.
constexpr std::uint64_t rows_at_once = 512;

/// The lists of claims that properties decide.
struct ClaimLists {
  std::vector<std::string> clean;
  std::vector<std::string> values;

  explicit ClaimLists(const KernelTrial& trial) : clean(trial.watched().call_claims()), values(clean) {
    for (const std::string& claim : trial.value_claims()) values.push_back(claim);
  }
  static std::vector<std::string> with(std::vector<std::string> claims, const char* claim, bool wanted = true) {
    if (wanted) claims.emplace_back(claim);
    return claims;
  }
};

/// The failing row alone in a compact matrix, alone in this matrix's layout, and as the last row of this matrix.
std::vector<RowMatrixCase> cases_named_by(const RowMatrixCase& matrix, const Certificates& certificates,
                                          const Domain& domain, Op op) {
  for (const numerics::Certificate& certificate : certificates) {
    const KernelEvidence* evidence = evidence_of(certificate);
    if (certificate.verdict == numerics::Verdict::proved || evidence == nullptr || !evidence->asked.row) continue;
    const std::size_t row = *evidence->asked.row;
    if (row >= matrix.rows.size() || matrix.rows.size() == 1) continue;
    RowMatrixCase single = matrix, last = matrix;
    single.rows = {matrix.rows[row]};
    single.auxiliary = auxiliary_of_row(matrix.auxiliary, row);
    last.rows = RowCycle(matrix.rows.cycle(), row + 1);
    std::erase_if(last.specials, [&](const SpecialLogit& one) { return one.row > row; });
    std::erase_if(single.specials, [&](const SpecialLogit& one) { return one.row != row; });
    for (SpecialLogit& one : single.specials) one.row = 0;
    RowMatrixCase plain = single;
    plain.mask = MaskUse::none;
    plain.in = plain.out = plain.visible = {};
    std::vector<RowMatrixCase> named{plain, single, last};
    std::erase_if(named, [&](const RowMatrixCase& one) { return !domain.admits(traits_of(one, op)); });
    return named;
  }
  return {};
}
std::vector<RowCase> cases_named_by(const RowCase&, const Certificates&, const Domain&, Op) { return {}; }

// Shrinks by the rules of a replay, which allow more cases than the property draws. A NaN stays a NaN for any op.
rc::Shrinkable<RowMatrixCase> with_shrinks(const RowMatrixCase& matrix, const RowOptions& rows) {
  RowMatrixOptions options{.rows = rows};
  options.rows.min_length = 1;
  options.rows.fully_masked = true;
  options.nans = options.infinities = !matrix.specials.empty();
  if (options.nans) options.rows.domain.finite = false;
  options.most_rows = std::max<std::uint64_t>(options.most_rows, matrix.rows.size());
  return rc::shrinkable::shrinkRecur(matrix,
                                     [options](const RowMatrixCase& from) { return shrink_row_matrix(from, options); });
}
rc::Shrinkable<RowCase> with_shrinks(const RowCase& row_case, const RowOptions& rows) {
  return rc::shrinkable::shrinkRecur(row_case, [rows](const RowCase& from) { return shrink_row_case(from, rows); });
}

/// Adds properties whose checks call one trial.
class PropertyList {
 public:
  PropertyList(const KernelSubject& subject, const RowOptions& rows, int cases, PropertyShare share, KernelTrial& trial)
      : subject_(subject), rows_(rows), cases_(cases), share_(share), trial_(trial) {}

  template <class Case>
  void add(const char* sentence, std::vector<std::string> claims, rc::Gen<Case> generator,
           Certificates (KernelTrial::*check)(const Case&), int cases = 0, std::vector<Case> listed = {},
           std::function<rc::Shrinkable<Case>(const Case&)> shrinkable = {},
           std::function<std::vector<Case>(const std::function<bool()>&)> listed_later = {}) {
    std::erase_if(claims, [&](const std::string& claim) { return subject_.exempt.contains(claim); });
    KernelTrial& trial = trial_;
    PropertyOf<Case> property{
        kernel_suite,
        sentence,
        std::move(claims),
        std::move(generator),
        [&trial, check](const Case& c) { return trial.watched().without_exempt((trial.*check)(c)); },
        std::move(listed),
        {},
        std::move(shrinkable),
        {},
        std::move(listed_later)};
    // Listed cases ascend in size: without shrinks, the first failing one is the smallest.
    if (property.listed.empty() && !property.shrinkable) {
      property.shrinkable = [rows = rows_](const Case& c) { return with_shrinks(c, rows); };
    }
    if (property.shrinkable) {
      property.pointed_at = [domain = rows_.domain, op = subject_.op](const Case& c, const Certificates& failed) {
        return cases_named_by(c, failed, domain, op);
      };
    }
    properties_.push_back({std::move(property), cases > 0 ? cases : cases_});
  }
  /// Adds a property of the listed matrices that lie in the domain; none if there are none.
  ///
  /// auxiliary   for matrices that have none of their own; each gets the number of a row that its sizes choose
  void add_listed(const char* sentence, std::vector<std::string> claims, std::vector<RowMatrixCase> listed,
                  std::uint64_t auxiliary,
                  std::function<rc::Shrinkable<RowMatrixCase>(const RowMatrixCase&)> shrinkable = {}) {
    if (share_ == PropertyShare::drawn) return;
    for (RowMatrixCase& matrix : listed) {
      // By the matrix's sizes and not its index, because the index depends on the effort.
      const std::uint64_t place = 3 * matrix.columns + matrix.rows.size();
      const std::uint64_t own = matrix.auxiliary != 0 ? matrix.auxiliary : auxiliary_of_row(auxiliary, place);
      // The bits of a domain are the subject's, or those of a known shape.
      const std::uint64_t allowed = rows_.auxiliaries | domain_bits;
      matrix.auxiliary = rows_.auxiliaries == 0 ? 0 : (own & allowed) | rows_.auxiliaries_set;
      // Some matrices hide an item besides their purpose.
      matrix.rows.replace_each(
          [&](const RunLengthRow& row) { return bounded(row, rows_.domain, matrix.theta, matrix.format); });
      if (!subject_.op->takes_mask) matrix.mask = MaskUse::none;
      if (!subject_.op->takes_infinities) matrix = without(std::move(matrix), infinities);
    }
    std::erase_if(listed,
                  [&](const RowMatrixCase& matrix) { return !rows_.domain.admits(traits_of(matrix, subject_.op)); });
    if (listed.empty()) return;
    add(sentence, std::move(claims), rc::gen::just(RowMatrixCase{}), &KernelTrial::together, 0, std::move(listed),
        std::move(shrinkable));
  }
  /// Adds a property whose matrices are made when it runs.
  void add_later(const char* sentence, std::vector<std::string> claims,
                 std::function<std::vector<RowMatrixCase>(const std::function<bool()>&)> listed_later,
                 std::function<rc::Shrinkable<RowMatrixCase>(const RowMatrixCase&)> shrinkable) {
    add(sentence, std::move(claims), rc::gen::just(RowMatrixCase{}), &KernelTrial::together, 0, {},
        std::move(shrinkable), std::move(listed_later));
  }
  std::vector<KernelProperty> take() { return std::move(properties_); }

 private:
  const KernelSubject& subject_;
  const RowOptions& rows_;
  int cases_;
  PropertyShare share_;
  KernelTrial& trial_;
  std::vector<KernelProperty> properties_;
};

void add_masks(const RowOptions& rows, const ClaimLists& claims, PropertyList& list) {
  RowMatrixOptions masked = matrices_of(rows, 1100);
  masked.most_rows = 4;
  masked.shifts = false;
  list.add("AMaskedItemIsADeletedOne", claims.values, row_matrices(in_domain(masked)), &KernelTrial::together);
  if (rows.domain.all_see) return;
  RowMatrixOptions nothing_visible = matrices_of(rows, 300);
  nothing_visible.most_rows = 3;
  nothing_visible.rows.families = {RowFamily::plateau};
  nothing_visible.rows.fully_masked = true;
  nothing_visible.mask_patterns = false;
  list.add("AFullyMaskedRowIsAsDeclared", ClaimLists::with(claims.values, "kernel.masked_row"),
           row_matrices(in_domain(nothing_visible)), &KernelTrial::together);
}

void add_specials(const RowOptions& rows, const ClaimLists& claims, bool infinities, PropertyList& list) {
  RowMatrixOptions special = matrices_of(rows, 1100);
  special.rows.domain.finite = false;
  special.least_rows = special.most_rows = 3;
  special.mask_patterns = false;
  special.shifts = false;
  special = in_domain(special);
  special.nans = true;
  list.add("ANanLogitMakesItsRowNan", ClaimLists::with(claims.values, "kernel.nan_row"), row_matrices(special),
           &KernelTrial::together);
  if (!infinities) return;
  special.nans = false;
  special.rows.max_length = rows.max_length;
  list.add("AnInfiniteLogitGivesNanOrTheLimit", ClaimLists::with(claims.values, "kernel.infinite_row"),
           row_matrices(special), &KernelTrial::with_an_infinity);
}

void add_many_rows(const RowOptions& rows, const ClaimLists& claims, const KernelSubject& subject,
                   const JudgeOptions& options, PropertyList& list) {
  RowMatrixOptions many = matrices_of(rows, 64);
  // In a domain of long rows use fewer rows: a call of vectors has five numbers per logit.
  constexpr std::uint64_t most_logits = std::uint64_t{1} << 22;
  const std::uint64_t shortest = subject.domain.length("n").at_least(1).value_or(1);
  many.least_rows = many.most_rows =
      std::min({options.rows, rows_at_once, std::max<std::uint64_t>(1, most_logits / shortest)});
  many.alike = false;
  many.layouts = false;
  many.mask_patterns = false;
  const auto narrow = [op = subject.op, most = options.cover_elements](RowMatrixCase matrix) {
    return narrowed(std::move(matrix), op, most);
  };
  list.add("ManyRowsAreEachAsRight", claims.values, rc::gen::map(row_matrices(in_domain(many)), narrow),
           &KernelTrial::together, static_cast<int>((options.rows + rows_at_once - 1) / rows_at_once));
}

/// Adds calls that cover all pairs of classes: rows, n, temperatures, masks, layouts, NaNs and kinds of values.
void add_covers(const RowOptions& rows, const ClaimLists& claims, const KernelSubject& subject,
                const JudgeOptions& options, KernelTrial& trial, PropertyShare share, PropertyList& list) {
  RowMatrixOptions covered = matrices_of(rows, rows.max_length);
  covered.most_rows = std::uint64_t{1} << 17;
  covered.max_elements = options.cover_elements;
  covered.rows.fully_masked = may_hide(rows.domain) && !rows.domain.all_see;
  covered.nans = !rows.domain.finite && !subject.exempt.contains("kernel.nan_row");
  covered.infinities =
      rows.domain.shows_infinity() && subject.op->has_limit && !subject.exempt.contains("kernel.infinite_row");
  const auto made = [covered, &trial, share, op = subject.op, run = options,
                     seed = options.run.seed](const std::function<bool()>& stop_requested) {
    std::vector<RowMatrixCase> matrices;
    for (int k = 0; k < std::max(1, run.covers); ++k) {
      MatrixCover cover =
          covering_matrices(covered, run.covers > 0, seed + static_cast<std::uint64_t>(k), stop_requested);
      for (RowMatrixCase& matrix : cover.matrices) {
        matrices.push_back(narrowed(std::move(matrix), op, run.cover_elements));
      }
      if (share == PropertyShare::all) trial.leave_out(cover.possible, run);
    }
    if (run.max_calls != 0) {
      order_by_new_classes(matrices);
    } else {
      std::ranges::stable_sort(matrices, {}, [](const RowMatrixCase& matrix) { return size_of(matrix); });
    }
    return matrices;
  };
  std::vector<std::string> decided = ClaimLists::with(claims.values, "kernel.nan_row", covered.nans);
  decided = ClaimLists::with(std::move(decided), "kernel.infinite_row", covered.infinities);
  decided =
      ClaimLists::with(std::move(decided), "kernel.masked_row", covered.rows.fully_masked && !rows.domain.no_mask);
  list.add_later("EveryPairOfClassesIsComputed", std::move(decided), made, [covered](const RowMatrixCase& matrix) {
    return rc::shrinkable::shrinkRecur(matrix,
                                       [covered](const RowMatrixCase& one) { return shrink_row_matrix(one, covered); });
  });
}

}  // namespace

std::vector<KernelProperty> kernel_properties(const KernelSubject& subject, const JudgeOptions& options,
                                              KernelTrial& trial, PropertyShare share) {
  const RowOptions rows = rows_for(subject, options);
  const numerics::Format format = row_format(subject.op, subject.contract.input);
  const ClaimLists claims(trial);
  constexpr std::uint64_t of_any_sign = 8;  // RowCase::auxiliary: upstream gradients of any sign
  PropertyList list(subject, rows, options.run.cases, share, trial);
  // Default effort includes the cases of quick effort, which have rows of full length. Its own cases have half that
  // length, because long rows cost most of its time.
  RowOptions drawn = rows;
  if (options.effort == Effort::normal)
    drawn.max_length = std::max(rows.domain.length("n").nearest(0), rows.max_length / 2);

  list.add("EveryValueLiesWithinItsThreshold",
           ClaimLists::with(claims.values, "kernel.deterministic", subject.required.deterministic), row_cases(drawn),
           &KernelTrial::alone);
  RowMatrixOptions neighbours = matrices_of(rows, 300);
  neighbours.mask_patterns = neighbours.shifts = false;
  list.add("LayoutsAndNeighboursDoNotMatter",
           ClaimLists::with(claims.values, "kernel.batch_invariant", subject.required.batch_invariant),
           row_matrices(in_domain(neighbours)), &KernelTrial::among_neighbours);
  RowOptions short_rows = rows;
  short_rows.max_length = matrices_of(rows, 300).rows.max_length;
  short_rows.max_edge_length = 0;
  list.add("EarlierCallsDoNotMatter", claims.values, row_cases(short_rows), &KernelTrial::after_others);
  if (may_hide(rows.domain)) add_masks(rows, claims, list);
  if (!subject.domain.finite) {
    add_specials(drawn, claims, rows.domain.shows_infinity() && subject.op->has_limit, list);
  }
  const auto shrunk = [rows](const RowMatrixCase& matrix) { return with_shrinks(matrix, rows); };
  list.add_listed("EveryWidthIsComputed", claims.values, sweep_for(subject, options), of_any_sign, shrunk);
  // The one value of a call without rows uses no logits, whatever their width.
  const bool empty_rows = has_one_value(subject.op) || subject.domain.length("n").contains(0);
  list.add_listed("AnEmptyCallHasItsValues", ClaimLists::with(claims.clean, "kernel.masked_row", empty_rows),
                  empty_matrices(format), of_any_sign);
  list.add_listed("StridesBeyondAnIntegerAreFollowed", claims.values, distant_matrices(format), of_any_sign);
  list.add_listed("FarItemsCountTogether", claims.values, far_masses_for(subject, options),
                  subject.op->answers.auxiliary_of_sums, shrunk);
  const double most_logit = numerics::properties(subject.contract.accumulator).largest;
  std::vector<RowMatrixCase> reaching = reaching_matrices(format, most_logit);
  const std::array computed{subject.contract.output, subject.contract.accumulator};
  reaching.insert(reaching.begin(), least_coefficients(format, computed));
  list.add_listed("LogitsReachTheirRange", claims.values, std::move(reaching), of_any_sign, shrunk);
  list.add_listed("KnownShapesAreComputed", claims.values, known_for(subject, options), of_any_sign, shrunk);
  add_covers(rows, claims, subject, options, trial, share, list);
  if (options.rows > 0) add_many_rows(rows, claims, subject, options, list);
  RowMatrixOptions in_place = matrices_of(rows, 300);
  in_place.shifts = false;
  if (subject.required.in_place && subject.op->may_be_in_place) {
    list.add("TheOutputMayBeTheInput", claims.values, row_matrices(in_domain(in_place)), &KernelTrial::in_place);
  }
  if (subject.required.over_out_gradient) {
    list.add("TheOutputMayBeTheOutGradient", claims.values, row_matrices(in_domain(in_place)),
             &KernelTrial::over_out_gradient);
  }
  return list.take();
}

void require_replayable(const KernelSubject& subject, std::string_view case_text) {
  RowOptions allowed = rows_for(subject, {});
  allowed.max_length = RowOptions{}.max_length;
  const auto require_dtype = [&](numerics::Format format) {
    const numerics::Format needed = row_format(subject.op, subject.contract.input);
    if (format == needed) return;
    throw std::invalid_argument("need rows of the kernel's dtype, " + std::string(numerics::properties(needed).name) +
                                ", got some of " + std::string(numerics::properties(format).name));
  };
  bool admitted = false;
  if (case_text.starts_with("matrix")) {
    RowMatrixOptions options{.rows = allowed};
    options.rows.min_length = options.least_rows = 0;
    options.rows.fully_masked = options.infinities = subject.op->takes_infinities;
    options.nans = true;  // ops without infinities have NaNs, too
    options.rows.domain.finite = subject.domain.finite;
    options.most_rows = allowed.max_length;
    RowMatrixCase matrix;
    from_text(case_text, matrix);
    require_dtype(matrix.format);
    admitted = admits(options, matrix) && size_of(matrix) <= allowed.max_length;
  } else {
    RowCase row_case;
    from_text(case_text, row_case);
    require_dtype(row_case.format);
    admitted = admits(allowed, row_case);
  }
  if (admitted) return;
  const std::string power = std::to_string(allowed.theta_exponent);
  throw std::invalid_argument("need 1 to " + std::to_string(allowed.max_length) +
                              " logits, one of a row not -inf, strides that keep them apart, and theta in [2^-" +
                              power + ", 2^" + power + "]");
}

}  // namespace softcheck::proptests
