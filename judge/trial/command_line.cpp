#include "judge/trial/command_line.hpp"

#include <algorithm>
#include <sstream>

namespace softcheck::proptests {
namespace {

std::string name_of(numerics::Format format) { return std::string(properties(format).name); }

// Quotes for a shell, in single quotes.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char character : text) result += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return result + "'";
}

std::string requirement_words(const Requirements& required) {
  std::string words;
  if (required.deterministic) words += ",deterministic";
  if (required.batch_invariant) words += ",batch-invariant";
  if (required.in_place) words += ",in-place";
  if (required.over_out_gradient) words += ",in-place=out_gradient";
  return words.empty() ? words : words.substr(1);
}

std::string call_of_conforms(const KernelSubject& subject, std::string_view replay) {
  std::string words = std::string(to_string(subject.op)) + " " + name_of(subject.contract.input);
  if (subject.contract.output != output_format(subject.op, subject.contract.input)) {
    words += " out=" + name_of(subject.contract.output);
  }
  const std::string contract = words_beyond_default(subject.contract);
  if (!contract.empty()) words += " " + contract;
  std::string required = requirement_words(subject.required);
  std::ranges::replace(required, ',', ' ');
  if (!required.empty()) words += " " + required;
  if (!subject.domain.everything()) words += " on " + to_string(subject.domain);
  for (const std::string& claim : subject.exempt) words += " exempt=" + claim;
  const std::string one_case = replay.empty() ? "" : ", {.replay = \"" + std::string(replay) + "\"}";
  return "softcheck::conforms(" + subject.source.symbol + ", \"" + words + "\"" + one_case + ")";
}

// The program's own call (KernelSource::again) with its placeholders filled.
std::string judged_again(const KernelSubject& subject, std::string_view replay) {
  std::string line = subject.source.again;
  const auto fill = [&line](std::string_view place, std::string_view name, std::string_view text) {
    const std::size_t found = line.find(place);
    if (found == std::string::npos) return;
    const std::string argument = text.empty() ? "" : ", " + std::string(name) + "='" + std::string(text) + "'";
    line.replace(found, place.size(), argument);
  };
  fill("{contract}", "contract", words_beyond_default(subject.contract));
  fill("{domain}", "domain", to_string(subject.domain));
  fill("{replay}", "replay", replay);
  return line;
}

// The members of softcheck_options that differ from their defaults, in the header's order.
std::string options_in_c(const KernelSubject& subject) {
  std::string members = "{.size = sizeof(softcheck_options)";
  const auto add = [&members](std::string_view member, const std::string& words) {
    if (!words.empty()) members += ", ." + std::string(member) + " = \"" + words + "\"";
  };
  const numerics::Format input = subject.contract.input, output = subject.contract.output;
  std::string exempt;
  for (const std::string& claim : subject.exempt) exempt += (exempt.empty() ? "" : " ") + claim;
  add("op", std::string(to_string(subject.op)));
  add("dtype", name_of(input));
  add("out_dtype", output == output_format(subject.op, input) ? "" : name_of(output));
  add("domain", subject.domain.everything() ? "" : to_string(subject.domain));
  add("require", requirement_words(subject.required));
  add("exempt", exempt);
  return members + "}";
}

}  // namespace

std::string words_beyond_default(const numerics::Contract& contract) {
  std::istringstream words(numerics::to_string(contract));
  const std::string usual =
      " " + numerics::to_string(numerics::default_contract(contract.input, contract.output)) + " ";
  std::string result, word;
  while (words >> word) {
    if (usual.find(" " + word + " ") == std::string::npos) result += (result.empty() ? "" : " ") + word;
  }
  return result;
}

std::string narrow_accumulator(const numerics::Contract& contract) {
  const numerics::FormatProperties &acc = numerics::properties(contract.accumulator),
                                   &output = numerics::properties(contract.output);
  if (acc.precision >= output.precision) return "";
  const std::string narrow(acc.name), wide(output.name);
  return "acc=" + narrow + " grants the " + wide + " results " + narrow + "'s unit roundoff, 2^-" +
         std::to_string(acc.precision) + "; acc=" + wide + " grants 2^-" + std::to_string(output.precision) +
         "; ulps are " + narrow + "'s";
}

std::string command_line(const KernelSubject& subject, std::string_view replay) {
  if (!subject.source.again.empty()) return judged_again(subject, replay);
  if (subject.source.callable) return call_of_conforms(subject, replay);
  const numerics::Format input = subject.contract.input, output = subject.contract.output;
  const std::string contract = words_beyond_default(subject.contract), required = requirement_words(subject.required);
  std::string line = "softcheck kernel " + shell_quoted(subject.source.library + ":" + subject.source.symbol) +
                     " --op " + std::string(to_string(subject.op)) + " --dtype " + name_of(input);
  if (output != output_format(subject.op, input)) line += " --out-dtype " + name_of(output);
  if (subject.source.device == Device::cuda) line += " --device cuda";
  if (!contract.empty()) line += " --contract " + shell_quoted(contract);
  if (!required.empty()) line += " --require " + required;
  for (const std::string& claim : subject.exempt) line += " --exempt " + claim;
  if (!subject.domain.everything()) line += " --domain " + shell_quoted(to_string(subject.domain));
  if (!replay.empty()) line += " --replay " + shell_quoted(replay);
  return line;
}

std::string command_of_inference(const KernelSubject& subject) {
  if (subject.source.again.empty() && subject.source.callable) {
    return "softcheck_infer_function(" + subject.source.symbol +
           ", NULL, &options, &report) of softcheck/softcheck.h, " + "where options is " + options_in_c(subject) +
           " and " + subject.source.symbol + " an int(const softcheck_call*, void*),";
  }
  const std::string judged = command_line(subject);
  const auto starts = [&judged](std::string_view words) { return judged.starts_with(words); };
  constexpr std::string_view python = "softcheck.check(", in_c = "softcheck_judge_function(";
  if (starts(python)) return "softcheck.infer(" + judged.substr(python.size());
  if (starts(in_c)) return "softcheck_infer_function(" + judged.substr(in_c.size()) + " but contract NULL,";
  return starts("softcheck kernel ") ? judged + " --infer" : "";
}

}  // namespace softcheck::proptests
