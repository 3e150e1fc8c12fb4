#include "judge/campaigns/plan_entry.hpp"

#include <array>
#include <cstdio>
#include <optional>

namespace softcheck::proptests {
namespace {

std::optional<double> number_of(const PlanValue& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return static_cast<double>(*number);
  return std::nullopt;
}

std::string integers_between(std::int64_t least, std::int64_t most) {
  return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string numbers_between(double least, double most) {
  std::array<char, 96> text;
  std::snprintf(text.data(), text.size(), "a number from %g to %g", least, most);
  return text.data();
}

}  // namespace

void PlanKey::wrong(const std::string& need, const std::string& got) const {
  throw PlanError(place_ + name_ + ": need " + need + ", got " + got);
}

void PlanKey::unknown(const std::string& known) const {
  throw PlanError(place_ + "need " + known + ", got '" + name_ + "'");
}

void PlanKey::wrong(const std::string& need) const {
  std::string got = is_list_ ? "[" : "";
  for (const PlanValue& value : values_) got += (&value == &values_.front() ? "" : ", ") + value.text;
  wrong(need, got + (is_list_ ? "]" : ""));
}

const PlanValue& PlanKey::only(const std::string& need) const {
  if (is_list_) wrong(need);
  return values_.front();
}

void PlanKey::require_some(const std::string& need) const {
  if (values_.empty()) wrong(need, "an empty list");
}

std::vector<std::string> PlanKey::texts(std::string_view need, bool may_be_empty) const {
  const std::string needed(need);
  if (!may_be_empty) require_some(needed);
  std::vector<std::string> texts;
  for (const PlanValue& value : values_) {
    const auto* text = std::get_if<std::string>(&value.value);
    if (text == nullptr) wrong(needed);
    texts.push_back(*text);
  }
  return texts;
}

std::vector<std::int64_t> PlanKey::integers(std::int64_t least, std::int64_t most) const {
  const std::string need = integers_between(least, most);
  require_some(need);
  std::vector<std::int64_t> integers;
  for (const PlanValue& value : values_) {
    const auto* integer = std::get_if<std::int64_t>(&value.value);
    if (integer == nullptr || *integer < least || *integer > most) wrong(need, value.text);
    integers.push_back(*integer);
  }
  return integers;
}

std::vector<double> PlanKey::numbers(double least, double most) const {
  const std::string need = numbers_between(least, most);
  require_some(need);
  std::vector<double> numbers;
  for (const PlanValue& value : values_) {
    const std::optional<double> number = number_of(value);
    if (!number || !(*number >= least && *number <= most)) wrong(need, value.text);
    numbers.push_back(*number);
  }
  return numbers;
}

std::string PlanKey::text(std::string_view need) const {
  const auto* text = std::get_if<std::string>(&only(std::string(need)).value);
  if (text == nullptr) wrong(std::string(need));
  return *text;
}

std::int64_t PlanKey::integer(std::int64_t least, std::int64_t most) const {
  only(integers_between(least, most));
  return integers(least, most).front();
}

double PlanKey::number(double least, double most) const {
  only(numbers_between(least, most));
  return numbers(least, most).front();
}

bool PlanKey::flag() const {
  const auto* flag = std::get_if<bool>(&only("true or false").value);
  if (flag == nullptr) wrong("true or false");
  return *flag;
}

}  // namespace softcheck::proptests
