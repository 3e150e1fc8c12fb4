#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "proptests/report/report_parts.hpp"

namespace softcheck::proptests {

/// The numbers of a row as they were judged.
struct JudgedNumbers {
  std::vector<double> logits;  // masked items are -inf
  double theta = 1;
};

/// A kernel's call: the case, the judge's changes to it, and the row of the certificate.
struct CallDescription {
  std::string case_text;                          // one line that names the case
  std::string remark = {};                        // follows the case text: " (second call)"
  std::optional<std::size_t> row = {};            // index of the row in the call; none: all rows, or the only one
  std::string place = {};                         // follows the remark: " row 3 of 12"
  std::string row_text = {};                      // that row as a case of its own
  std::optional<JudgedNumbers> numbers = {};      // the row's numbers, if one of its values failed
  std::shared_ptr<const TensorCall> passed = {};  // the call, if the kernel keeps calls (watched_kernel.hpp)
  bool alone = false;                             // earlier calls cannot have influenced the results
  bool hides_nan = false;                         // the call holds a NaN that this row must not read

  std::string text() const { return case_text + remark + place; }
};

/// The value that decided a certificate.
struct ReportedValue {
  std::optional<std::size_t> item;              // the item in its row; none: a value of the whole row
  std::optional<numerics::Enclosure> expected;  // none: judged by its kind, such as NaN, and not by its size
  std::string due = {};                         // required in place of, or as an alternative to, `expected`: "NaN"
  double got = 0;
  std::optional<double> ulps = {};  // |got - expected| in ulps of format at expected; none if that has no size
  numerics::Format format = numerics::Format::f32;
  bool by_rule = false;   // broke a rule without a threshold: the sign of a zero, a range
  bool is_index = false;  // got is an item's index

  /// " item=3 expected=0x1p-1 got=0x1p-2 error=3ulp(f32)"
  std::string text() const;
  /// "0x1p-2"; "3" of an index.
  std::string got_text() const;
  /// The exact value, or `due` instead.
  std::string expected_text() const;
  /// "3ulp(f32)"; empty if the error has no size in ulps.
  std::string error_text() const;
};

/// How a call without an answer ended.
struct CallEnding {
  CallEnd end = CallEnd::done;
  std::string death;                      // "signal 11 (Segmentation fault)"
  std::vector<std::string> printed = {};  // the last lines that the kernel printed
  std::vector<std::int64_t> shape = {};   // of the first input
};

/// The extracted judge's answer (extracted_judge.hpp) about a failure.
struct Certification {
  enum class Outcome { proved, not_covered, disagrees };
  Outcome outcome = Outcome::not_covered;
  std::string text;  // "proved by the extracted judge"
};

/// What the judge observed of a kernel, attached to a certificate. Reports take all their facts about a call from here.
/// The certificate's witness says the same in one line for readers; no program parses it.
struct KernelEvidence final : ReportedEvidence {
  CallDescription asked;
  std::optional<ReportedValue> value;
  std::optional<CallEnding> ending;
  std::optional<Certification> certification = {};  // only if requested

  std::string text() const;
  /// {"case", "remark", "row", "row_text", "value": {"item", "expected", "due", "got", "got_text", "ulps", "format"},
  /// "certification", "end", "death", "printed"}; absent fields are left out.
  nlohmann::ordered_json to_json() const override;
};

/// The certificate with this evidence; its witness is written from the evidence.
numerics::Certificate with_evidence(numerics::Certificate certificate, KernelEvidence evidence);

/// Marks the certificate as one of a call whose results no earlier call can have influenced.
///
/// case_text   the whole call as one case; used if the evidence names no row
numerics::Certificate of_call_alone(numerics::Certificate certificate, const std::string& case_text = "");

/// Null if the certificate has no KernelEvidence.
const KernelEvidence* evidence_of(const numerics::Certificate& certificate);

}  // namespace softcheck::proptests
