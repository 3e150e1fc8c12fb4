#include "models/bounds/head_certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "models/bounds/plane_weights.hpp"
#include "numerics/formats/format.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/attention_variants.hpp"
#include "theory/entropy_bounds.hpp"
#include "theory/lemma_2_1.hpp"
#include "theory/rotary_positions.hpp"

namespace softcheck::models {
namespace {

constexpr unsigned precision = 113;
constexpr std::int64_t searched_lags = 256;

HeadDomain domain_of(const HeadDescription& head) {
  if (head.head_norm) {
    return head.head_norm->query_width == head.head_norm->query_gain.entries.count ? HeadDomain::qk_norm
                                                                                   : HeadDomain::qk_norm_full;
  }
  if (!head.input_norm) throw std::invalid_argument("certify_head: a head without a norm has no bound");
  return head.input_norm->kind == NormKind::layer_norm ? HeadDomain::layer_norm : HeadDomain::rms_norm;
}

Enclosure capped_spread(double cap, const Enclosure& spread) {
  return theory::softcapped_spread(Enclosure(cap), spread);
}

void apply_softcap(HeadCertificate& certificate, const HeadBounds& bounds, double cap) {
  certificate.product = capped_spread(cap, certificate.product);
  certificate.folded = capped_spread(cap, certificate.folded);
  certificate.joint = capped_spread(cap, certificate.joint);
  certificate.spread.upper = capped_spread(cap, Enclosure(bounds.spread.upper)).upper_double();
  const Enclosure high = theory::softcapped_logit(Enclosure(cap), Enclosure(bounds.attained_high));
  const Enclosure low = theory::softcapped_logit(Enclosure(cap), Enclosure(bounds.attained_low));
  certificate.spread.lower = std::max((high - low).lower_double(), 0.0);
  certificate.logit = {theory::softcapped_logit(Enclosure(cap), Enclosure(bounds.logit.lower)).lower_double(),
                       theory::softcapped_logit(Enclosure(cap), Enclosure(bounds.logit.upper)).upper_double()};
}

// A logit becomes e + b, with b of the bucket of its distance, so no spread grows by more than the table's. For the
// lower ends two keys may stand at any two distances >= 1, and each bucket below half of a direction's is a distance of
// its own. The head reaches a logit of -L or L; its magnitude grows by at least the smaller of -min and max.
void add_distance_bias(HeadCertificate& certificate, const VectorXd& table, bool causal, std::int64_t items) {
  const Index direction = causal ? table.size() : table.size() / 2, half = direction / 2;
  std::vector<double> near;
  for (Index bucket = 1; bucket < half; ++bucket) {
    near.push_back(table[bucket]);
    if (!causal) near.push_back(table[direction + bucket]);
  }
  const Enclosure range = Enclosure(table.maxCoeff()) - Enclosure(table.minCoeff());
  for (Enclosure* form : {&certificate.product, &certificate.folded, &certificate.joint}) *form = *form + range;
  Supremum &spread = certificate.spread, &logit = certificate.logit;
  spread.upper = (Enclosure(spread.upper) + range).upper_double();
  logit.upper = (Enclosure(logit.upper) + Enclosure(table.cwiseAbs().maxCoeff())).upper_double();
  const bool near_ones = near.size() > 1 && items >= 2 * half;
  const auto [least, most] = near_ones ? std::ranges::minmax(near) : std::ranges::minmax_result<double>{0, 0};
  const Enclosure wider = near_ones ? Enclosure(most) - Enclosure(least) : -range;
  const Enclosure higher = near_ones ? Enclosure(std::min(most, -least)) : -Enclosure(table.cwiseAbs().maxCoeff());
  if (spread.lower > 0) spread.lower = std::max(0.0, (Enclosure(spread.lower) + wider).lower_double());
  if (logit.lower > 0) logit.lower = std::max(0.0, (Enclosure(logit.lower) + higher).lower_double());
}

Enclosure log10_of(const Enclosure& logarithm) { return logarithm / log(Enclosure(10)); }

// ln N(eps), N(eps) = 1 + e^delta (1 - eps) / eps (Lemma 2.1, sharp): e^delta itself may have any size.
Enclosure log_dispersion_length(const Enclosure& spread, const Enclosure& eps) {
  return spread + log((Enclosure(1) - eps) / eps + exp(-spread));
}

// How many items a query can see at most.
std::int64_t seen_items(const HeadDescription& head, const ModelDescription& model) {
  return static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(model.part_of(head.layer).context),
                                            head.window.value_or(std::numeric_limits<std::uint64_t>::max())));
}

const Rotary* turning(const HeadDescription& head) {
  return head.rotary && head.rotary->width > 0 ? &*head.rotary : nullptr;
}

// Inputs of so few items have few lags: every logit of theirs is bounded lag by lag.
Supremum bound_context(const HeadBounds& bounds, const HeadDescription& head, const ModelDescription& model,
                       const ProjectionValues& query, const ProjectionValues& key, const Enclosure& scale,
                       std::uint64_t items) {
  // The tokens of one of Gemma 3's images attend to each other both ways.
  const bool both_ways = !head.causal || model.architecture == "gemma3";
  const auto lags = static_cast<std::int64_t>(items);
  double upper = 0;
  if (head.head_norm) {
    upper = 2 * largest_normed_logit(query, key, scale, &*head.rotary, lags);
  } else {
    const double product = largest_lagged_product(query.image, key.image, *head.rotary, lags, both_ways);
    upper = (Enclosure(2) * scale * Enclosure(product)).upper_double();
  }
  // The lower end of all lengths is that of lags which a short input need not have, and of the last frequencies: of
  // several lists a short input may have another.
  double lower = bounds.spread.lower;
  if (head.rotary->frequencies.size() > 1 || lags < 3 || head.turned_key) {
    lower = 0;
  } else if (head.head_norm) {
    lower = bound_normed_head(query, key, scale, &*head.rotary, lags).spread.lower;
  } else if (lags < searched_lags) {
    lower = bound_rotary_head(query, key, scale, *head.rotary, lags, head.causal).spread.lower;
  }
  return {lower, std::min(upper, bounds.spread.upper)};
}

HeadBounds bounds_of(const HeadDescription& head, const ModelDescription& model, HeadReader& reader,
                     const Enclosure& scale, std::optional<std::uint64_t> lagged_items) {
  const ProjectionValues query = reader.query(head);
  const ProjectionValues key = head.turned_key ? reader.two_part_key(head, query) : reader.key(head);
  const std::int64_t seen = seen_items(head, model);
  const Rotary* const rotary = turning(head);
  HeadBounds bounds;
  try {
    if (head.head_norm) {
      bounds = bound_normed_head(query, key, scale, rotary, seen);
      if (rotary != nullptr && head.window && rotary->same_at_every_length) {
        // A query sees no key further away, however long the input.
        const double logit = largest_normed_logit(
            query, key, scale, rotary, static_cast<std::int64_t>(std::min<std::uint64_t>(*head.window, INT32_MAX)));
        bounds.logit.upper = std::min(bounds.logit.upper, logit);
        bounds.spread.upper = std::min(bounds.spread.upper, 2 * logit);
      }
    } else if (rotary != nullptr) {
      bounds = bound_rotary_head(query, key, scale, *rotary, std::min(searched_lags, seen), head.causal);
    } else {
      bounds = bound_plain_head(query, key, scale);
    }
    if (lagged_items && rotary != nullptr) {
      bounds.context_spread = bound_context(bounds, head, model, query, key, scale, *lagged_items);
    }
  } catch (const std::invalid_argument&) {
    // Enclosures take no infinities, which is what products of numbers that are too large become.
    throw std::range_error("certify_head: a bound leaves the range of double");
  }
  // An end of an ellipsoid around two parts need not be a key: both parts come from one input.
  if (head.turned_key) {
    bounds.spread.lower = bounds.logit.lower = bounds.attained_high = bounds.attained_low = 0;
  }
  // A query's own key comes from its own input: a logit is reached by one other item, a spread by two.
  if (seen < 3) bounds.spread.lower = bounds.attained_high = bounds.attained_low = 0;
  if (seen < 2) bounds.logit.lower = 0;
  return bounds;
}

// What follows from a spread: grows, or falls, with it.
struct Consequences {
  Enclosure dispersion, entropy, coefficient, identity;
};

// row_spread  of the whole row: with a sink, of the items' logits and the sink's score
Consequences consequences_of(double spread, double row_spread, std::uint64_t items, bool sink, double eps) {
  Consequences result;
  result.dispersion = log10_of(log_dispersion_length(Enclosure(spread), Enclosure(eps)));
  result.entropy = theory::entropy_floor(items + (sink ? 1 : 0), {row_spread, 0});
  result.coefficient = theory::lemma_2_1_sharp_bounds(items, Enclosure(spread)).upper;
  result.identity =
      log10_of(Enclosure::decimal(theory::inactive_from) + theory::largest_entropy_deficit(Enclosure(row_spread)));
  return result;
}

}  // namespace

const std::vector<OverflowFormat>& overflow_formats() {
  static const std::vector<OverflowFormat> formats = [] {
    std::vector<OverflowFormat> narrow;
    for (const numerics::Format format : numerics::all_formats()) {
      const numerics::FormatProperties& p = numerics::properties(format);
      if (p.storage_bits > 16) continue;
      narrow.push_back({(p.storage_bits == 8 ? "f8_" : "") + std::string(p.name), p.largest, p.storage_bits});
    }
    return narrow;
  }();
  return formats;
}

const char* to_string(HeadDomain domain) {
  switch (domain) {
    case HeadDomain::layer_norm:
      return "layer_norm";
    case HeadDomain::rms_norm:
      return "rms_norm";
    case HeadDomain::qk_norm:
      return "qk_norm";
    case HeadDomain::qk_norm_full:
      return "qk_norm_full";
  }
  throw std::logic_error("to_string: a HeadDomain without a name");
}

HeadCertificate certify_head(const HeadDescription& head, const ModelDescription& model, HeadReader& reader,
                             const CertifyOptions& options) {
  const numerics::PrecisionScope scope(precision);
  if (!(options.eps > 0 && options.eps < 1)) {
    throw std::invalid_argument("certify_head: need eps in (0, 1), got " + std::to_string(options.eps));
  }
  HeadCertificate certificate;
  certificate.head = head;
  certificate.domain = domain_of(head);
  certificate.sink = reader.sink(head);
  certificate.scale = head.rotary ? head.scale * square(head.rotary->factor) : head.scale;
  const auto made_for = static_cast<std::uint64_t>(model.part_of(head.layer).context);
  const std::uint64_t context = options.items != 0 ? options.items : made_for;
  certificate.items = head.window ? std::min(context, *head.window) : context;
  if (certificate.items == 0) throw std::invalid_argument("certify_head: need a context of 1 item or more, got 0");

  // Beyond the context frequencies may be others (rope type dynamic).
  const bool lagged = options.context && certificate.items <= made_for;
  HeadBounds bounds =
      bounds_of(head, model, reader, certificate.scale, lagged ? std::optional(certificate.items) : std::nullopt);
  if (!std::isfinite(bounds.spread.upper) || !std::isfinite(bounds.logit.upper)) {
    throw std::range_error("certify_head: a bound leaves the range of double");
  }
  // Roundings aside no form is below the best.
  const auto narrowed = [](double best, const auto& forms) {
    return std::min({best, forms.joint.upper_double(), forms.folded.upper_double(), forms.product.upper_double()});
  };
  bounds.spread.upper = narrowed(bounds.spread.upper, bounds);
  certificate.product = bounds.product;
  certificate.folded = bounds.folded;
  certificate.joint = bounds.joint;
  certificate.spread = bounds.spread;
  certificate.logit = bounds.logit;
  // Scores have the rotary factor, but neither scale nor softcap.
  const Enclosure rescale = Enclosure(1) / head.scale;
  certificate.score = {(Enclosure(bounds.logit.lower) * rescale).lower_double(),
                       (Enclosure(bounds.logit.upper) * rescale).upper_double()};
  if (!std::isfinite(certificate.score.upper)) {
    throw std::range_error("certify_head: a bound leaves the range of double");
  }
  if (head.softcap) {
    apply_softcap(certificate, bounds, *head.softcap);
    certificate.spread.upper = narrowed(certificate.spread.upper, certificate);
  }
  if (head.distance_bias) {
    add_distance_bias(certificate, reader.distance_bias(*head.distance_bias), head.causal, seen_items(head, model));
  }
  if (bounds.context_spread) {
    certificate.context_spread = bounds.context_spread;
    if (head.softcap) {
      // Which logits reach the lower end is not kept: a cap leaves it at least nothing.
      const Enclosure upper(bounds.context_spread->upper);
      certificate.context_spread = Supremum{0, capped_spread(*head.softcap, upper).upper_double()};
    }
    certificate.context_spread->upper = std::min(certificate.context_spread->upper, certificate.spread.upper);
  }

  const bool sink = certificate.sink.has_value();
  double widest = certificate.spread.upper;
  if (sink) {
    const Enclosure highest(certificate.logit.upper);
    widest = std::max(widest, theory::sink_spread(-highest, highest, Enclosure(*certificate.sink)).upper_double());
  }
  const Consequences least =
      consequences_of(certificate.spread.lower, certificate.spread.lower, certificate.items, sink, options.eps);
  const Consequences most = consequences_of(certificate.spread.upper, widest, certificate.items, sink, options.eps);
  certificate.dispersion_length_log10 = {least.dispersion.lower_double(), most.dispersion.upper_double()};
  certificate.entropy_floor = {std::max(most.entropy.lower_double(), 0.0), least.entropy.upper_double()};
  // A sink takes a share of its own, which no row without it has.
  certificate.largest_coefficient = {sink ? 0 : least.coefficient.lower_double(),
                                     std::min(most.coefficient.upper_double(), 1.0)};
  certificate.identity_length_log10 = {least.identity.lower_double(), most.identity.upper_double()};
  const Enclosure room = log10_of(log(Enclosure::integer(certificate.items))) - most.dispersion;
  certificate.dispersed_within_items = !head.window && room.certainly_nonnegative();
  return certificate;
}

}  // namespace softcheck::models
