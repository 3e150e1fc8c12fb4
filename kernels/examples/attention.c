/* Attention with a sliding window, a softcap and sinks, as a C programmer would plug it in: version 2 of a call says
 * which input is what, and the attributes. Compact f32 tensors, no mask; out and its log-sum-exp. */
#include <math.h>

#include "kernels/abi/softcheck_kernel.h"

static const float* numbers_of(const DLTensor* t) { return (const float*)((const char*)t->data + t->byte_offset); }

/* What a query needs beside its numbers. */
typedef struct {
  int64_t first, end; /* the keys that it sees */
  float scale, softcap;
  const float* sink; /* NULL: none */
} query_call;

static float score_of(const float* q, const float* k, int64_t dim, const query_call* of) {
  float dot = 0;
  for (int64_t t = 0; t < dim; ++t) dot += q[t] * k[t];
  dot *= of->scale;
  return of->softcap == 0 ? dot : of->softcap * tanhf(dot / of->softcap);
}

static void attend(const float* q, const float* k, const float* v, int64_t dim, int64_t columns, const query_call* of,
                   float* out, float* lse) {
  float m = of->sink ? *of->sink : -INFINITY, sum = 0;
  for (int64_t j = of->first; j < of->end; ++j) {
    const float x = score_of(q, k + j * dim, dim, of);
    m = isnan(x) || x > m ? x : m;
    if (isnan(m)) break;
  }
  for (int64_t c = 0; c < columns; ++c) out[c] = 0;
  for (int64_t j = of->first; j < of->end; ++j) {
    const float w = expf(score_of(q, k + j * dim, dim, of) - m);
    sum += w;
    for (int64_t c = 0; c < columns; ++c) out[c] += w * v[j * columns + c];
  }
  if (of->sink) sum += expf(*of->sink - m); /* one item more, without a value */
  for (int64_t c = 0; c < columns; ++c) out[c] = sum == 0 ? 0 : out[c] / sum;
  if (lse) *lse = m + logf(sum);
}

static int is_taken(const DLTensor* t) {
  return t->dtype.code == kDLFloat && t->dtype.bits == 32 && t->device.device_type == kDLCPU && !t->strides;
}

__attribute__((visibility("default"))) int example_attention_c(const softcheck_call* call) {
  const softcheck_call_2* more = softcheck_version_2(call);
  if (call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION && (!more || more->op != SOFTCHECK_OP_ATTENTION)) return 1;
  if (call->n_inputs < 3 || call->n_outputs > 2) return 1;
  for (uint32_t i = 0; i < call->n_inputs; ++i) {
    if (!is_taken(call->inputs[i]) || (i > 2 && (!more || more->input_roles[i] != SOFTCHECK_ROLE_SINKS))) return 1;
  }
  for (uint32_t i = 0; i < call->n_outputs; ++i) {
    if (!is_taken(call->outputs[i])) return 1;
  }
  if (more && more->attributes->causal_top_left) return 1;
  const int64_t left = more ? more->attributes->window_left_plus_1 : 0;
  const int64_t right = more ? more->attributes->window_right_plus_1 : 0;
  const float softcap = more ? (float)more->attributes->softcap : 0;
  const float* sinks = call->n_inputs > 3 ? numbers_of(call->inputs[3]) : NULL;
  const float *q = numbers_of(call->inputs[0]), *k = numbers_of(call->inputs[1]), *v = numbers_of(call->inputs[2]);
  float* out = (float*)numbers_of(call->outputs[0]);
  float* lse = call->n_outputs > 1 ? (float*)numbers_of(call->outputs[1]) : NULL;
  const int64_t* shape = call->inputs[0]->shape;
  const int64_t heads = shape[1], queries = shape[2], dim = shape[3], columns = call->inputs[2]->shape[3];
  const int64_t key_heads = call->inputs[1]->shape[1], keys = call->inputs[1]->shape[2];
  for (int64_t row = 0; row < shape[0] * heads * queries; ++row) {
    const int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
    const int64_t place = i + keys - queries; /* the key that the query stands at */
    query_call of = {0, keys, (float)call->scale, softcap, sinks ? sinks + h : NULL};
    if (call->causal && place + 1 < of.end) of.end = place + 1;
    if (left && place - left + 1 > of.first) of.first = place - left + 1;
    if (right && place + right < of.end) of.end = place + right;
    const int64_t key = (b * key_heads + h / (heads / key_heads)) * keys;
    attend(q + row * dim, k + key * dim, v + key * columns, dim, columns, &of, out + row * columns,
           lse ? lse + row : NULL);
  }
  return 0;
}
