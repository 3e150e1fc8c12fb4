#include "models/report/stored_heads.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace softcheck::models {
namespace {

using StoredJson = nlohmann::json;
using numerics::Enclosure;

StoredJson stored_number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
double number_from(const StoredJson& value) {
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return value.get<double>();
}

// The same list writes and reads.
std::array<Enclosure HeadCertificate::*, 4> enclosures() {
  return {&HeadCertificate::scale, &HeadCertificate::product, &HeadCertificate::folded, &HeadCertificate::joint};
}
std::array<Supremum HeadCertificate::*, 7> suprema() {
  return {&HeadCertificate::spread,
          &HeadCertificate::logit,
          &HeadCertificate::score,
          &HeadCertificate::dispersion_length_log10,
          &HeadCertificate::entropy_floor,
          &HeadCertificate::largest_coefficient,
          &HeadCertificate::identity_length_log10};
}

StoredJson stored_ends(const Supremum& x) {
  return StoredJson::array({stored_number(x.lower), stored_number(x.upper)});
}
Supremum supremum_of(const StoredJson& pair) {
  const Supremum x{number_from(pair.at(0)), number_from(pair.at(1))};
  if (pair.size() != 2 || !(x.lower <= x.upper)) throw std::invalid_argument("an interval is none");
  return x;
}

}  // namespace

StoredJson stored_head(const HeadCertificate& certificate) {
  StoredJson intervals = StoredJson::array();
  for (const auto member : enclosures()) {
    const Enclosure& x = certificate.*member;
    intervals.push_back(stored_ends({x.lower_double(), x.upper_double()}));
  }
  for (const auto member : suprema()) intervals.push_back(stored_ends(certificate.*member));
  StoredJson entry = {
      {"layer", certificate.head.layer},
      {"head", certificate.head.head},
      {"domain", static_cast<int>(certificate.domain)},
      {"items", certificate.items},
      {"disperses", certificate.dispersed_within_items},
      {"sink", certificate.sink ? stored_number(*certificate.sink) : StoredJson(nullptr)},
      {"context", certificate.context_spread ? stored_ends(*certificate.context_spread) : StoredJson(nullptr)},
      {"intervals", intervals}};
  if (certificate.enumerated_spread && certificate.enumerated_logit) {
    entry["enumerated"] =
        StoredJson::array({stored_ends(*certificate.enumerated_spread), stored_ends(*certificate.enumerated_logit)});
  }
  return entry;
}

HeadCertificate head_from(const StoredJson& entry) {
  HeadCertificate certificate;
  certificate.head.layer = entry.at("layer").get<int>();
  certificate.head.head = entry.at("head").get<int>();
  const int domain = entry.at("domain").get<int>();
  if (domain < 0 || domain > static_cast<int>(HeadDomain::qk_norm_full)) throw std::invalid_argument("no domain");
  certificate.domain = static_cast<HeadDomain>(domain);
  certificate.items = entry.at("items").get<std::uint64_t>();
  certificate.dispersed_within_items = entry.at("disperses").get<bool>();
  if (!entry.at("sink").is_null()) certificate.sink = number_from(entry.at("sink"));
  if (!entry.at("context").is_null()) certificate.context_spread = supremum_of(entry.at("context"));
  if (entry.contains("enumerated")) {
    certificate.enumerated_spread = supremum_of(entry.at("enumerated").at(0));
    certificate.enumerated_logit = supremum_of(entry.at("enumerated").at(1));
  }
  const StoredJson& intervals = entry.at("intervals");
  if (intervals.size() != enclosures().size() + suprema().size()) throw std::invalid_argument("too few intervals");
  std::size_t next = 0;
  for (const auto member : enclosures()) {
    const Supremum ends = supremum_of(intervals.at(next++));
    certificate.*member = Enclosure::between(ends.lower, ends.upper);
  }
  for (const auto member : suprema()) certificate.*member = supremum_of(intervals.at(next++));
  return certificate;
}

}  // namespace softcheck::models
