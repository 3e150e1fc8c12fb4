#include "experiments/language/language_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "experiments/attention_kernels.hpp"
#include "kernels/abi/kernel_call.hpp"
// clang-format off
#include "experiments/language/root_attention.inl"
// clang-format on

namespace softcheck::experiments {
namespace {

using kernels::call_of;
using kernels::CallTensor;

void require_done(int code, const char* kernel) {
  if (code != 0) throw std::runtime_error(std::string("the kernel of ") + kernel + " refused a call");
}

void run_loss(softcheck_kernel kernel, softcheck_op op, std::span<const DLTensor* const> inputs,
              std::span<DLTensor* const> outputs) {
  const std::array<std::uint32_t, 3> roles{SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS, SOFTCHECK_ROLE_UPSTREAM};
  softcheck_attributes attributes{};
  attributes.size = sizeof(attributes);
  attributes.ignore_index = -1;
  const softcheck_call_2 call = kernels::version_2_call(op, inputs, roles.data(), attributes, outputs);
  require_done(kernel(&call.call), "cross-entropy");
}

}  // namespace

LanguageKernels::LanguageKernels(const std::filesystem::path& library) {
  const KernelLibrary kernels(library);
  attention[0] = kernels.kernel("softcheck_attention_varlen");
  attention[1] = kernels.kernel("softcheck_adaptive_attention_varlen");
  attention_back[0] = kernels.kernel("softcheck_attention_backward_varlen");
  attention_back[1] = kernels.kernel("softcheck_adaptive_attention_backward_varlen");
  cross_entropy = kernels.kernel("softcheck_cross_entropy");
  cross_entropy_back = kernels.kernel("softcheck_cross_entropy_backward");
}

template <class Real>
LanguageParts<Real>::LanguageParts(const LanguageKernels& kernels, const LanguageDesign& design,
                                   const TokenBatch& batch)
    : kernels_(kernels), design_(design), batch_(batch) {
  check_design(design);
  const auto rows = static_cast<std::size_t>(design.shape.heads) * batch.ids.size();
  log_sum_.resize(rows);
  entropy_.resize(rows);
  largest_.resize(rows);
  key_begins_ = batch.begins;
  for (int text = 0; text < batch.texts(); ++text) {
    const auto place = static_cast<std::size_t>(text);
    if (design.weights == HeadWeights::sink) key_begins_[place + 1] += text + 1;
    for (std::int64_t seen = 1; seen <= batch.begins[place + 1] - batch.begins[place]; ++seen) {
      scales_.push_back(static_cast<Real>(std::log(static_cast<double>(seen)) / std::log(log_n_unit)));
    }
  }
}

template <class Real>
std::int64_t LanguageParts<Real>::keys() const {
  return key_begins_.back();
}

template <class Real>
typename LanguageParts<Real>::template Projections<const Real> LanguageParts<Real>::projections(const Real* projected) {
  const std::int64_t d = design_.shape.width;
  Projections<const Real> from{projected, projected + d, projected + 2 * d, 3 * d, 3 * d};
  if (design_.weights == HeadWeights::log_n) {
    queries_.clear();
    for (std::size_t t = 0; t < scales_.size(); ++t) {
      const Real* const query = projected + 3 * d * static_cast<std::int64_t>(t);
      std::transform(query, query + d, std::back_inserter(queries_), [&](Real x) { return x * scales_[t]; });
    }
    from.queries = queries_.data();
    from.query_stride = d;
  }
  if (design_.weights == HeadWeights::line) {
    warm_queries(from);
    from.queries = queries_.data();
    from.query_stride = d;
  }
  if (design_.weights == HeadWeights::sink) {
    keys_.assign(static_cast<std::size_t>(keys() * d), Real(0));  // each text's first stays so
    values_ = keys_;
    for_each_key([&](std::int64_t token, std::int64_t key) {
      const Real* const of = projected + 3 * d * token;
      std::copy(of + d, of + 2 * d, keys_.data() + key * d);
      std::copy(of + 2 * d, of + 3 * d, values_.data() + key * d);
    });
    from.keys = keys_.data();
    from.values = values_.data();
    from.key_stride = d;
  }
  return from;
}

template <class Real>
typename LanguageParts<Real>::template Projections<Real> LanguageParts<Real>::gradients(Real* d_projected) {
  const std::int64_t d = design_.shape.width;
  Projections<Real> to{d_projected, d_projected + d, d_projected + 2 * d, 3 * d, 3 * d};
  if (design_.weights == HeadWeights::sink) {
    d_keys_.resize(static_cast<std::size_t>(keys() * d));
    d_values_.resize(d_keys_.size());
    to.keys = d_keys_.data();
    to.values = d_values_.data();
    to.key_stride = d;
  }
  return to;
}

template <class Real>
void LanguageParts<Real>::take_back(const Real* projected, Real* d_projected) {
  const std::int64_t d = design_.shape.width;
  if (design_.weights == HeadWeights::log_n) {
    for (std::size_t t = 0; t < scales_.size(); ++t) {
      Real* const query = d_projected + 3 * d * static_cast<std::int64_t>(t);
      std::transform(query, query + d, query, [&](Real x) { return x * scales_[t]; });
    }
  }
  if (design_.weights == HeadWeights::line) cool_queries(projected, d_projected);
  if (design_.weights == HeadWeights::sink) {
    for_each_key([&](std::int64_t token, std::int64_t key) {
      Real* const to = d_projected + 3 * d * token;
      std::copy_n(d_keys_.data() + key * d, d, to + d);
      std::copy_n(d_values_.data() + key * d, d, to + 2 * d);
    });
  }
}

template <class Real>
template <class Visit>
void LanguageParts<Real>::for_each_key(Visit visit) const {
  for (int text = 0; text < batch_.texts(); ++text) {
    const auto place = static_cast<std::size_t>(text);
    for (std::int64_t token = batch_.begins[place]; token < batch_.begins[place + 1]; ++token) {
      visit(token, token + text + 1);
    }
  }
}

template <class Real>
void LanguageParts<Real>::warm_queries(const Projections<const Real>& of) {
  const std::int64_t d = design_.shape.width, tokens = batch_.tokens(), dim = design_.shape.head_width();
  queries_.resize(static_cast<std::size_t>(tokens * d));
  run(of, queries_.data());  // for the entropies; its output is not used
  betas_.clear();
  for (const Real entropy : entropy_) {
    betas_.push_back(std::max(Real(1), static_cast<Real>(line_start) + static_cast<Real>(line_slope) * entropy));
  }
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t i = 0; i < d; ++i) {
      const auto row = static_cast<std::size_t>(i / dim * tokens + t);
      queries_[static_cast<std::size_t>(t * d + i)] = of.queries[t * of.query_stride + i] * betas_[row];
    }
  }
}

// With e the scores of a query q, p their softmax and m their mean by p, dH/de_j = -p_j (e_j - m). The gradient of
// plain attention gives this, with the keys as values and -scale q as upstream: then dL/dp_j = -e_j.
template <class Real>
void LanguageParts<Real>::cool_queries(const Real* projected, Real* d_projected) {
  const std::int64_t d = design_.shape.width, tokens = batch_.tokens(), dim = design_.shape.head_width();
  const Real scale = 1 / std::sqrt(static_cast<Real>(dim));
  upstream_.resize(static_cast<std::size_t>(tokens * d));
  moved_.resize(3 * upstream_.size());
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t head = 0; head < design_.shape.heads; ++head) {
      const Real* const query = projected + 3 * d * t + head * dim;
      Real* const d_query = d_projected + 3 * d * t + head * dim;
      const Real beta = betas_[static_cast<std::size_t>(head * tokens + t)];
      const Real d_beta = std::inner_product(query, query + dim, d_query, Real(0));
      const Real d_entropy = beta > 1 ? static_cast<Real>(line_slope) * d_beta : Real(0);
      std::transform(query, query + dim, upstream_.begin() + t * d + head * dim,
                     [&](Real x) { return -scale * d_entropy * x; });
      std::transform(d_query, d_query + dim, d_query, [&](Real x) { return beta * x; });
    }
  }
  run_back({projected, projected + d, projected + d, 3 * d, 3 * d}, upstream_.data(),
           {moved_.data(), moved_.data() + d, moved_.data() + 2 * d, 3 * d, 3 * d});
  for (std::int64_t t = 0; t < tokens; ++t) {
    Real* const to = d_projected + 3 * d * t;
    std::transform(to, to + 2 * d, moved_.begin() + 3 * d * t, to, std::plus<>());
  }
}

template <class Real>
void LanguageParts<Real>::run(const Projections<const Real>& of, Real* attended) {
  const std::int64_t d = design_.shape.width, heads = design_.shape.heads, dim = design_.shape.head_width();
  const std::int64_t tokens = batch_.tokens();
  const auto count = static_cast<std::int64_t>(batch_.begins.size());
  const auto numbers = [&](std::vector<Real>& of) {
    return CallTensor(of.data(), {heads, tokens}, {tokens, std::int64_t{1}});
  };
  CallTensor q(of.queries, {tokens, heads, dim}, {of.query_stride, dim, 1});
  CallTensor k(of.keys, {keys(), heads, dim}, {of.key_stride, dim, 1});
  CallTensor v(of.values, {keys(), heads, dim}, {of.key_stride, dim, 1});
  CallTensor lengths(batch_.begins.data(), {count}, {1}), key_lengths(key_begins_.data(), {count}, {1});
  CallTensor out(attended, {tokens, heads, dim}, {d, dim, 1});
  CallTensor lse = numbers(log_sum_), entropy = numbers(entropy_), largest = numbers(largest_);
  const std::array<const DLTensor*, 5> inputs{q.get(), k.get(), v.get(), lengths.get(), key_lengths.get()};
  const std::array<DLTensor*, 4> outputs{out.get(), lse.get(), entropy.get(), largest.get()};
  const softcheck_call call = call_of(inputs, outputs, 1 / std::sqrt(static_cast<double>(dim)), true);
  require_done(kernels_.attention[design_.adaptive](&call), "attention");
}

template <class Real>
void LanguageParts<Real>::run_back(const Projections<const Real>& of, const Real* d_attended,
                                   const Projections<Real>& to) {
  const std::int64_t d = design_.shape.width, heads = design_.shape.heads, dim = design_.shape.head_width();
  const std::int64_t tokens = batch_.tokens();
  const auto count = static_cast<std::int64_t>(batch_.begins.size());
  const auto queries = [&](const auto& of) {
    return CallTensor(of.queries, {tokens, heads, dim}, {of.query_stride, dim, 1});
  };
  const auto part = [&](const Real* data, std::int64_t stride) {
    return CallTensor(data, {keys(), heads, dim}, {stride, dim, 1});
  };
  CallTensor q = queries(of), k = part(of.keys, of.key_stride), v = part(of.values, of.key_stride);
  CallTensor dq = queries(to), dk = part(to.keys, to.key_stride), dv = part(to.values, to.key_stride);
  CallTensor d_out(d_attended, {tokens, heads, dim}, {d, dim, 1});
  CallTensor lengths(batch_.begins.data(), {count}, {1}), key_lengths(key_begins_.data(), {count}, {1});
  const std::array<const DLTensor*, 6> inputs{q.get(), k.get(), v.get(), d_out.get(), lengths.get(), key_lengths.get()};
  const std::array<DLTensor*, 3> outputs{dq.get(), dk.get(), dv.get()};
  const softcheck_call call = call_of(inputs, outputs, 1 / std::sqrt(static_cast<double>(dim)), true);
  require_done(kernels_.attention_back[design_.adaptive](&call), "attention's gradient");
}

template <class Real>
void LanguageParts<Real>::attend(int layer, const Real* projected, int, Real* attended) {
  if (!has_kernel(design_.weights)) {
    if constexpr (std::is_same_v<Real, float>) {
      language_lane().attend(design_.shape, batch_.begins.data(), batch_.texts(), projected, attended);
    } else {
      root_attend<Real>({design_.shape, batch_.begins.data(), batch_.texts()}, projected, attended);
    }
    return;
  }
  run(projections(projected), attended);
  if constexpr (std::is_same_v<Real, float>) {
    if (seen) seen({layer, projected, log_sum_.data(), entropy_.data(), largest_.data()});
  }
}

template <class Real>
void LanguageParts<Real>::attend_back(int, const Real* projected, const Real* d_attended, int, Real* d_projected) {
  if (!has_kernel(design_.weights)) {
    if constexpr (std::is_same_v<Real, float>) {
      language_lane().attend_back(design_.shape, batch_.begins.data(), batch_.texts(), projected, d_attended,
                                  d_projected);
    } else {
      root_attend_back<Real>({design_.shape, batch_.begins.data(), batch_.texts()}, projected, d_attended, d_projected);
    }
    return;
  }
  const Projections<const Real> of = projections(projected);
  run_back(of, d_attended, gradients(d_projected));
  take_back(projected, d_projected);
}

template <class Real>
Real LanguageParts<Real>::cross_entropy(const Real* logits, int targets, const int* labels, Real* d_logits) {
  losses_.resize(static_cast<std::size_t>(targets));
  const std::int64_t rows = targets, columns = character_count;
  CallTensor x(logits, {rows, columns}, {columns, 1}), y(labels, {rows}, {1}), loss(losses_.data(), {rows}, {1});
  run_loss(kernels_.cross_entropy, SOFTCHECK_OP_CROSS_ENTROPY, std::array<const DLTensor*, 2>{x.get(), y.get()},
           std::array<DLTensor*, 1>{loss.get()});
  double sum = 0;
  for (const Real value : losses_) sum += static_cast<double>(value);
  if (d_logits != nullptr) {
    shares_.assign(static_cast<std::size_t>(targets), Real(1) / static_cast<Real>(targets));
    CallTensor upstream(shares_.data(), {rows}, {1}), dx(d_logits, {rows, columns}, {columns, 1});
    run_loss(kernels_.cross_entropy_back, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD,
             std::array<const DLTensor*, 3>{x.get(), y.get(), upstream.get()}, std::array<DLTensor*, 1>{dx.get()});
  }
  return static_cast<Real>(sum / targets);
}

template <class Real>
softcheck_language_parts LanguageParts<Real>::calls() {
  if constexpr (!std::is_same_v<Real, float>) {
    throw std::invalid_argument("LanguageParts::calls: need float");
  } else {
    return {
        this,
        [](void* context, int layer, const float* projected, int tokens, float* attended) {
          static_cast<LanguageParts*>(context)->attend(layer, projected, tokens, attended);
        },
        [](void* context, int layer, const float* projected, const float* d_attended, int tokens, float* d_projected) {
          static_cast<LanguageParts*>(context)->attend_back(layer, projected, d_attended, tokens, d_projected);
        },
        [](void* context, const float* logits, int targets, const int* labels, float* d_logits) {
          return static_cast<LanguageParts*>(context)->cross_entropy(logits, targets, labels, d_logits);
        }};
  }
}
template class LanguageParts<float>;
template class LanguageParts<double>;

softcheck_language_batch lane_batch(const TokenBatch& batch, const TurnTable<float>& turns) {
  return {batch.tokens(),       batch.ids.data(),    batch.positions.empty() ? nullptr : batch.positions.data(),
          batch.targets(),      batch.places.data(), batch.labels.data(),
          turns.cosines.data(), turns.sines.data()};
}

}  // namespace softcheck::experiments
