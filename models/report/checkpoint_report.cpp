#include "models/report/checkpoint_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "theory/lemma_2_1.hpp"

namespace softcheck::models {

using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

std::string name_of(const HeadCertificate& head) { return fmt::format("{}.{}", head.head.layer, head.head.head); }

// Three significant digits, or a power of ten.
std::string shown(double value) {
  if (std::isinf(value)) return "inf";
  if (value != 0 && (value >= 1e6 || value < 1e-3)) return fmt::format("{:.2e}", value);
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

struct Range {
  double least = 0, median = 0, largest = 0;
};

template <class Value>
Range range_of(const std::vector<const HeadCertificate*>& heads, Value value) {
  std::vector<double> values;
  for (const HeadCertificate* head : heads) values.push_back(value(*head));
  std::ranges::sort(values);
  return {values.front(), values[values.size() / 2], values.back()};
}

std::string text_of(const Range& range) {
  return fmt::format("{:>8} {:>8} {:>8}", shown(range.least), shown(range.median), shown(range.largest));
}

double best(const HeadCertificate& head) { return head.spread.upper; }

std::string head_line(const HeadCertificate& head) {
  std::string remarks;
  if (head.head.window) remarks += fmt::format("  window {}", *head.head.window);
  if (head.sink) remarks += fmt::format("  sink {}", shown(*head.sink));
  if (head.context_spread) {
    remarks += fmt::format("  within {} items {}", head.items, shown(head.context_spread->upper));
  }
  if (head.enumerated_spread) {
    remarks +=
        fmt::format("  tokens {}-{}", shown(head.enumerated_spread->lower), shown(head.enumerated_spread->upper));
  }
  if (head.dispersed_within_items) remarks += "  disperses within the context";
  for (const OverflowFormat& format : overflow_formats()) {
    if (format.name == "f16" && !head.score_fits(format)) remarks += "  q.k may exceed f16";
  }
  return fmt::format("  {:>8} {:>9} {:>9} {:>9} {:>9}   {:>5.3f} {:>9} {:>9} {:>9}{}\n", name_of(head),
                     shown(head.product.upper_double()), shown(head.folded.upper_double()),
                     shown(head.joint.upper_double()), shown(best(head)), tightness(head), shown(head.logit.upper),
                     shown(head.dispersion_length_log10.upper), shown(head.entropy_floor.lower), remarks);
}

// What forward passes had, beside what is certified: medians over the heads of a layer.
std::string observed_table(const CheckpointReport& report) {
  std::string text =
      fmt::format("\n  observed, medians over a layer's heads\n  {:>5} {:>8} {:>14} {:>14} {:>14} {:>14}\n", "layer",
                  "rows", "widest spread", "share of best", "least entropy", "largest coeff.");
  const auto middle = [](std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  };
  for (std::size_t i = 0; i < report.observed.size();) {
    const int layer = report.heads[report.observed[i].place].head.layer;
    std::vector<double> spreads, shares, entropies, coefficients;
    std::size_t rows = 0;
    for (; i < report.observed.size() && report.heads[report.observed[i].place].head.layer == layer; ++i) {
      const ObservedHead& observed = report.observed[i];
      spreads.push_back(observed.spread.upper);
      shares.push_back(observed.spread.upper / best(report.heads[observed.place]));
      entropies.push_back(observed.least_entropy);
      coefficients.push_back(observed.largest_coefficient);
      rows = std::max(rows, observed.rows);
    }
    text += fmt::format("  {:>5} {:>8} {:>14} {:>14} {:>14} {:>14}\n", layer, rows, shown(middle(spreads)),
                        shown(middle(shares)), shown(middle(entropies)), shown(middle(coefficients)));
  }
  return text;
}

}  // namespace

double tightness(const HeadCertificate& head) {
  return head.spread.upper > 0 ? head.spread.lower / head.spread.upper : 1;
}

std::vector<Certificate> certify_report(const CheckpointReport& report) {
  std::vector<Certificate> certificates;
  for (const HeadCertificate& head : report.heads) {
    const std::string witness = report.path + ": head " + name_of(head);
    const auto less_equal = [&](const char* claim, const Enclosure& smaller, const Enclosure& larger) {
      certificates.push_back(certify_less_equal(claim, witness, [&] { return Sides{smaller, larger}; }));
    };
    // Upper ends are compared: each is a proved bound, and the best is no wider than any other.
    const Enclosure upper(head.spread.upper);
    less_equal("model.spread.ladder", Enclosure(head.spread.lower), upper);
    for (const Enclosure* form : {&head.joint, &head.folded, &head.product}) {
      less_equal("model.spread.ladder", upper, Enclosure(form->upper_double()));
    }
    if (head.context_spread) {
      less_equal("model.spread.ladder", Enclosure(head.context_spread->lower), Enclosure(head.context_spread->upper));
      less_equal("model.spread.ladder", Enclosure(head.context_spread->upper), upper);
    }
    less_equal("model.logit.ends", Enclosure(head.logit.lower), Enclosure(head.logit.upper));
    for (const auto& [inputs, all] :
         {std::pair(head.enumerated_spread, head.spread), std::pair(head.enumerated_logit, head.logit)}) {
      if (!inputs) continue;
      less_equal("model.enumerated", Enclosure(inputs->lower), Enclosure(inputs->upper));
      less_equal("model.enumerated", Enclosure(inputs->upper), Enclosure(all.upper));
    }
    less_equal("model.logit.ends", Enclosure(head.spread.lower) / Enclosure(2), Enclosure(head.logit.upper));
    certificates.push_back(certify_less_equal("model.dispersion_length", witness, [&] {
      // At n = N(eps) the largest coefficient 1 / (1 + (n - 1) e^-delta) is at most eps: (n - 1) e^-delta >= 1/eps - 1.
      const Enclosure log_length = Enclosure(head.dispersion_length_log10.upper) * log(Enclosure(10));
      const Enclosure others = exp(log_length - upper) - exp(-upper);
      return Sides{Enclosure(1) / (Enclosure(1) + others), Enclosure(report.options.eps)};
    }));
  }
  return certificates;
}

std::string to_table(const CheckpointReport& report, std::size_t ranked) {
  const auto sizes = [](const ModelDescription& model) {
    return fmt::format("{} layers of {} heads, width {}, head width {}, context {}\n", model.layers, model.heads,
                       model.hidden, model.head_dim, model.context);
  };
  std::string text = fmt::format("{}\n{} ({}): ", report.path, report.model.architecture, report.format);
  if (report.model.parts.empty()) text += sizes(report.model);
  std::int64_t first = 0;
  for (const ModelDescription& part : report.model.parts) {
    text += fmt::format("{}{} from layer {} on: {}", first == 0 ? "" : "  ", part.architecture, first, sizes(part));
    first += part.layers;
  }
  text += "\n";
  std::vector<const HeadCertificate*> all;
  for (const HeadCertificate& head : report.heads) all.push_back(&head);
  if (all.empty()) return text;
  text += fmt::format("  {:>5}   {:^26}   {:^26}   {:^26}   {:>9}\n", "layer", "spread of logits", "max |logit|",
                      fmt::format("log10 N({})", report.options.eps), "reached");
  text += fmt::format("  {:>5}   {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}   {:>8} {:>8} {:>8}   {:>9}\n", "", "least",
                      "median", "largest", "least", "median", "largest", "least", "median", "largest", "median");
  const auto line = [&](const std::string& name, const std::vector<const HeadCertificate*>& heads) {
    text +=
        fmt::format("  {:>5}   {}   {}   {}   {:>9.3f}\n", name, text_of(range_of(heads, best)),
                    text_of(range_of(heads, [](const HeadCertificate& h) { return h.logit.upper; })),
                    text_of(range_of(heads, [](const HeadCertificate& h) { return h.dispersion_length_log10.upper; })),
                    range_of(heads, tightness).median);
  };
  for (std::size_t i = 0; i < all.size();) {
    std::vector<const HeadCertificate*> layer;
    const int number = all[i]->head.layer;
    for (; i < all.size() && all[i]->head.layer == number; ++i) layer.push_back(all[i]);
    line(std::to_string(number), layer);
  }
  line("all", all);
  std::ranges::stable_sort(all, std::greater{}, [](const HeadCertificate* head) { return best(*head); });
  const std::size_t count = ranked == 0 ? all.size() : std::min(ranked, all.size());
  text += fmt::format("\n  {} of {} heads, widest spread first\n", count, all.size());
  text += fmt::format("  {:>8} {:>9} {:>9} {:>9} {:>9}   {:>5} {:>9} {:>9} {:>9}\n", "head", "product", "folded",
                      "joint", "best", "share", "|logit|", "log10 N", "H >=");
  for (std::size_t i = 0; i < count; ++i) text += head_line(*all[i]);
  if (!report.observed.empty()) text += observed_table(report);
  return text;
}

}  // namespace softcheck::models
