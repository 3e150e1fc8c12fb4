#include "models/report/stored_report.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "models/report/gate.hpp"

namespace softcheck::models {
namespace {

using StoredJson = nlohmann::json;
using numerics::Enclosure;

StoredJson stored_sizes(const ModelDescription& model) {
  StoredJson stored = {
      {"architecture", model.architecture}, {"layers", model.layers},      {"heads_of_a_layer", model.heads},
      {"key_heads", model.key_heads},       {"hidden", model.hidden},      {"head_dim", model.head_dim},
      {"context", model.context},           {"parts", StoredJson::array()}};
  for (const ModelDescription& part : model.parts) stored["parts"].push_back(stored_sizes(part));
  return stored;
}

ModelDescription sizes_from(const StoredJson& stored) {
  ModelDescription model;
  stored.at("architecture").get_to(model.architecture);
  stored.at("layers").get_to(model.layers);
  stored.at("heads_of_a_layer").get_to(model.heads);
  stored.at("key_heads").get_to(model.key_heads);
  stored.at("hidden").get_to(model.hidden);
  stored.at("head_dim").get_to(model.head_dim);
  stored.at("context").get_to(model.context);
  for (const StoredJson& part : stored.at("parts")) model.parts.push_back(sizes_from(part));
  return model;
}

// All but the heads: equal in all parts of one report.
StoredJson stored_question(const CheckpointReport& report) {
  StoredJson stored = stored_sizes(report.model);
  stored.update({{"path", report.path},
                 {"format", report.format},
                 {"eps", report.options.eps},
                 {"n", report.options.items},
                 {"bounded_context", report.options.context}});
  return stored;
}

StoredJson stored_whole_head(const HeadCertificate& certificate) {
  StoredJson entry = stored_head(certificate);
  entry["key_head"] = certificate.head.key_head;
  entry["window"] = certificate.head.window ? StoredJson(*certificate.head.window) : StoredJson(nullptr);
  return entry;
}

HeadCertificate whole_head_from(const StoredJson& entry) {
  HeadCertificate certificate = head_from(entry);
  entry.at("key_head").get_to(certificate.head.key_head);
  if (!entry.at("window").is_null()) certificate.head.window = entry.at("window").get<std::uint64_t>();
  return certificate;
}

CheckpointReport parsed(const StoredJson& stored) {
  CheckpointReport report;
  stored.at("path").get_to(report.path);
  stored.at("format").get_to(report.format);
  report.model = sizes_from(stored);
  stored.at("eps").get_to(report.options.eps);
  stored.at("n").get_to(report.options.items);
  stored.at("bounded_context").get_to(report.options.context);
  for (const StoredJson& head : stored.at("heads")) report.heads.push_back(whole_head_from(head));
  report.asked = report.heads.size();
  return report;
}

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

std::string stored_report(const CheckpointReport& report) {
  StoredJson stored = stored_question(report);
  stored["heads"] = StoredJson::array();
  for (const HeadCertificate& head : report.heads) stored["heads"].push_back(stored_whole_head(head));
  return stored.dump(-1, ' ', false, StoredJson::error_handler_t::replace);
}

CheckpointReport report_from(std::string_view text) {
  try {
    return parsed(StoredJson::parse(text));
  } catch (const StoredJson::exception& error) {
    throw std::invalid_argument(std::string("report_from: need a report as stored_report writes it: ") + error.what());
  }
}

CheckpointReport joined(std::vector<CheckpointReport> parts, const std::vector<std::string>& fail_if) {
  if (parts.empty()) throw std::invalid_argument("joined: need at least one part of a report");
  CheckpointReport whole = std::move(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    CheckpointReport& part = parts[i];
    const StoredJson here = stored_question(part), there = stored_question(whole);
    if (here != there) {
      throw std::invalid_argument("joined: need parts of one model and one question, got " + there.dump() + " and " +
                                  here.dump());
    }
    for (HeadCertificate& head : part.heads) {
      if (!whole.heads.empty() && head.head.layer < whole.heads.back().head.layer) {
        throw std::invalid_argument("joined: need layers in their order, got " + std::to_string(head.head.layer) +
                                    " behind " + std::to_string(whole.heads.back().head.layer));
      }
      whole.heads.push_back(std::move(head));
    }
  }
  whole.asked = whole.heads.size();
  whole.fail_if = fail_if;
  whole.certificates = certify_report(whole);
  for (const std::string& text : fail_if) {
    const Gate gate = Gate::parse(text);
    for (const HeadCertificate& head : whole.heads) whole.certificates.push_back(gate.certify(head));
  }
  return whole;
}

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
