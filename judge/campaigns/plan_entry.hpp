#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace softcheck::proptests {

/// The error of an invalid plan: "plan.toml:3: KEY: need ..., got ...".
class PlanError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// One value of a plan.
struct PlanValue {
  std::variant<std::monostate, bool, std::int64_t, double, std::string> value;  // monostate: a table, a list or a date
  std::string text;                                                             // in TOML, for messages
};

/// A key of a table with its value, or the values of its list.
class PlanKey {
 public:
  /// place    "plan.toml:3: "
  PlanKey(std::string place, std::string name, std::vector<PlanValue> values, bool is_list)
      : place_(std::move(place)), name_(std::move(name)), values_(std::move(values)), is_list_(is_list) {}

  const std::string& name() const { return name_; }
  const std::string& place() const { return place_; }

  /// All values; one if the key has no list.
  std::vector<std::string> texts(std::string_view need, bool may_be_empty = false) const;
  std::vector<std::int64_t> integers(std::int64_t least, std::int64_t most) const;
  std::vector<double> numbers(double least, double most) const;

  /// The key's only value.
  std::string text(std::string_view need) const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;
  bool flag() const;

  /// throws   PlanError with the key's line
  [[noreturn]] void wrong(const std::string& need, const std::string& got) const;
  /// Throws for a key that its table does not have: "need A, B or C, got 'D'".
  [[noreturn]] void unknown(const std::string& known) const;

 private:
  [[noreturn]] void wrong(const std::string& need) const;
  const PlanValue& only(const std::string& need) const;
  void require_some(const std::string& need) const;

  std::string place_, name_;
  std::vector<PlanValue> values_;
  bool is_list_;
};

/// One [[table]] of a plan.
struct PlanEntry {
  std::string place;  // of its first line
  std::vector<PlanKey> keys;
};

}  // namespace softcheck::proptests
