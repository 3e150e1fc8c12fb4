#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "proptests/report/report_values.hpp"

namespace softcheck::proptests {

/// A row as it was judged.
struct JudgedNumbers {
  std::vector<double> logits;  // masked items are -inf
  double theta = 1;
};

/// A kernel's call: the case, the judge's changes to it, and the row of the certificate.
struct CallDescription {
  std::string case_text;                          // one line that names the case
  std::string remark = {};                        // as it follows the case: " (second call)"
  std::optional<std::size_t> row = {};            // which of the call's rows; none: all of them, or the only one
  std::string place = {};                         // of that row, as it follows the remark: " row 3 of 12"
  std::string row_text = {};                      // that row as a case of its own
  std::optional<JudgedNumbers> numbers = {};      // that row, where a value of it failed
  std::shared_ptr<const TensorCall> passed = {};  // the call, while the kernel keeps calls (watched_kernel.hpp)
  bool alone = false;                             // no earlier call can have a part in the results
  bool hides_nan = false;                         // the call holds a NaN that this row may not see

  std::string text() const { return case_text + remark + place; }
};

/// The value that a certificate was decided by.
struct ReportedValue {
  std::optional<std::size_t> item;              // of its row; none: a value of the whole row
  std::optional<numerics::Enclosure> expected;  // none: right or wrong by what it is, such as NaN
  std::string due = {};                         // the expected value where it is not a number, or may be none: "NaN"
  double got = 0;
  std::optional<double> ulps = {};  // |got - expected| in ulps of format at expected; none without a size
  numerics::Format format = numerics::Format::f32;
  bool by_rule = false;   // what it broke is excused by no threshold: the sign of a zero, a range
  bool is_index = false;  // got is the number of an item

  /// " item=3 expected=0x1p-1 got=0x1p-2 error=3ulp(f32)"
  std::string text() const;
  /// "0x1p-2"; "3" of an index.
  std::string got_text() const;
  /// The exact value, or the required one in its place.
  std::string expected_text() const;
  /// "3ulp(f32)"; empty where the error has no size in ulps.
  std::string error_text() const;
};

/// How a call ended that was not answered.
struct CallEnding {
  CallEnd end = CallEnd::done;
  std::string death;                      // "signal 11 (Segmentation fault)"
  std::vector<std::string> printed = {};  // the last lines that it had printed
  std::vector<std::int64_t> shape = {};   // of the first input
};

/// What the extracted judge (extracted_judge.hpp) said of a failure.
struct Certification {
  enum class Outcome { proved, not_covered, disagrees };
  Outcome outcome = Outcome::not_covered;
  std::string text;  // "proved by the extracted judge"
};

/// The judge's observations of a kernel beside the sides of a certificate. A report takes all its facts about a call
/// from here. The certificate's witness is the same in one line, which no program reads.
struct KernelEvidence final : ReportedEvidence {
  CallDescription asked;
  std::optional<ReportedValue> value;
  std::optional<CallEnding> ending;
  std::optional<Certification> certification = {};  // where it was asked for

  std::string text() const;
  /// {"case", "remark", "row", "row_text", "value": {"item", "expected", "due", "got", "got_text", "ulps", "format"},
  /// "certification", "end", "death", "printed"}, as far as there is such.
  nlohmann::ordered_json to_json() const override;
};

/// The certificate with its evidence, and its witness written from that.
numerics::Certificate with_evidence(numerics::Certificate certificate, KernelEvidence evidence);

/// The certificate of a call in whose results no earlier call can have a part.
///
/// case_text   the whole call as a case of its own, where the evidence names no row as one
numerics::Certificate of_call_alone(numerics::Certificate certificate, const std::string& case_text = "");

/// Null if the certificate is not about a kernel.
const KernelEvidence* evidence_of(const numerics::Certificate& certificate);

}  // namespace softcheck::proptests
