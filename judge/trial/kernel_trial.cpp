#include "judge/trial/kernel_trial.hpp"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "judge/ops/rows/call_judge.hpp"
#include "judge/ops/rows/matrix_features.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/ops/rows/row_description.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Decision;

using numerics::infinity;

/// The largest length to reach: the field's, limited to the domain.
double range_in(const Domain& domain, std::string_view name, std::uint64_t of_the_field) {
  return static_cast<double>(std::min(domain.length(name).most, of_the_field));
}

constexpr const char* rows_times_n = "rows times n";

/// The sizes that a judgement should reach: rows beyond the 65,535 blocks of a grid, a million logits per row as in
/// oneDNN's benchmarks, 128 chosen items, logits near the end of their format.
CallSizes sizes_of(const KernelSubject& subject) {
  const Domain& domain = subject.domain;
  std::vector<CallSizes::Size> sizes{{"rows", range_in(domain, "rows", 65537)},
                                     {"n", range_in(domain, "n", 1'000'000)}};
  const bool chooses = subject.op->number != 0 && subject.op.rows().attributes(0, 1).k != 0;
  if (chooses) sizes.push_back({"k", range_in(domain, "k", 128)});
  const numerics::Format format = row_format(subject.op, subject.contract.input);
  sizes.push_back({"|logit|", std::min(numerics::properties(format).largest / 4, domain.most_logit)});
  // More rows than a grid has blocks, longer than a warp: a longest row is often a call of its own.
  if (subject.op->quick_items == 0) sizes.push_back({rows_times_n, sizes[0].range * range_in(domain, "n", 33)});
  return CallSizes(std::move(sizes));
}

/// The place of a NaN or an infinity: the first, last or middle row and item, since kernels may lose it by its place;
/// always a visible item.
struct Place {
  std::size_t row;
  std::size_t item;
};

std::optional<Place> special_place(const RowMatrixCase& matrix) {
  if (size_of(matrix) == 0) return std::nullopt;
  const std::size_t n = matrix.columns, row = matrix.rows.size() / 2;
  const std::vector<double> logits = matrix.rows[row].expand();
  const std::size_t wanted = n % 3 == 0 ? 0 : n % 3 == 1 ? n - 1 : n / 2;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t item = (wanted + i) % n;
    if (std::isfinite(logits[item])) return Place{row, item};
  }
  return std::nullopt;
}

}  // namespace

KernelTrial::KernelTrial(const KernelSubject& subject, const KernelLimits& limits)
    : subject_(subject),
      kernel_(subject.source, limits, subject.exempt, !subject.domain.everything()),
      coverage_([] {
        std::vector<CoverageDimension> dimensions;
        for (const MatrixDimension& one : matrix_dimensions()) dimensions.push_back({one.name, one.classes});
        return dimensions;
      }()),
      sizes_(sizes_of(subject)) {}

std::vector<std::string> KernelTrial::value_claims() const { return proptests::value_claims(subject_.op); }

std::size_t KernelTrial::values_of_row(const RowMatrixCase& matrix) const {
  return subject_.op.rows().values(matrix.columns, matrix.auxiliary);
}

std::span<const double> KernelTrial::row_of(const std::vector<double>& outputs, const RowMatrixCase& matrix,
                                            std::size_t row) const {
  const std::size_t values = values_of_row(matrix);
  return std::span(outputs).subspan(row * values, values);
}

InputsOfRows& KernelTrial::inputs_of_rows(const RowMatrixCase& matrix) {
  if (!inputs_ || !inputs_->are_of(matrix)) inputs_.emplace(matrix, subject_.op, subject_.contract.input);
  return *inputs_;
}

CallDescription KernelTrial::describe_call(const RowMatrixCase& matrix, const std::string& remark,
                                           std::size_t row) const {
  CallDescription asked = proptests::describe_call(matrix, subject_.op, subject_.contract.input, remark, row, form());
  asked.passed = kernel_.passed();
  return asked;
}

bool KernelTrial::in_domain(const RowMatrixCase& matrix) const {
  const CallTraits traits = traits_of(matrix, subject_.op);
  // A simpler form of a refused call may replace masked items by an infinity that the format lacks.
  return (!traits.infinite || numerics::properties(matrix.format).has_infinity) && subject_.domain.admits(traits);
}

CallForm KernelTrial::form() const {
  return {std::nullopt, static_cast<std::size_t>(subject_.domain.alignment), subject_.domain.hides_finite_numbers()};
}

KernelTrial::Outputs KernelTrial::call(const RowMatrixCase& matrix, const TensorCall& tensors,
                                       const std::string& remark, Certificates& certificates) {
  if (!in_domain(matrix)) return std::nullopt;
  const std::size_t refused_before = kernel_.kernel().refused_calls();
  std::vector<std::vector<double>> outputs;
  try {
    outputs = kernel_.call(
        tensors, kind_of(matrix),
        [&] {
          return CallDescription{text_of(matrix), remark};
        },
        certificates);
  } catch (const std::system_error& error) {
    not_tried_.insert("tensors whose rows or columns lie 2^31 elements apart: " + std::string(error.what()));
    return std::nullopt;
  }
  note_output(matrix, remark);
  const bool refused = kernel_.kernel().refused_calls() > refused_before;
  if (refused || !outputs.empty()) {
    CallTraits traits = traits_of(matrix, subject_.op);
    traits.alignment = alignment_of(tensors);
    // Include the numbers behind a mask: a kernel may read them.
    for (const InputTensor& input : tensors.inputs) {
      traits.finite &= std::ranges::all_of(input.values, [](double logit) { return std::isfinite(logit); });
    }
    refusals_.add(std::move(traits), refused);
    const unsigned features = features_of(matrix);
    for (std::size_t k = 0; k < matrix_features; ++k) {
      if ((features >> k & 1) != 0) ++(refused ? answers_[k].refused : answers_[k].taken);
    }
    meet_classes(matrix, refused);
  }
  return outputs.empty() ? std::nullopt : std::optional(by_row(std::move(outputs), matrix.rows.size()));
}

KernelTrial::Outputs KernelTrial::call(const RowMatrixCase& matrix, const std::string& remark,
                                       Certificates& certificates) {
  return call(matrix, call_of(matrix, subject_.op, formats(), form(), inputs_of_rows(matrix)), remark, certificates);
}

void KernelTrial::reach_sizes(const RowMatrixCase& matrix) {
  sizes_.reach("rows", static_cast<double>(matrix.rows.size()));
  sizes_.reach("n", static_cast<double>(matrix.columns));
  sizes_.reach(rows_times_n, static_cast<double>(matrix.rows.size()) * static_cast<double>(matrix.columns));
  sizes_.reach("k", subject_.op.rows().attributes(matrix.auxiliary, matrix.columns).k);
  for (const RunLengthRow& row : matrix.rows.cycle()) {
    if (row.visible() > 0) sizes_.reach("|logit|", std::fmax(std::fabs(row.maximum()), std::fabs(row.minimum())));
  }
}

void KernelTrial::meet_classes(const RowMatrixCase& matrix, bool refused) {
  if (!refused) reach_sizes(matrix);
  const std::vector<std::size_t> classes = classes_of(matrix);
  const std::vector<MatrixDimension>& dimensions = matrix_dimensions();
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const std::string& name = dimensions[d].classes[classes[d]];
    // A refusal counts against the numbers' class only if the call has no other feature.
    const bool for_its_values = dimensions[d].name != values_dimension || features_of(matrix) == 0;
    if (refused) {
      if (for_its_values) coverage_.refuse(dimensions[d].name, name);
    } else {
      coverage_.meet(dimensions[d].name, name);
    }
  }
}

void KernelTrial::leave_out(const std::vector<std::vector<bool>>& possible, const JudgeOptions& options) {
  const std::string reason =
      subject_.domain.everything()
          ? std::string("not drawn at ") + to_string(options.effort) + " effort, or of this op"
          : std::string("outside the domain, or beyond ") + to_string(options.effort) + " effort";
  for (std::size_t d = 0; d < possible.size(); ++d) {
    const MatrixDimension& dimension = matrix_dimensions()[d];
    for (std::size_t c = 0; c < possible[d].size(); ++c) {
      if (!possible[d][c]) coverage_.excuse(dimension.name, dimension.classes[c], reason);
    }
  }
}

void KernelTrial::leave_out_refused(const RowMatrixCase& drawn, const RowMatrixCase& asked) {
  const std::vector<std::size_t> classes = classes_of(drawn), met = classes_of(asked);
  const std::vector<MatrixDimension>& dimensions = matrix_dimensions();
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (classes[d] != met[d] && dimensions[d].name != values_dimension)
      coverage_.refuse(dimensions[d].name, dimensions[d].classes[classes[d]]);
  }
}

void KernelTrial::note_output(const RowMatrixCase& matrix, const std::string& remark) {
  const std::size_t printed = kernel_.kernel().printed_bytes();
  if (printed_bytes_ == 0 && printed > 0) {
    std::string text = text_of(matrix);
    if (text.size() > 200) text = text.substr(0, 200) + "...";
    kernel_.note("first printed something by the end of " + text + remark);
  }
  printed_bytes_ = printed;
}

void KernelTrial::judge(const RowMatrixCase& matrix, const std::vector<double>& got, const std::string& remark,
                        Certificates& certificates, std::optional<std::size_t> but) {
  if (has_one_value(subject_.op)) return judge_call(matrix, got, remark, certificates);
  CountedRows counted;
  if (!rows_stand_alone()) {
    counted = counted_rows(subject_.op, rows_of_call(matrix, subject_.op, subject_.contract));
    if (counted.divides_by_nothing) return;
  }
  WorstFindings worst;
  RowVerdictCache known;
  const std::size_t rows = matrix.rows.size();
  // Key: the row within the cycle, and its auxiliary. Value: the row of this kind that was judged last.
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> judged;
  InputsOfRows& inputs_of_row = inputs_of_rows(matrix);
  for (std::size_t r = 0; r < rows; ++r) {
    numerics::throw_if_interrupted();
    if (r == but || is_special(matrix, r)) continue;
    const std::span<const double> values = row_of(got, matrix, r);
    const auto [like, first] =
        judged.try_emplace({matrix.rows.first_like(r), auxiliary_of_row(matrix.auxiliary, r)}, r);
    // Rows three apart in the cycle may be equal: reuse the earlier judgement.
    if (first && r >= 3 && r - 3 != but && !is_special(matrix, r - 3) && case_of(matrix, r) == case_of(matrix, r - 3))
      like->second = r - 3;
    if (like->second != r && same_bits(values, row_of(got, matrix, like->second))) continue;
    like->second = r;
    const std::vector<std::vector<double>>& inputs = inputs_of_row.at(r);
    const RowVerdicts& verdicts = known.verdicts(inputs, values, [&] {
      return judge_values(subject_.op, subject_.contract, inputs[0], matrix.theta, values, std::span(inputs).subspan(1),
                          subject_.op.rows().attributes(matrix.auxiliary, matrix.columns), counted.weights);
    });
    vacuity_ += verdicts.vacuity;
    const auto in_words = [&] {
      return to_text(case_of(matrix, r)) + words_of_row(matrix, subject_.op, subject_.contract.input, r);
    };
    if (unbounded_row_.empty() && vacuity_.unbounded > 0) unbounded_row_ = in_words();
    ++judged_rows_;
    for (const ValueFinding& finding : verdicts.findings) {
      errors_.add(finding, in_words);
      worst.add(finding, r);
    }
  }
  judge_nan_rows(matrix, got, remark, certificates);
  judge_infinite_rows(matrix, got, remark, certificates);
  const numerics::PrecisionScope precision(113);
  for (const auto& [claim, of] : worst.by_claim()) {
    // Describe only rows whose finding is not proved: a call may have a thousand rows.
    const bool told = of.finding.decision != Decision::proved;
    CallDescription asked = told ? describe_call(matrix, remark, of.row) : CallDescription{};
    if (told) asked.numbers = JudgedNumbers{inputs_of_row.at(of.row)[0], matrix.theta};
    certificates.push_back(
        certificate_of(of.finding, std::move(asked), format_of_ulps(subject_.contract, subject_.contract.output)));
  }
}

unsigned KernelTrial::never_taken() const {
  constexpr std::size_t enough = 12;
  unsigned features = 0;
  for (std::size_t k = 0; k < matrix_features; ++k) {
    if (answers_[k].taken == 0 && answers_[k].refused >= enough) features |= 1u << k;
  }
  return features;
}

Certificates KernelTrial::together(const RowMatrixCase& drawn) {
  Certificates certificates;
  // Features that the kernel always refuses are tested once alone, not again in each large call.
  const RowMatrixCase matrix = without(drawn, never_taken() & features_of(drawn));
  leave_out_refused(drawn, matrix);
  Outputs got = call(matrix, "", certificates);
  if (got) {
    judge(matrix, *got, "", certificates);
    return certificates;
  }
  // The kernel refused: a simpler form may be accepted. After a hang, a crash or a refusal inside the domain there are
  // certificates.
  if (!certificates.empty() || features_of(matrix) == 0) return certificates;
  const RowMatrixCase plain = plain_form(matrix);
  got = call(plain, "", certificates);
  // the kernel refuses the lengths or numbers themselves, so a simpler form does not help
  if (!got) return certificates;
  judge(plain, *got, "", certificates);
  for (const unsigned features : simpler_forms(matrix)) {
    const RowMatrixCase simpler = without(matrix, features);
    got = call(simpler, "", certificates);
    if (!got) continue;
    judge(simpler, *got, "", certificates);
    break;
  }
  return certificates;
}

Certificates KernelTrial::among_neighbours(const RowMatrixCase& matrix) {
  Certificates certificates;
  const Outputs got = call(matrix, "", certificates);
  if (!got) return certificates;
  judge(matrix, *got, "", certificates);
  if (!rows_stand_alone()) return certificates;
  RowMatrixCase single = matrix;
  const RowCase last = case_of(matrix, matrix.rows.size() - 1);
  single.rows = {last.row};
  single.auxiliary = last.auxiliary;
  single.in = single.out = single.visible = {};
  const Outputs alone = call(single, " (the last row alone)", certificates);
  if (!alone) return certificates;
  for (std::size_t r = 0; r < matrix.rows.size(); ++r) {
    if (case_of(matrix, r) != last) continue;
    kernel_.compare(row_of(*got, matrix, r), *alone, subject_.required.batch_invariant, "kernel.batch_invariant",
                    "not batch-invariant: a row gave different bits in another layout or batch",
                    describe_call(matrix, "", r), certificates);
  }
  return certificates;
}

Certificates KernelTrial::with_an_infinity(const RowMatrixCase& matrix) {
  Certificates certificates;
  const std::optional<Place> place = special_place(matrix);
  if (!place || !subject_.domain.shows_infinity()) return certificates;
  std::string remark = " (item " + std::to_string(place->item) + " of row " + std::to_string(place->row) + " +inf";
  std::vector<double> logits = matrix.rows[place->row].expand();
  TensorCall tensors = call_of(matrix, subject_.op, formats(), form());
  const auto set = [&](std::size_t item) {
    logits[item] = drawn_rows(tensors, subject_.op).values[place->row * matrix.columns + item] = infinity;
  };
  set(place->item);
  const std::size_t next = (place->item + 1) % matrix.columns;
  if (matrix.columns % 2 == 0 && std::isfinite(logits[next])) {
    set(next);
    remark += ", and the next";
  }
  remark += ")";
  const Outputs got = call(matrix, tensors, remark, certificates);
  if (!got) return certificates;
  judge_infinite_row(matrix, place->row, logits, *got, remark, certificates);
  judge(matrix, *got, remark, certificates, place->row);
  return certificates;
}

Certificates KernelTrial::in_place(const RowMatrixCase& matrix) { return over_input(matrix, 0, " (in place)"); }

Certificates KernelTrial::over_out_gradient(const RowMatrixCase& matrix) {
  return over_input(matrix, out_gradient_of(subject_.op).value(), " (in place of out_gradient)");
}

Certificates KernelTrial::over_input(const RowMatrixCase& matrix, std::size_t input, const std::string& remark) {
  Certificates certificates;
  CallForm one_view = form();
  one_view.in_place_of = input;
  const Outputs got =
      call(matrix, call_of(matrix, subject_.op, formats(), one_view, inputs_of_rows(matrix)), remark, certificates);
  if (got) judge(matrix, *got, remark, certificates);
  return certificates;
}

}  // namespace softcheck::proptests
