// The line of a report about one enumeration.
#include <cmath>
#include <cstdio>
#include <string>

#include "judge/exhaustive/exhaustive_judge.hpp"

namespace softcheck::proptests {

namespace {

std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// Of a row, as far as a line may be.
std::string shortened(const std::string& text) {
  constexpr std::size_t most = 160;
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

}  // namespace

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
