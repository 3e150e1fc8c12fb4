#include "proptests/generators/domains/domain_words.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <string_view>

#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {
namespace {

// Does the alignment of queries and keys matter for this call?
bool counts_from_an_end(const CallTraits& call) {
  const auto queries = call.lengths.find("queries"), keys = call.lengths.find("keys");
  const bool unequal = queries == call.lengths.end() || keys == call.lengths.end() || queries->second != keys->second;
  return unequal && (call.causal || call.window || call.alibi);
}

using Calls = DomainWord::Calls;

template <bool Domain::*member>
constexpr DomainRow flag(std::string_view word, Calls calls, std::string_view means,
                         bool (*keeps)(const CallTraits& call), bool Domain::*other = nullptr) {
  return {{word, calls, means},
          [](const Domain& domain) { return domain.*member; },
          [](Domain& domain) { domain.*member = true; },
          keeps,
          other};
}

// The number that follows this word limits a property of the call.
template <double Domain::*member>
constexpr DomainRow bound(std::string_view word, std::string_view means) {
  return {{word, Calls::both, means},
          [](const Domain& domain) { return std::isfinite(domain.*member); },
          nullptr,
          nullptr,
          nullptr,
          member};
}

// Keys and values have this format, whatever the format of queries and outputs.
template <numerics::Format format>
constexpr DomainRow cache(std::string_view word, std::string_view means) {
  return {{word, Calls::attention, means},
          [](const Domain& domain) { return domain.cache == format; },
          [](Domain& domain) { domain.cache = format; },
          [](const CallTraits& call) { return call.cache == format; }};
}

constexpr bool any_call(const CallTraits&) { return true; }

// Calls of routers have it.
template <bool Domain::*member>
constexpr DomainRow router(std::string_view word, std::string_view means) {
  return flag<member>(word, Calls::rows, means, any_call);
}

bool has_usual_scale(const CallTraits& call) {
  const auto dim = call.lengths.find("dim");
  return dim == call.lengths.end() || call.scale == 1 / std::sqrt(static_cast<double>(dim->second));
}

// Does the relation hold between two lengths? It does where the call lacks one of them.
template <class Relation>
bool holds(const CallTraits& call, std::string_view first, std::string_view second, Relation relation) {
  const auto a = call.lengths.find(first), b = call.lengths.find(second);
  return a == call.lengths.end() || b == call.lengths.end() || relation(a->second, b->second);
}

bool has_groups(const CallTraits& call) {
  const auto group = call.lengths.find("group"), heads = call.lengths.find("heads");
  const bool known = group != call.lengths.end() && heads != call.lengths.end();
  return known && group->second > 1 && heads->second > group->second;
}

bool has_equal_lengths(const CallTraits& call) { return holds(call, "queries", "keys", std::equal_to()); }
bool has_fewer_queries(const CallTraits& call) { return holds(call, "queries", "keys", std::less_equal()); }
bool has_short_values(const CallTraits& call) { return holds(call, "values", "dim", std::less_equal()); }
bool has_equal_dims(const CallTraits& call) { return holds(call, "values", "dim", std::equal_to()); }

// In the order of to_string. A call may have an attribute of attention only if the domain has its word.
constexpr DomainRow rows_in_order[]{
    flag<&Domain::unit_theta>("theta=1", Calls::rows, "theta is 1",
                              [](const CallTraits& call) { return call.theta == 1; }),
    flag<&Domain::usual_scale>("scale=1/sqrt(dim)", Calls::attention, "the scale is 1 / sqrt(dim), rounded to double",
                               has_usual_scale),
    flag<&Domain::classes>("scale=1", Calls::none, "", [](const CallTraits& call) { return call.scale == 1; }),
    flag<&Domain::usual_sigmoid_bias>("sigmoid_bias=-ln(keys)", Calls::attention,
                                      "sigmoid attention: its bias is -ln(keys), rounded to double",
                                      [](const CallTraits& call) { return !call.other_sigmoid_bias; }),
    flag<&Domain::one_lambda>("lambda=shared", Calls::attention, "differential attention: all heads have one lambda",
                              [](const CallTraits& call) { return !call.other_lambdas; }),
    flag<&Domain::compact>("compact", Calls::both,
                           "all elements stand side by side, whether strides say so or are NULL",
                           [](const CallTraits& call) { return call.compact; }),
    flag<&Domain::contiguous>("contiguous", Calls::both, "the innermost stride of every tensor is 1",
                              [](const CallTraits& call) { return call.contiguous; }),
    {{"align=", Calls::both, "tensors begin at multiples of so many bytes, a power of two up to 4096"},
     [](const Domain& domain) { return domain.alignment > 1; }},
    flag<&Domain::finite>("finite", Calls::both, "no input holds a NaN or an infinity",
                          [](const CallTraits& call) { return call.finite; }),
    flag<&Domain::visible_nan>("nan=visible", Calls::both, "no infinity, and a NaN only where nothing hides it",
                               [](const CallTraits& call) { return !call.infinite; }),
    flag<&Domain::no_infinity>("its dtype's numbers", Calls::none, "",
                               [](const CallTraits& call) { return !call.infinite; }),
    bound<&Domain::most_logit>("logits<=",
                               "visible logits divided by theta, or scores before a softcap, slopes and bias, "
                               "lie between minus this number and it"),
    bound<&Domain::most_spread>("spread<=", "the largest of them is larger than the smallest by no more than this"),
    flag<&Domain::all_see>("visible>=1", Calls::both, "each row has a visible item, each query sees a key",
                           [](const CallTraits& call) { return !call.blind; }),
    flag<&Domain::no_mask>("nomask", Calls::both, "no mask is passed",
                           [](const CallTraits& call) { return !call.masked; }),
    flag<&Domain::no_offset>("nooffset", Calls::both, "no tensor has a byte offset",
                             [](const CallTraits& call) { return !call.offset; }),
    flag<&Domain::no_causal>(
        "nocausal", Calls::attention, "causal is 0", [](const CallTraits& call) { return !call.causal; },
        &Domain::all_causal),
    flag<&Domain::all_causal>(
        "causal", Calls::attention, "causal is 1", [](const CallTraits& call) { return call.causal; },
        &Domain::no_causal),
    flag<&Domain::equal_lengths>("queries=keys", Calls::attention, "as many queries as keys, in each sequence",
                                 has_equal_lengths),
    flag<&Domain::fewer_queries>("queries<=keys", Calls::attention, "no more queries than keys, in each sequence",
                                 has_fewer_queries),
    flag<&Domain::equal_dims>("values=dim", Calls::attention, "values have the dimension of queries and keys",
                              has_equal_dims),
    flag<&Domain::temperature>("temperature", Calls::rows, "losses: theta may be other than 1; softcap is 0",
                               [](const CallTraits& call) { return !call.softcap; }),
    flag<&Domain::no_smoothing>("nosmoothing", Calls::rows, "losses: label_smoothing is 0",
                                [](const CallTraits& call) { return call.label_smoothing == 0; }),
    flag<&Domain::no_z_loss>("nozloss", Calls::rows, "losses: z_loss is 0",
                             [](const CallTraits& call) { return call.z_loss == 0; }),
    flag<&Domain::no_softcap>("nosoftcap", Calls::rows, "losses: softcap is 0",
                              [](const CallTraits& call) { return !call.softcap; }),
    flag<&Domain::no_class_weights>("noweights", Calls::rows, "losses: no class weights are passed",
                                    [](const CallTraits& call) { return !call.class_weights; }),
    flag<&Domain::one_ignore_index>("ignore=-100", Calls::rows, "losses: ignore_index is -100",
                                    [](const CallTraits& call) { return call.ignore_index == usual_ignore_index; }),
    flag<&Domain::no_ignored>("noignored", Calls::both, "losses: no label is ignore_index",
                              [](const CallTraits& call) { return !call.ignored; }),
    flag<&Domain::zero_parts>("empty=zero", Calls::rows, "merges: the outputs of empty parts are 0",
                              [](const CallTraits& call) { return !call.unwritten; }),
    flag<&Domain::base_e>(
        "base=e", Calls::rows, "merges: lse_base2 is 0", [](const CallTraits& call) { return !call.lse_base2; },
        &Domain::base_2),
    flag<&Domain::base_2>(
        "base=2", Calls::rows, "merges: lse_base2 is 1", [](const CallTraits& call) { return call.lse_base2; },
        &Domain::base_e),
    flag<&Domain::plain_weights>(
        "renormalize=0", Calls::rows, "top-k: weights are not divided by their sum; sampling: top_p is of all items",
        [](const CallTraits& call) { return !call.renormalize; }, &Domain::renormalized),
    flag<&Domain::renormalized>(
        "renormalize=1", Calls::rows, "top-k: weights are divided by their sum; sampling: top_p is of the k largest",
        [](const CallTraits& call) { return call.renormalize; }, &Domain::plain_weights),
    flag<&Domain::mean_only>(
        "reduction=mean", Calls::rows, "losses of whole calls: the mean",
        [](const CallTraits& call) { return call.mean; }, &Domain::sum_only),
    flag<&Domain::sum_only>(
        "reduction=sum", Calls::rows, "losses of whole calls: the sum",
        [](const CallTraits& call) { return !call.mean; }, &Domain::mean_only),
    flag<&Domain::forward_only>(
        "kl=forward", Calls::rows, "divergences: reverse = 0, the teacher weighs the terms",
        [](const CallTraits& call) { return !call.reverse; }, &Domain::reverse_only),
    flag<&Domain::reverse_only>(
        "kl=reverse", Calls::rows, "divergences: reverse = 1, the logits weigh the terms",
        [](const CallTraits& call) { return call.reverse; }, &Domain::forward_only),
    flag<&Domain::no_top_p>("top_p=0", Calls::rows, "sampling: top_p is off",
                            [](const CallTraits& call) { return call.top_p == 0; }),
    flag<&Domain::no_min_p>("min_p=0", Calls::rows, "sampling: min_p is off",
                            [](const CallTraits& call) { return call.min_p == 0; }),
    flag<&Domain::top_k>("top_k", Calls::rows, "sampling: calls have k, with renormalize 0 or 1", any_call),
    flag<&Domain::per_row>("per_row", Calls::rows, "sampling: each row has its own k, top_p, min_p and temperature",
                           any_call),
    router<&Domain::sigmoid_scores>("scores=sigmoid", "routers: weights and choice are by sigmoids of finite logits"),
    router<&Domain::either_scores>("scores=either", "routers: some calls are of sigmoids, some of a softmax"),
    router<&Domain::groups>("groups", "routers: calls have groups of items; groups=8 has 8, of which kept=4 keeps 4"),
    router<&Domain::routed_scale>("routed_scale", "routers: calls have a factor of the weights"),
    flag<&Domain::window>("window", Calls::attention, "calls may have a window", any_call),
    flag<&Domain::softcap>("softcap", Calls::attention, "calls may have a softcap", any_call),
    {{"sinks", Calls::attention, "calls may have sinks"},
     [](const Domain& domain) { return domain.sinks && !domain.sink_gradients; },
     [](Domain& domain) { domain.sinks = true; },
     any_call},
    flag<&Domain::alibi>("alibi", Calls::attention, "calls may have slopes", any_call),
    {{"bias", Calls::both, "attention: calls may have a bias; routers: they have one"},
     [](const Domain& domain) { return domain.bias && !domain.bias_gradient; },
     [](Domain& domain) { domain.bias = true; },
     any_call},
    flag<&Domain::dropout>("dropout", Calls::attention, "calls may have a dropout of the weights, as a mask", any_call),
    cache<numerics::Format::f16>("cache=f16", "keys and values are f16, whatever the dtype"),
    cache<numerics::Format::bf16>("cache=bf16", "keys and values are bf16, whatever the dtype"),
    cache<numerics::Format::e4m3>("cache=e4m3", "keys and values are e4m3, whatever the dtype"),
    cache<numerics::Format::e5m2>("cache=e5m2", "keys and values are e5m2, whatever the dtype"),
    flag<&Domain::lse_gradients>("dlse", Calls::attention, "gradients: calls may pass a gradient of lse", any_call),
    {{"dsinks", Calls::attention, "gradients: calls may have sinks, and then ask for their gradient"},
     [](const Domain& domain) { return domain.sink_gradients; },
     [](Domain& domain) { domain.sinks = domain.sink_gradients = true; },
     [](const CallTraits& call) { return call.sink_gradients == call.sinks; }},
    {{"dbias", Calls::attention, "gradients: calls may have a bias, and then ask for its gradient"},
     [](const Domain& domain) { return domain.bias_gradient; },
     [](Domain& domain) { domain.bias = domain.bias_gradient = true; },
     [](const CallTraits& call) { return call.bias_gradient == call.bias; }},
    {{"causal=top-left", Calls::attention, "query i stands at key i"},
     [](const Domain& domain) { return domain.causal == CausalAlignment::top_left; },
     [](Domain& domain) { domain.causal = CausalAlignment::top_left; },
     [](const CallTraits& call) { return call.top_left || !counts_from_an_end(call); }},
    {{"causal=either", Calls::attention, "query i stands at key i or at key i + keys - queries, as the call says"},
     [](const Domain& domain) { return domain.causal == CausalAlignment::either; },
     [](Domain& domain) { domain.causal = CausalAlignment::either; },
     any_call},
    flag<&Domain::interleaved>("heads=interleaved", Calls::attention, "query head h reads key head h % kv_heads",
                               [](const CallTraits& call) { return call.interleaved || !has_groups(call); }),
    flag<&Domain::expanded>("expanded", Calls::attention,
                            "inputs may have a stride of 0 along batch or heads, where their numbers repeat", any_call),
    flag<&Domain::values_view>("values=view", Calls::attention,
                               "values are the first numbers of their keys, in the keys' memory",
                               [](const CallTraits& call) { return call.values_view && has_short_values(call); }),
    flag<&Domain::packed>("packed", Calls::attention, "sequences stand one behind the other; no mask, no bias",
                          [](const CallTraits& call) { return call.packed; }),
    flag<&Domain::pages>("pages", Calls::attention, "keys and values lie in pages; no mask, no bias",
                         [](const CallTraits& call) { return call.pages; }),
};

}  // namespace

std::span<const DomainRow> domain_rows() { return rows_in_order; }

bool Domain::has_lengths(const CallTraits& call) const {
  const bool within = std::ranges::all_of(lengths, [&](const auto& entry) {
    const auto length = call.lengths.find(entry.first);
    return length == call.lengths.end() || entry.second.contains(length->second);
  });
  return within && (!equal_lengths || has_equal_lengths(call)) && (!fewer_queries || has_fewer_queries(call)) &&
         (!equal_dims || has_equal_dims(call)) && (!values_view || has_short_values(call));
}

bool LengthRange::contains(std::uint64_t length) const {
  if (!listed.empty()) return std::ranges::binary_search(listed, length);
  return length >= least && length <= most && length % multiple == 0;
}

std::uint64_t LengthRange::nearest(std::uint64_t length) const {
  if (!listed.empty()) {
    const auto up = at_least(length), down = at_most(length);
    if (!up || !down) return up ? *up : *down;
    return length - *down < *up - length ? *down : *up;
  }
  const std::uint64_t lowest = (least + multiple - 1) / multiple * multiple, highest = most / multiple * multiple;
  const std::uint64_t up = length > highest ? highest : (length + multiple - 1) / multiple * multiple;
  const std::uint64_t down = length / multiple * multiple;
  return std::clamp(length - down < up - length ? down : up, lowest, std::max(lowest, highest));
}

std::optional<std::uint64_t> LengthRange::at_least(std::uint64_t length) const {
  if (!listed.empty()) {
    const auto found = std::ranges::lower_bound(listed, length);
    return found == listed.end() ? std::nullopt : std::optional(*found);
  }
  const std::uint64_t from = std::max(length, least), highest = most / multiple * multiple;
  if (from > highest) return std::nullopt;
  return (from + multiple - 1) / multiple * multiple;
}

std::optional<std::uint64_t> LengthRange::at_most(std::uint64_t length) const {
  if (!listed.empty()) {
    const auto above = std::ranges::upper_bound(listed, length);
    return above == listed.begin() ? std::nullopt : std::optional(*std::prev(above));
  }
  const std::uint64_t highest = std::min(length, most) / multiple * multiple;
  return highest < least ? std::nullopt : std::optional(highest);
}

std::vector<std::uint64_t> LengthRange::listed_within(std::uint64_t lowest, std::uint64_t highest) const {
  std::vector<std::uint64_t> lengths;
  for (const std::uint64_t length : listed) {
    if (length >= lowest && length <= highest) lengths.push_back(length);
  }
  return lengths;
}

LengthRange intersection(const LengthRange& a, const LengthRange& b) {
  LengthRange both{std::max(a.least, b.least), std::min(a.most, b.most), std::lcm(a.multiple, b.multiple)};
  const std::vector<std::uint64_t>& listed = a.listed.empty() ? b.listed : a.listed;
  if (listed.empty()) return both;
  std::ranges::copy_if(listed, std::back_inserter(both.listed),
                       [&](std::uint64_t length) { return a.contains(length) && b.contains(length); });
  if (both.listed.empty()) return {1, 0};
  both.least = both.listed.front();
  both.most = both.listed.back();
  both.multiple = 1;
  if (both.listed.size() == 1) both.listed.clear();
  return both;
}

}  // namespace softcheck::proptests
