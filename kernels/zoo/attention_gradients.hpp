#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/zoo/attention_attributed.hpp"

// Glue of the zoo's gradients of attention: every dtype, strides, offsets, masks, windows and grouped heads, one key
// head at a time, so that each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo::attention {

/// The tensors of a gradient's call that the forward pass lacks.
struct GradientTensors {
  View saved_lse, out_gradient, dq, dk, dv;
  std::optional<View> dsinks;  // (heads), if the call has this output
  std::optional<View> by_lse;  // (batch, heads, queries), the gradient by the log-sum-exps, if the call has it

  static constexpr std::uint32_t own = 6;  // q, k, v, out, lse, out_gradient; then the others of the forward pass

  void read(const softcheck_call& call) {
    saved_lse = View(*call.inputs[4]);
    out_gradient = View(*call.inputs[5]);
    dq = View(*call.outputs[0]);
    dk = View(*call.outputs[1]);
    dv = View(*call.outputs[2]);
  }
};

/// A call, unpacked. A mutant of layouts or parameters changes a field.
struct GradientCall : GradientTensors {
  AttributedCall of;  // q, k, v, mask and attributes, without its outputs
  View saved_out;
  std::optional<View> dbias;  // (batch, heads or 1, queries, keys), if the call has this output
};

/// The forward pass of the call of a gradient, of one output.
struct ForwardPass {
  std::vector<const DLTensor*> inputs;
  std::vector<std::uint32_t> roles{SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE};
  softcheck_call_2 forward;

  ForwardPass(const softcheck_call_2& whole, GradientTensors& tensors) : forward(whole) {
    const softcheck_call& call = whole.call;
    inputs.assign(call.inputs, call.inputs + 3);
    for (std::uint32_t i = GradientTensors::own; i < call.n_inputs; ++i) {
      if (whole.input_roles[i] == SOFTCHECK_ROLE_LSE_GRADIENT) {
        tensors.by_lse.emplace(*call.inputs[i]);
        continue;
      }
      inputs.push_back(call.inputs[i]);
      roles.push_back(whole.input_roles[i]);
    }
    forward.op = SOFTCHECK_OP_ATTENTION;
    forward.call.inputs = inputs.data();
    forward.call.n_inputs = static_cast<std::uint32_t>(inputs.size());
    forward.call.n_outputs = 1;
    forward.input_roles = roles.data();
  }
};

/// The queries that use one key head: head by head, query by query.
template <class Real>
struct GradientHead {
  std::vector<AttributedRow<Real>> rows;  // (m)
  std::vector<Real> saved_out;            // (m, dv)
  std::vector<Real> saved_lse;            // (m)
  std::vector<Real> gradients;            // (m, dv)
  std::vector<Real> by_lse;               // (m), 0 without
  std::size_t items = 0, dim = 0, value_dim = 0, queries = 0;
  // The results; at first the previous contents of their memory.
  std::vector<Real> dq, dk, dv;  // (m, d), (n, d), (n, dv)
};

inline bool unpack_gradient(const softcheck_call& call, GradientCall& a) {
  constexpr std::uint32_t roles[] = {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE,
                                     SOFTCHECK_ROLE_OUT,   SOFTCHECK_ROLE_LSE, SOFTCHECK_ROLE_OUT_GRADIENT};
  const softcheck_call_2* whole = softcheck_version_2(&call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_ATTENTION_BACKWARD || call.n_inputs < a.own || call.n_outputs < 3 ||
      call.n_outputs > 5 || !std::equal(roles, roles + a.own, whole->input_roles)) {
    return false;
  }
  const ForwardPass pass(*whole, a);
  const std::optional<AttributedCall> of = unpack_attributed(pass.forward.call);
  if (!of) return false;
  a.of = *of;
  a.saved_out = View(*call.inputs[3]);
  a.read(call);
  // The rank of an output tells dsinks (1) from dbias.
  for (std::uint32_t i = 3; i < call.n_outputs; ++i) {
    (call.outputs[i]->ndim == 1 ? a.dsinks : a.dbias).emplace(*call.outputs[i]);
  }
  return (!a.dsinks || a.of.sinks) && (!a.dbias || a.of.bias);
}

template <class Real>
std::vector<Real> read_rows(const View& view, std::int64_t b, std::int64_t h, std::int64_t rows, std::int64_t size) {
  std::vector<Real> numbers;
  for (std::int64_t i = 0; i < rows; ++i) {
    append(numbers, view, size, [&](std::int64_t c) { return view.at(b, h, i, c); });
  }
  return numbers;
}

template <class Real>
void write_rows(const View& view, std::int64_t b, std::int64_t h, const std::vector<Real>& numbers, std::size_t first,
                std::int64_t rows, std::int64_t size) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t c = 0; c < size; ++c) {
      store(view.type, numbers[first + static_cast<std::size_t>(i * size + c)], view.at(b, h, i, c));
    }
  }
}

template <class Real>
GradientHead<Real> gather_head(const GradientCall& call, std::int64_t b, std::int64_t kv) {
  const Attention& a = call.of.plain;
  const std::int64_t queries = a.q.shape[2], group = a.q.shape[1] / a.k.shape[1], dim = a.q.shape[3], dv = a.v.shape[3];
  GradientHead<Real> head;
  head.items = static_cast<std::size_t>(a.keys);
  head.dim = static_cast<std::size_t>(dim);
  head.value_dim = static_cast<std::size_t>(dv);
  head.queries = static_cast<std::size_t>(queries);
  const auto append = [](std::vector<Real>& to, const std::vector<Real>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  LastHead<Real> last;
  for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
    for (std::int64_t i = 0; i < queries; ++i) {
      head.rows.push_back(gather(call.of, b, h, i, last));
      head.saved_lse.push_back(load<Real>(call.saved_lse.type, call.saved_lse.at(b, h, i)));
      head.by_lse.push_back(call.by_lse ? load<Real>(call.by_lse->type, call.by_lse->at(b, h, i)) : Real(0));
    }
    append(head.saved_out, read_rows<Real>(call.saved_out, b, h, queries, dv));
    append(head.gradients, read_rows<Real>(call.out_gradient, b, h, queries, dv));
    append(head.dq, read_rows<Real>(call.dq, b, h, queries, dim));
  }
  head.dk = read_rows<Real>(call.dk, b, kv, a.keys, dim);
  head.dv = read_rows<Real>(call.dv, b, kv, a.keys, dv);
  return head;
}

/// A right kernel, of sum=sequential: p = exp(x - L) and delta = <dO, O> from the saved values, less the gradient by L.
/// A mutant overrides a step.
template <class Real>
struct Gradients {
  GradientHead<Real>& head;

  explicit Gradients(GradientHead<Real>& of) : head(of) {}
  virtual ~Gradients() = default;

  Real gradient(std::size_t i, std::size_t c) const { return head.gradients[i * head.value_dim + c]; }
  virtual Real sink_probability(std::size_t i) const { return std::exp(*head.rows[i].sink - head.saved_lse[i]); }
  /// The term of query i in its sink's gradient.
  virtual Real sink_term(std::size_t i) const { return -(sink_probability(i) * delta(i)); }
  /// Adds the terms of the group's head g, in one batch, to the gradient by its sink.
  virtual void add_sink(std::size_t g, Real& sum) const {
    for (std::size_t i = g * head.queries; i < (g + 1) * head.queries; ++i) sum += sink_term(i);
  }

  /// The pair's term in the gradient by its bias: dS before a softcap's slope.
  virtual Real bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const {
    return p * (product(i, j) - own_delta);
  }
  /// Adds query i's terms to its row of the gradient by the bias.
  virtual void add_bias(std::size_t i, Real* sums) const {
    const Real own_delta = centre(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (sees(i, j)) sums[j] += bias_term(i, j, probability(i, j), own_delta);
    }
  }

  Real score_of(std::size_t i, std::size_t j) const { return attributed_score(head.rows[i], j); }
  /// The factor by which a softcap multiplies a score's gradient: 1 - tanh(score / softcap)^2.
  Real slope_of(std::size_t i, std::size_t j) const {
    const AttributedRow<Real>& row = head.rows[i];
    if (row.softcap == 0) return 1;
    const Real tangent = std::tanh(score<Real>(row, j) / row.softcap);
    return 1 - tangent * tangent;
  }
  /// The dropout's factor of p_j in the output.
  virtual Real factor(std::size_t i, std::size_t j) const { return dropout_factor(head.rows[i], j); }
  virtual Real value_factor(std::size_t i, std::size_t j) const { return factor(i, j); }
  /// g_j = <dO_i, v_j>, times that factor.
  Real product(std::size_t i, std::size_t j) const {
    Real sum = 0;
    for (std::size_t c = 0; c < head.value_dim; ++c)
      sum += gradient(i, c) * head.rows[i].values[j * head.value_dim + c];
    return sum * factor(i, j);
  }

  virtual bool sees(std::size_t i, std::size_t j) const { return head.rows[i].visible[j] != 0; }
  virtual Real probability(std::size_t i, std::size_t j) const { return std::exp(score_of(i, j) - head.saved_lse[i]); }
  virtual Real delta(std::size_t i) const {
    Real sum = 0;
    for (std::size_t c = 0; c < head.value_dim; ++c) sum += gradient(i, c) * head.saved_out[i * head.value_dim + c];
    return sum;
  }
  /// The gradient of the loss by the query's log-sum-exp.
  virtual Real by_lse(std::size_t i) const { return head.by_lse[i]; }
  virtual Real centre(std::size_t i) const { return delta(i) - by_lse(i); }
  /// dS_j of p_j.
  virtual Real score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const {
    return p * (product(i, j) - own_delta) * slope_of(i, j);
  }
  virtual Real stored_weight(Real p) const { return p; }
  virtual void add(std::size_t i, std::size_t j, Real weight, Real ds) {
    const AttributedRow<Real>& row = head.rows[i];
    for (std::size_t t = 0; t < head.dim; ++t) {
      head.dq[i * head.dim + t] += ds * row.keys[j * head.dim + t];
      head.dk[j * head.dim + t] += ds * row.query[t];
    }
    for (std::size_t c = 0; c < head.value_dim; ++c)
      head.dv[j * head.value_dim + c] += weight * value_factor(i, j) * gradient(i, c);
  }
  virtual void clear() {
    std::fill(head.dq.begin(), head.dq.end(), Real(0));
    std::fill(head.dk.begin(), head.dk.end(), Real(0));
    std::fill(head.dv.begin(), head.dv.end(), Real(0));
  }
  virtual void query(std::size_t i) {
    const Real own_delta = centre(i);
    for (std::size_t j = 0; j < head.items; ++j) {
      if (!sees(i, j)) continue;
      const Real p = probability(i, j);
      add(i, j, stored_weight(p), score_gradient(i, j, p, own_delta));
    }
  }
  virtual void finish_sums(Real scale) {
    for (Real& x : head.dq) x *= scale;
    for (Real& x : head.dk) x *= scale;
  }
  virtual void run(Real scale) {
    clear();
    for (std::size_t i = 0; i < head.rows.size(); ++i) query(i);
    finish_sums(scale);
  }
};

/// The sums of one call's gradient by its bias, of its shape.
template <class Real>
struct BiasSums {
  const GradientCall& call;
  std::vector<Real> sums;

  explicit BiasSums(const GradientCall& of) : call(of) {
    if (of.dbias) sums.resize(static_cast<std::size_t>(of.of.plain.q.shape[0] * heads() * queries() * keys()));
  }
  std::int64_t heads() const { return call.dbias->shape[1]; }
  std::int64_t queries() const { return call.of.plain.q.shape[2]; }
  std::int64_t keys() const { return call.of.plain.keys; }
  Real* row(std::int64_t b, std::int64_t h, std::int64_t i) {
    return sums.data() + ((b * heads() + (heads() == 1 ? 0 : h)) * queries() + i) * keys();
  }
  void write() {
    if (!call.dbias) return;
    each_place(*call.dbias, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      for (std::int64_t j = 0; j < keys(); ++j) store(call.dbias->type, row(b, h, i)[j], call.dbias->at(b, h, i, j));
    });
  }
};

template <template <class> class Kernel, class Real>
void each_key_head(const GradientCall& call) {
  const Attention& a = call.of.plain;
  const std::int64_t key_heads = a.k.shape[1], queries = a.q.shape[2];
  if (key_heads == 0) return;
  const std::int64_t group = a.q.shape[1] / key_heads;
  std::vector<Real> dsinks(static_cast<std::size_t>(a.q.shape[1]));
  BiasSums<Real> dbias(call);
  for (std::int64_t b = 0; b < a.q.shape[0]; ++b) {
    for (std::int64_t kv = 0; kv < key_heads; ++kv) {
      GradientHead<Real> head = gather_head<Real>(call, b, kv);
      Kernel<Real> kernel(head);
      kernel.run(static_cast<Real>(a.scale));
      for (std::int64_t g = 0; g < group; ++g) {
        if (call.dsinks) {
          kernel.add_sink(static_cast<std::size_t>(g), dsinks[static_cast<std::size_t>(kv * group + g)]);
        }
        for (std::int64_t i = 0; call.dbias && i < queries; ++i) {
          kernel.add_bias(static_cast<std::size_t>(g * queries + i), dbias.row(b, kv * group + g, i));
        }
        const auto first = static_cast<std::size_t>(g * queries) * head.dim;
        write_rows(call.dq, b, kv * group + g, head.dq, first, queries, a.q.shape[3]);
      }
      write_rows(call.dk, b, kv, head.dk, 0, a.keys, a.k.shape[3]);
      write_rows(call.dv, b, kv, head.dv, 0, a.keys, a.v.shape[3]);
    }
  }
  dbias.write();
  for (std::int64_t h = 0; h < a.q.shape[1] && call.dsinks; ++h) {
    store(call.dsinks->type, dsinks[static_cast<std::size_t>(h)], call.dsinks->at(h, 0, 0));
  }
}

/// Runs the kernel on every key head; before that, change(GradientCall&) may change the call.
template <template <class> class Kernel, class Change>
int gradients_by(const softcheck_call* call, Change change) {
  GradientCall a;
  if (!unpack_gradient(*call, a)) return 1;
  change(a);
  return in_format_of(a.of.plain.q.type, [&]<class Real>(Real) { each_key_head<Kernel, Real>(a); });
}

template <template <class> class Kernel>
int gradients_by(const softcheck_call* call) {
  return gradients_by<Kernel>(call, [](GradientCall&) {});
}

/// The right kernel on a call that change(GradientCall&) has changed.
template <class Change>
int gradients_of_changed_call(const softcheck_call* call, Change change) {
  return gradients_by<Gradients>(call, change);
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_gradients_of_changed_call(name) SOFTCHECK_CALL_BODY(void, name, GradientCall& a)

/// A right kernel with one wrong step of Gradients: the step's result and declaration, followed by its body.
#define GRADIENT_BUG(symbol, result, step)                                                              \
  template <class Real>                                                                                 \
  struct symbol##_kernel final : Gradients<Real> {                                                      \
    using Gradients<Real>::Gradients;                                                                   \
    using Gradients<Real>::head;                                                                        \
    result step override;                                                                               \
  };                                                                                                    \
  SOFTCHECK_MUTANT symbol(const softcheck_call* asked) { return gradients_by<symbol##_kernel>(asked); } \
  template <class Real>                                                                                 \
  result symbol##_kernel<Real>::step
