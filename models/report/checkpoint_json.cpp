#include <cmath>
#include <nlohmann/json.hpp>

#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
Json interval(double lower, double upper) { return Json::array({number(lower), number(upper)}); }
Json interval(const numerics::Enclosure& x) { return interval(x.lower_double(), x.upper_double()); }
Json interval(const Supremum& x) { return interval(x.lower, x.upper); }

Json head_json(const HeadCertificate& certificate) {
  const HeadDescription& head = certificate.head;
  Json entry;
  entry["layer"] = head.layer;
  entry["head"] = head.head;
  entry["kv_head"] = head.key_head;
  entry["domain"] = to_string(certificate.domain);
  entry["scale"] = interval(certificate.scale);
  entry["spread"] = {{"product", interval(certificate.product)},
                     {"folded", interval(certificate.folded)},
                     {"joint", interval(certificate.joint)},
                     {"best", interval(certificate.spread)}};
  if (certificate.context_spread) entry["spread"]["context"] = interval(*certificate.context_spread);
  if (certificate.enumerated_spread) entry["spread"]["enumerated"] = interval(*certificate.enumerated_spread);
  entry["logit"] = interval(certificate.logit);
  if (certificate.enumerated_logit) entry["logit_enumerated"] = interval(*certificate.enumerated_logit);
  entry["score"] = interval(certificate.score);
  entry["dispersion_length_log10"] = interval(certificate.dispersion_length_log10);
  entry["entropy_floor"] = interval(certificate.entropy_floor);
  entry["largest_coefficient"] = interval(certificate.largest_coefficient);
  entry["identity_length_log10"] = interval(certificate.identity_length_log10);
  entry["items"] = certificate.items;
  entry["window"] = head.window ? Json(*head.window) : Json(nullptr);
  entry["sink"] = certificate.sink ? Json(*certificate.sink) : Json(nullptr);
  Json overflow;
  for (const OverflowFormat& format : overflow_formats()) {
    overflow[format.name] = certificate.score_fits(format);
    overflow[format.name + "_scaled"] = certificate.logit_fits(format);
  }
  entry["overflow"] = overflow;
  return entry;
}

}  // namespace

std::string to_json(const CheckpointReport& report, const std::string& extra) {
  Json result;
  result["model"] = {{"path", report.path},
                     {"format", report.format},
                     {"architecture", report.model.architecture},
                     {"layers", report.model.layers},
                     {"heads", report.model.heads_of_all_layers()},
                     {"hidden", report.model.hidden},
                     {"head_dim", report.model.head_dim},
                     {"context", report.model.context}};
  for (const ModelDescription& part : report.model.parts) {
    result["model"]["parts"].push_back({{"name", part.architecture},
                                        {"layers", part.layers},
                                        {"heads", part.layers * part.heads},
                                        {"hidden", part.hidden},
                                        {"head_dim", part.head_dim},
                                        {"context", part.context}});
  }
  Json heads = Json::array();
  for (const HeadCertificate& head : report.heads) heads.push_back(head_json(head));
  for (const ObservedHead& observed : report.observed) {
    heads[observed.place]["observed"] = {{"rows", observed.rows},
                                         {"spread", interval(observed.spread)},
                                         {"median_spread", number(observed.median_spread)},
                                         {"logit", interval(observed.logit)},
                                         {"least_entropy", number(observed.least_entropy)},
                                         {"largest_coefficient", number(observed.largest_coefficient)}};
  }
  result["heads"] = std::move(heads);
  if (!extra.empty()) result.update(Json::parse(extra));
  return result.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace softcheck::models
