// softcheck_describe: the tables of ops, formats, words and verdicts.
#include <algorithm>
#include <string>

#include "judge/op/op.hpp"
#include "library/answer.hpp"
#include "library/build_info.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::library {
namespace {

using namespace proptests;
using Json = nlohmann::ordered_json;

const char* extent_name(Extent extent) {
  static constexpr const char* names[] = {"items", "rows", "vectors", "classes", "call"};
  return names[static_cast<std::size_t>(extent)];
}

Json inputs_of(Op op) {
  Json inputs = Json::array();
  for (const OpInput& input : op->inputs) {
    inputs.push_back({{"role", to_string(input.role)},
                      {"extent", extent_name(input.extent)},
                      {"index", input.is_index},
                      {"optional", input.optional}});
  }
  if (op->is_of_states()) std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());  // the order of a call
  return inputs;
}

Json ops() {
  Json result = Json::array();
  for (const Op op : all_ops()) {
    result.push_back({{"name", to_string(op)},
                      {"of", op->is_linear()      ? "linear"
                             : op->is_attention() ? "attention"
                                                  : "rows"},
                      {"inputs", inputs_of(op)},
                      {"outputs", op->outputs},
                      {"claims", op->claims},
                      {"value_per_row", op->one_value_per_row},
                      {"whole_calls", op->of_whole_calls},
                      {"theta", op->has_theta},
                      {"optional_theta", op->optional_theta},
                      {"mask", op->takes_mask},
                      {"in_place", op->may_be_in_place},
                      {"attributes", op->attributes},
                      {"packed", op->packed},
                      {"pages", op->pages},
                      {"filters", op->filters},
                      {"sigmoid", op->sigmoid}});
  }
  return result;
}

Json formats() {
  Json result = Json::array();
  for (const numerics::Format format : numerics::all_formats()) {
    const numerics::FormatProperties& is = numerics::properties(format);
    result.push_back({{"name", is.name},
                      {"array_dtype", is.array_name},
                      {"dlpack_code", is.dlpack_code},
                      {"bits", is.storage_bits},
                      {"precision", is.precision},
                      {"unit_roundoff", is.unit_roundoff},
                      {"smallest_normal", is.smallest_normal},
                      {"smallest_subnormal", is.smallest_subnormal},
                      {"largest", is.largest},
                      {"infinity", is.has_infinity}});
  }
  return result;
}

Json contract_words() {
  Json result = Json::array();
  for (const numerics::ContractWord& word : numerics::contract_words()) {
    result.push_back({{"word", word.key}, {"values", word.values}, {"grants", word.grants}});
  }
  return result;
}

Json domain_words() {
  static constexpr const char* calls[] = {"rows", "attention", "both"};
  Json result = Json::array();
  for (const DomainWord& word : proptests::domain_words()) {
    result.push_back({{"word", word.word}, {"of", calls[static_cast<std::size_t>(word.calls)]}, {"means", word.means}});
  }
  return result;
}

Json verdicts() {
  Json result = Json::array();
  for (const ReportVerdict verdict :
       {ReportVerdict::pass, ReportVerdict::fail, ReportVerdict::refused, ReportVerdict::vacuous,
        ReportVerdict::undecided, ReportVerdict::crash, ReportVerdict::timeout}) {
    result.push_back({{"verdict", to_string(verdict)}, {"exit_code", exit_code(verdict)}});
  }
  return result;
}

std::string description() {
  return Json{{"version", this_build().version},
              {"ops", ops()},
              {"dtypes", formats()},
              {"contract_words", contract_words()},
              {"domain_words", domain_words()},
              {"verdicts", verdicts()}}
      .dump();
}

}  // namespace
}  // namespace softcheck::library

const char* softcheck_describe(void) {
  static const std::string text = softcheck::library::description();
  return text.c_str();
}
