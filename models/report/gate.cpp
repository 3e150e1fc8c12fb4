#include "models/report/gate.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::models {
namespace {

struct Field {
  std::string name;
  Supremum (*ends)(const HeadCertificate&);
};

Supremum ends_of(const numerics::Enclosure& x) { return {x.lower_double(), x.upper_double()}; }

// The logit is the same real number in every format; the name says in which one it must fit.
const std::vector<Field>& known() {
  using Head = const HeadCertificate&;
  static const std::vector<Field> fields = [] {
    std::vector<Field> all{{"spread.product", [](Head h) { return ends_of(h.product); }},
                           {"spread.folded", [](Head h) { return ends_of(h.folded); }},
                           {"spread.joint", [](Head h) { return ends_of(h.joint); }},
                           {"spread.best", [](Head h) { return h.spread; }}};
    const auto add = [&](const std::string& name, int least_bits, Supremum (*ends)(Head)) {
      all.push_back({name, ends});
      for (const OverflowFormat& format : overflow_formats()) {
        if (format.bits >= least_bits) all.push_back({name + "." + format.name, ends});
      }
    };
    add("logit", 8, [](Head h) { return h.logit; });
    add("score", 16, [](Head h) { return h.score; });
    all.insert(all.end(), {{"dispersion_length_log10", [](Head h) { return h.dispersion_length_log10; }},
                           {"entropy_floor", [](Head h) { return h.entropy_floor; }},
                           {"largest_coefficient", [](Head h) { return h.largest_coefficient; }},
                           {"identity_length_log10", [](Head h) { return h.identity_length_log10; }},
                           {"reached", [](Head h) {
                              return Supremum{tightness(h), tightness(h)};
                            }}});
    return all;
  }();
  return fields;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::vector<std::string> Gate::fields() {
  std::vector<std::string> names;
  for (const Field& field : known()) names.push_back(field.name);
  return names;
}

Gate Gate::parse(const std::string& text) {
  Gate gate;
  gate.text_ = trimmed(text);
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string::npos)
    throw std::invalid_argument("need FIELD > NUMBER or FIELD < NUMBER, got '" + text + "'");
  gate.above_ = text[sign] == '>';
  gate.or_equal_ = sign + 1 < text.size() && text[sign + 1] == '=';
  const std::string_view name = trimmed(std::string_view(text).substr(0, sign));
  const std::string_view number = trimmed(std::string_view(text).substr(sign + (gate.or_equal_ ? 2 : 1)));
  while (gate.field_ < known().size() && known()[gate.field_].name != name) ++gate.field_;
  if (gate.field_ == known().size()) {
    std::string names;
    for (const Field& field : known()) names += (names.empty() ? "" : ", ") + field.name;
    throw std::invalid_argument("need one of " + names + ", got '" + std::string(name) + "'");
  }
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), gate.limit_);
  if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(gate.limit_)) {
    throw std::invalid_argument("need a finite number behind '" + std::string(1, text[sign]) + "', got '" +
                                std::string(number) + "'");
  }
  return gate;
}

double Gate::value(const HeadCertificate& head) const {
  const Supremum ends = known()[field_].ends(head);
  return above_ ? ends.upper : ends.lower;
}

numerics::Certificate Gate::certify(const HeadCertificate& head) const {
  using numerics::Enclosure;
  const std::string witness =
      "head " + std::to_string(head.head.layer) + "." + std::to_string(head.head.head) + ": " + text_;
  const Enclosure at(value(head)), limit(limit_);
  const numerics::Sides sides = above_ ? numerics::Sides{at, limit} : numerics::Sides{limit, at};
  const std::string claim = "fail-if " + text_;
  return or_equal_ ? numerics::certify_less(claim, witness, [&] { return sides; })
                   : numerics::certify_less_equal(claim, witness, [&] { return sides; });
}

bool Gate::closes(const HeadCertificate& head) const {
  const double at = value(head);
  if (at == limit_) return or_equal_;
  return !(above_ ? at < limit_ : at > limit_);  // a NaN excludes nothing: the gate closes
}

}  // namespace softcheck::models
