// Saves and loads the state of an exhaustive judgement; formats the report's line about one enumeration.
#include "judge/exhaustive/exhaustive_state.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "judge/exhaustive/exhaustive_judge.hpp"
#include "models/read/file_errors.hpp"
#include "models/read/file_source.hpp"
#include "models/read/strict_json.hpp"

namespace softcheck::proptests {
namespace {

using Json = nlohmann::json;

constexpr const char* format = "softcheck exhaustive judgement 2";
constexpr int deepest_nesting = 4;                               // object, sums, claims, one claim
constexpr std::uint64_t largest_state = std::uint64_t{1} << 28;  // states have some kilobytes

// The JSON library would silently convert a negative number or a fraction to a count.
std::uint64_t count(const Json& json) {
  if (!json.is_number_unsigned()) throw std::out_of_range("need a count");
  return json.get<std::uint64_t>();
}

// A number as its bits: JSON has no NaN.
std::uint64_t bits(double number) { return std::bit_cast<std::uint64_t>(number); }
double number(const Json& json) { return std::bit_cast<double>(count(json)); }

Json json_of(const ExhaustiveStatement& one) {
  return {one.name,           one.rows,
          one.judged,         static_cast<int>(one.verdict),
          bits(one.share),    one.claim,
          one.worst,          bits(one.share_at_most),
          one.exponential_at, one.least_exponential,
          bits(one.seconds)};
}

ExhaustiveStatement statement_of(const Json& json) {
  ExhaustiveStatement one;
  one.name = json.at(0);
  one.rows = count(json.at(1));
  one.judged = count(json.at(2));
  const std::uint64_t verdict = count(json.at(3));
  if (verdict > static_cast<std::uint64_t>(ReportVerdict::pass)) throw std::out_of_range("no such verdict");
  one.verdict = static_cast<ReportVerdict>(verdict);
  one.share = number(json.at(4));
  one.claim = json.at(5);
  one.worst = json.at(6);
  one.share_at_most = number(json.at(7));
  one.exponential_at = json.at(8);
  one.least_exponential = json.at(9);
  one.seconds = number(json.at(10));
  return one;
}

Json json_of(const ClaimTallies::Sums& sums) {
  Json claims = Json::object(), errors = Json::object();
  for (const auto& [claim, one] : sums.claims) claims[claim] = {one.decided, one.undecided, bits(one.tightest_slack)};
  for (const auto& [claim, one] : sums.errors) {
    errors[claim] = {one.values,          bits(one.largest_share),      bits(one.worst_ulps),
                     bits(one.bias_ulps), bits(one.worst_allowed_ulps), one.worst_witness};
  }
  const VacuityCount& v = sums.vacuity;
  return {{"claims", claims},
          {"errors", errors},
          {"vacuity", {v.judged, v.vacuous, v.rows, v.unbounded, v.unresolved}},
          {"notes", sums.notes}};
}

ClaimTallies::Sums sums_of(const Json& json) {
  ClaimTallies::Sums sums;
  for (const auto& [claim, one] : json.at("claims").items()) {
    sums.claims[claim] = {count(one.at(0)), count(one.at(1)), number(one.at(2))};
  }
  for (const auto& [claim, one] : json.at("errors").items()) {
    sums.errors[claim] = {count(one.at(0)),  number(one.at(1)), number(one.at(2)),
                          number(one.at(3)), number(one.at(4)), one.at(5)};
  }
  const Json& v = json.at("vacuity");
  sums.vacuity.judged = count(v.at(0));
  sums.vacuity.vacuous = count(v.at(1));
  sums.vacuity.rows = count(v.at(2));
  sums.vacuity.unbounded = count(v.at(3));
  sums.vacuity.unresolved = count(v.at(4));
  sums.notes = json.at("notes").get<std::set<std::string>>();
  return sums;
}

Json json_of(const ExhaustiveState& state) {
  Json statements = Json::array(), places = Json::array();
  for (const ExhaustiveStatement& one : state.statements) statements.push_back(json_of(one));
  for (const auto& [place, error] : state.places) {
    places.push_back({place.first, place.second, bits(error.argument), bits(error.ulps), bits(error.allowed_ulps),
                      bits(error.share)});
  }
  Json json = {{"subject", state.subject},
               {"enumeration", state.enumeration},
               {"block", state.block},
               {"statements", statements},
               {"sums", json_of(state.sums)},
               {"refused", state.refused},
               {"notes", state.notes},
               {"places", places},
               {"calls", {state.calls, state.refused_calls}},
               {"seconds", {bits(state.seconds), bits(state.processor_seconds)}}};
  if (state.ladder) json["ladder"] = {state.ladder->rung, state.ladder->broken_at};
  return json;
}

ExhaustiveState state_of(const Json& json) {
  ExhaustiveState state;
  state.subject = json.at("subject");
  state.enumeration = count(json.at("enumeration"));
  state.block = count(json.at("block"));
  for (const Json& one : json.at("statements")) state.statements.push_back(statement_of(one));
  state.sums = sums_of(json.at("sums"));
  state.refused = json.at("refused").get<std::set<std::string>>();
  state.notes = json.at("notes").get<std::set<std::string>>();
  for (const Json& one : json.at("places")) {
    if (!one.at(1).is_number_integer()) throw std::out_of_range("need a place");
    state.places[{count(one.at(0)), one.at(1).get<int>()}] = {count(one.at(0)), number(one.at(2)), number(one.at(3)),
                                                              number(one.at(4)), number(one.at(5))};
  }
  state.calls = count(json.at("calls").at(0));
  state.refused_calls = count(json.at("calls").at(1));
  state.seconds = number(json.at("seconds").at(0));
  state.processor_seconds = number(json.at("seconds").at(1));
  if (json.contains("ladder")) state.ladder = {count(json.at("ladder").at(0)), json.at("ladder").at(1)};
  return state;
}

std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// A row's text, cut to the length of a line.
std::string shortened(const std::string& text) {
  constexpr std::size_t most = 160;
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

}  // namespace

std::string identity_of(const KernelSubject& subject, const std::vector<std::unique_ptr<Enumeration>>& enumerations) {
  const KernelSource& source = subject.source;
  if (source.callable || source.forwarded) {
    throw std::invalid_argument("resume: need a library's kernel, got a function of this program");
  }
  std::error_code error;
  const auto size = std::filesystem::file_size(source.library, error);
  const auto made = std::filesystem::last_write_time(source.library, error).time_since_epoch().count();
  const auto name = [](numerics::Format format) { return std::string(numerics::properties(format).name); };
  std::string text = source.library + ":" + source.symbol + " " + std::string(to_string(subject.op)) + " " +
                     name(subject.contract.input) + " to " + name(subject.contract.output) + " [" +
                     numerics::to_string(subject.contract) + "] domain [" + to_string(subject.domain) + "]";
  for (const std::string& claim : subject.exempt) text += " exempt " + claim;
  text += "; " + std::to_string(size) + " bytes, of time " + std::to_string(made);
  for (const auto& one : enumerations) text += "; " + one->name() + ", calls: " + std::to_string(one->blocks());
  return text;
}

bool is_of(const ExhaustiveState& state, const std::vector<std::unique_ptr<Enumeration>>& enumerations) {
  const std::size_t begun = state.statements.size(), done = state.enumeration;
  if (done > enumerations.size() || begun < done || begun > std::min(done + 1, enumerations.size())) return false;
  if (begun == done && state.block != 0) return false;
  for (std::size_t k = 0; k < begun; ++k) {
    const Enumeration& rows = *enumerations[k];
    const ExhaustiveStatement& one = state.statements[k];
    const std::uint64_t next = k < done ? rows.blocks() : state.block;
    if (next > rows.blocks() || one.name != rows.name() || one.rows != rows.rows_before(rows.blocks())) return false;
    if (one.judged != rows.rows_before(next) && !state.refused.contains(one.name)) return false;
  }
  return true;
}

void write_state(const ExhaustiveState& state, const std::string& file) {
  const std::string unfinished = file + "." + std::to_string(getpid());
  std::error_code ignored;  // if the write failed early, there is no file
  {
    std::ofstream out(unfinished, std::ios::binary);
    out << models::sealed_json(json_of(state), format);
    out.flush();
    if (!out) {
      std::filesystem::remove(unfinished, ignored);
      throw ResumeError("resume: need a file that can be written, got " + file);
    }
  }
  std::error_code error;
  std::filesystem::rename(unfinished, file, error);
  if (!error) return;
  std::filesystem::remove(unfinished, ignored);
  throw ResumeError("resume: need a file that can be written, got " + file + " (" + error.message() + ")");
}

std::optional<ExhaustiveState> read_state(const std::string& file, const std::string& subject) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  const auto damaged = [&] {
    return ResumeError("resume: need a file of an exhaustive judgement, got " + file + ", which is none or damaged");
  };
  ExhaustiveState state;
  try {
    state = state_of(models::unsealed_json(models::read_text_file(file, largest_state), file, format, deepest_nesting));
  } catch (const models::TensorFileError&) {
    throw damaged();
  } catch (const Json::exception&) {  // a missing member, or one of another type
    throw damaged();
  } catch (const std::out_of_range&) {
    throw damaged();
  }
  if (state.subject != subject) {
    // Leaves out the library's size and time and the enumerations, which mean nothing to the user.
    const auto head = [](const std::string& text) { return text.substr(0, text.find(';')); };
    throw ResumeError("resume: need a file of this judgement, of " + head(subject) + ", got " + file + " of " +
                      (head(state.subject) == head(subject) ? "another build of the library, or of other arguments"
                                                            : head(state.subject)));
  }
  return state;
}

std::string ExhaustiveStatement::text() const {
  std::string text = name + ": " + std::to_string(judged);
  if (judged < rows) text += " of " + std::to_string(rows);
  text += " rows";
  if (verdict == ReportVerdict::pass) text += ", all within the contract";
  if (verdict == ReportVerdict::fail) text += " before the first that is not within the contract";
  if (verdict == ReportVerdict::undecided) text += ", so far within the contract";
  if (verdict == ReportVerdict::refused) text += ", the rest refused";
  if (!worst.empty() && std::isfinite(share)) {
    text += "; worst " + short_number(share) + " of the threshold of " + claim + " at " + shortened(worst);
    if (share_at_most > share) text += ", no row above " + short_number(share_at_most * (1 + 5e-5));
  }
  if (!least_exponential.empty()) {
    text += "; the least word that holds for all of them is " + least_exponential;
    text += exponential_at.empty() ? ", the lowest that is tried" : ", as " + shortened(exponential_at) + " needs it";
  }
  return text;
}

}  // namespace softcheck::proptests
