#include "models/architectures/rotary.hpp"

#include <cmath>
#include <sstream>

namespace softcheck::models {
namespace {

using numerics::Enclosure;

std::string shortest(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// The rope parameters of a table; all absent where there is no table.
class RopeTable {
 public:
  RopeTable(CheckpointView& view, std::string path) : view_(view), path_(std::move(path)) {}

  std::optional<double> number(const std::string& name) {
    return path_.empty() ? std::nullopt : view_.optional_number(path_ + "." + name);
  }
  double positive(const std::string& name, std::optional<double> fallback = {}) {
    std::optional<double> value = number(name);
    if (!value) value = fallback;
    if (!value) view_.malformed("the key " + path_ + "." + name + " is missing");
    return positive_value(path_ + "." + name, *value);
  }
  double positive_value(const std::string& path, double value) const {
    if (!(value > 0)) view_.malformed("the key " + path + " must be > 0, got " + shortest(value));
    return value;
  }
  /// A number that may stand in the table or, by an older name, outside: malformed where both do and differ.
  std::optional<double> either(const std::string& name, const std::string& outside) {
    const std::optional<double> inner = number(name), outer = view_.optional_number(outside);
    if (inner && outer && *inner != *outer) {
      view_.malformed("the keys " + path_ + "." + name + " and " + outside +
                      " contradict each other: " + shortest(*inner) + " and " + shortest(*outer));
    }
    return inner ? inner : outer;
  }
  std::vector<Enclosure> factors(const std::string& name, std::int64_t planes) {
    const std::vector<double> values = view_.numbers(path_ + "." + name);
    if (static_cast<std::int64_t>(values.size()) != planes) {
      view_.malformed("the key " + path_ + "." + name + " must have " + std::to_string(planes) + " numbers, got " +
                      std::to_string(values.size()));
    }
    std::vector<Enclosure> factors;
    for (const double value : values) {
      if (!(value > 0)) view_.malformed("the numbers of the key " + path_ + "." + name + " must be > 0");
      factors.emplace_back(value);
    }
    return factors;
  }
  std::optional<std::string> text(const std::string& name) {
    return path_.empty() ? std::nullopt : view_.text(path_ + "." + name);
  }
  bool flag(const std::string& name, bool fallback) { return view_.flag(path_ + "." + name, fallback); }
  CheckpointView& view() { return view_; }

 private:
  CheckpointView& view_;
  std::string path_;
};

/// Of pretraining. transformers gives Phi-3's default priority over the table.
Enclosure original_context(RopeTable& table, std::int64_t context, const RopeDefaults& defaults) {
  const std::string name = "original_max_position_embeddings";
  const std::optional<double> stated = table.either(name, name);
  if (defaults.original_context && !table.view().has_key(name)) return Enclosure(*defaults.original_context);
  return stated ? Enclosure(table.positive_value(name, *stated)) : Enclosure(context);
}

bool states_original_context(RopeTable& table) {
  return table.number("original_max_position_embeddings") || table.view().has_key("original_max_position_embeddings");
}

void set_llama3(Rotary& rotary, RopeTable& table, const Enclosure& original) {
  const Llama3Scaling scaling = {.factor = Enclosure(table.positive("factor")),
                                 .low = Enclosure(table.positive("low_freq_factor")),
                                 .high = Enclosure(table.positive("high_freq_factor")),
                                 .original_context = original};
  if (!(scaling.high - scaling.low).certainly_positive()) {
    table.view().malformed("high_freq_factor must be > low_freq_factor");
  }
  rotary.frequencies[0] = llama3_frequencies(rotary.frequencies[0], scaling);
}

void set_yarn(Rotary& rotary, RopeTable& table, const Enclosure& base, std::int64_t context,
              const Enclosure& original) {
  if (!(base - Enclosure(1)).certainly_positive()) table.view().malformed("yarn needs rope_theta > 1");
  // transformers takes the quotient of both contexts where the factor is null; the configuration must say both.
  std::optional<double> quotient;
  if (table.view().has_key("max_position_embeddings") && states_original_context(table)) {
    // Of two integers of at most 31 bits, which Python rounds to the same double.
    quotient = static_cast<double>(context) / original.midpoint();
  }
  const double factor = table.positive("factor", quotient);
  const auto beta = [&](const char* name, double fallback) {
    const double value = table.number(name).value_or(0);
    return Enclosure(value == 0 ? fallback : table.positive(name));
  };
  rotary.frequencies = {yarn_frequencies(base, rotary.width,
                                         {.factor = Enclosure(factor),
                                          .beta_fast = beta("beta_fast", 32),
                                          .beta_slow = beta("beta_slow", 1),
                                          .original_context = original,
                                          .truncate = table.flag("truncate", true)})};
  const double mscale = table.number("mscale").value_or(0), all = table.number("mscale_all_dim").value_or(0);
  if (table.number("attention_factor")) {
    rotary.factor = Enclosure(table.positive("attention_factor"));
  } else if (mscale != 0 && all != 0) {
    rotary.factor = yarn_magnitude(factor, mscale) / yarn_magnitude(factor, all);
  } else {
    rotary.factor = yarn_magnitude(factor);
  }
}

void set_longrope(Rotary& rotary, RopeTable& table, std::int64_t context, const Enclosure& original) {
  const std::vector<Enclosure> base = rotary.frequencies[0];
  rotary.frequencies.clear();
  for (const char* name : {"short_factor", "long_factor"}) {
    std::vector<Enclosure> scaled = table.factors(name, rotary.width / 2);
    for (std::size_t plane = 0; plane < base.size(); ++plane) scaled[plane] = base[plane] / scaled[plane];
    rotary.frequencies.push_back(std::move(scaled));
  }
  rotary.short_items = static_cast<std::int64_t>(original.midpoint());
  const double factor = table.positive("factor", static_cast<double>(context) / original.midpoint());
  if (table.number("attention_factor")) {
    rotary.factor = Enclosure(table.positive("attention_factor"));
  } else if (factor > 1) {
    rotary.factor = sqrt(Enclosure(1) + log(Enclosure(factor)) / log(original));
  }
}

std::int64_t rotated_width(RopeTable& table, std::int64_t head_dim, const RopeDefaults& defaults) {
  CheckpointView& view = table.view();
  view.require_head_dim(head_dim);
  const std::optional<double> partial = table.either(
      "partial_rotary_factor", defaults.partial_key.empty() ? "partial_rotary_factor" : defaults.partial_key);
  if (defaults.partial_key.empty() && partial && *partial != 1) {
    view.unsupported("the key partial_rotary_factor is not heeded by this architecture");
  }
  const double width = std::floor(static_cast<double>(head_dim) * partial.value_or(defaults.partial));
  if (!(width >= 2 && width <= static_cast<double>(head_dim)) || std::fmod(width, 2) != 0) {
    view.malformed("the rotated part of a head must be an even number of its " + std::to_string(head_dim) +
                   " coordinates");
  }
  return static_cast<std::int64_t>(width);
}

Enclosure within_unit(const Enclosure& x) { return minimum(maximum(x, Enclosure(0)), Enclosure(1)); }

Enclosure turns(const Enclosure& frequency, const Enclosure& context) {
  return frequency * context / (Enclosure(2) * Enclosure::pi());
}

/// The plane, as a real number, that turns so many times within the context.
Enclosure plane_with(const Enclosure& rotations, const Enclosure& base, std::int64_t width, const Enclosure& context) {
  return Enclosure(width) * log(context / (rotations * Enclosure(2) * Enclosure::pi())) / (Enclosure(2) * log(base));
}

/// Rounded to whole numbers, downward or upward: two of them where the enclosure has a whole number inside.
Enclosure whole(const Enclosure& x, double (*round)(double)) {
  return Enclosure::between(round(x.lower_double()), round(x.upper_double()));
}

double down(double x) { return std::floor(x); }
double up(double x) { return std::ceil(x); }

}  // namespace

std::string rope_table(CheckpointView& view) {
  const bool old = view.has_key("rope_scaling"), now = view.has_key("rope_parameters");
  if (old && now) view.unsupported("the keys rope_parameters and rope_scaling are both there");
  return old ? "rope_scaling" : now ? "rope_parameters" : "";
}

Rotary read_rotary(CheckpointView& view, const std::string& path, std::int64_t head_dim, std::int64_t context,
                   const RopeDefaults& defaults) {
  RopeTable table(view, path);
  const std::optional<double> theta = table.either("rope_theta", defaults.theta_key);
  const Enclosure base(table.positive_value("rope_theta", theta.value_or(defaults.theta)));
  Rotary rotary = {.width = rotated_width(table, head_dim, defaults)};
  rotary.frequencies = {base_frequencies(base, rotary.width)};
  const std::optional<std::string> old_type = table.text("type");
  std::string type = table.text("rope_type").value_or(old_type.value_or("default"));
  if (defaults.yarn_is_longrope && (type == "su" || type == "yarn")) type = "longrope";
  if (type == "linear") {
    const Enclosure factor(table.positive("factor"));
    for (Enclosure& frequency : rotary.frequencies[0]) frequency /= factor;
  } else if (type == "dynamic") {
    table.positive("factor");  // beyond the context only, where the base grows with the input
    rotary.same_at_every_length = false;
  } else if (type == "llama3" || type == "yarn" || type == "longrope") {
    const Enclosure original = original_context(table, context, defaults);
    if (type == "llama3") set_llama3(rotary, table, original);
    if (type == "yarn") set_yarn(rotary, table, base, context, original);
    if (type == "longrope") set_longrope(rotary, table, context, original);
  } else if (type != "default") {
    view.unsupported("the rope type " + type + " is not known");
  }
  if (!path.empty()) view.refuse_other_keys(path);
  return rotary;
}

std::vector<Enclosure> base_frequencies(const Enclosure& base, std::int64_t width) {
  const Enclosure log_base = log(base);
  std::vector<Enclosure> frequencies;
  for (std::int64_t plane = 0; plane < width / 2; ++plane) {
    frequencies.push_back(exp(-(Enclosure(2 * plane) / Enclosure(width)) * log_base));
  }
  return frequencies;
}

std::vector<Enclosure> llama3_frequencies(std::vector<Enclosure> base, const Llama3Scaling& scaling) {
  for (Enclosure& frequency : base) {
    // The three cases of the source meet continuously, so that none must be decided.
    const Enclosure kept =
        within_unit((turns(frequency, scaling.original_context) - scaling.low) / (scaling.high - scaling.low));
    frequency = frequency * (kept + (Enclosure(1) - kept) / scaling.factor);
  }
  return base;
}

std::vector<Enclosure> yarn_frequencies(const Enclosure& base, std::int64_t width, const YarnScaling& scaling) {
  Enclosure first = plane_with(scaling.beta_fast, base, width, scaling.original_context);
  Enclosure last = plane_with(scaling.beta_slow, base, width, scaling.original_context);
  if (scaling.truncate) {
    first = whole(first, down);
    last = whole(last, up);
  }
  first = maximum(first, Enclosure(0));
  last = minimum(last, Enclosure(width - 1));
  // As the source does, and for its reason.
  if (first.is_point() && last.is_point() && first.midpoint() == last.midpoint()) last += Enclosure(0.001);
  std::vector<Enclosure> frequencies = base_frequencies(base, width);
  for (std::size_t plane = 0; plane < frequencies.size(); ++plane) {
    const Enclosure slowed = within_unit((Enclosure(plane) - first) / (last - first));
    frequencies[plane] = frequencies[plane] * (Enclosure(1) - slowed + slowed / scaling.factor);
  }
  return frequencies;
}

Enclosure yarn_magnitude(double factor, double m) {
  if (factor <= 1) return Enclosure(1);
  return Enclosure::decimal("0.1") * Enclosure(m) * log(Enclosure(factor)) + Enclosure(1);
}

}  // namespace softcheck::models
