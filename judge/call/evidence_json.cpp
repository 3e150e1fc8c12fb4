// What a report in JSON shows of a kernel's call.
#include <nlohmann/json.hpp>

#include "judge/call/evidence.hpp"
#include "proptests/report/report.hpp"
#include "proptests/report/report_values.hpp"

namespace softcheck::proptests {
namespace {

using Json = nlohmann::ordered_json;

const char* end_word(CallEnd end) {
  static constexpr const char* words[] = {"done", "refused", "crashed", "timed out", "malformed", "not made"};
  return words[static_cast<std::size_t>(end)];
}

/// JSON has no NaN and no infinity: "got" is then null, and "got_text" has the value.
Json value_json(const ReportedValue& value) {
  Json result;
  if (value.item) result["item"] = *value.item;
  if (value.expected) result["expected"] = enclosure_json(*value.expected);
  if (!value.due.empty()) result["due"] = value.due;
  result["got"] = number_json(value.got);
  result["got_text"] = value.got_text();
  if (value.ulps) result["ulps"] = number_json(*value.ulps);
  result["format"] = numerics::properties(value.format).name;
  return result;
}

}  // namespace

Json KernelEvidence::to_json() const {
  Json result;
  result["case"] = printable_utf8(asked.case_text);
  result["remark"] = asked.remark;
  if (asked.row) result["row"] = *asked.row;
  if (!asked.row_text.empty()) result["row_text"] = asked.row_text;
  if (value) result["value"] = value_json(*value);
  if (certification) {
    static constexpr const char* outcomes[] = {"proved", "not covered", "disagreement"};
    result["certification"] = {{"outcome", outcomes[static_cast<std::size_t>(certification->outcome)]},
                               {"text", printable_utf8(certification->text)}};
  }
  if (ending) {
    result["end"] = end_word(ending->end);
    result["death"] = printable_utf8(ending->death);
    result["printed"] = lines_json(ending->printed);
  }
  return result;
}

}  // namespace softcheck::proptests
