/* Attention over packed sequences, as a C programmer would plug it in: version 2 of a call has the roles cu_q and cu_k,
 * which say where each sequence begins and where the last one ends. Compact f32 tensors; out and its log-sum-exp. */
#include <math.h>

#include "kernels/abi/softcheck_kernel.h"

static const float* numbers_of(const DLTensor* t) { return (const float*)((const char*)t->data + t->byte_offset); }
static const int32_t* integers_of(const DLTensor* t) { return (const int32_t*)((const char*)t->data + t->byte_offset); }

/* One head of one sequence; neighbouring tokens are so many numbers apart. */
typedef struct {
  const float *k, *v;
  int64_t dim, columns, key_step, value_step;
  float scale;
} head_of_sequence;

static float score_of(const float* q, const head_of_sequence* of, int64_t j) {
  float dot = 0;
  for (int64_t t = 0; t < of->dim; ++t) dot += q[t] * of->k[j * of->key_step + t];
  return of->scale * dot;
}

/* A query that sees the first keys of its sequence; of none it is 0. Returns the log-sum-exp. */
static float attend(const float* q, const head_of_sequence* of, int64_t keys, float* out) {
  float m = -INFINITY, sum = 0;
  for (int64_t j = 0; j < keys && !isnan(m); ++j) {
    const float x = score_of(q, of, j);
    m = isnan(x) || x > m ? x : m;
  }
  for (int64_t c = 0; c < of->columns; ++c) out[c] = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const float w = expf(score_of(q, of, j) - m);
    sum += w;
    for (int64_t c = 0; c < of->columns; ++c) out[c] += w * of->v[j * of->value_step + c];
  }
  for (int64_t c = 0; c < of->columns && keys > 0; ++c) out[c] /= sum;
  return m + logf(sum);
}

static int is_compact(const DLTensor* t, uint8_t code) {
  return t->dtype.code == code && t->dtype.bits == 32 && t->device.device_type == kDLCPU && !t->strides;
}

/* q, k, v, cu_q and cu_k and nothing else. */
static int is_taken(const softcheck_call* call) {
  static const uint32_t roles[] = {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE, SOFTCHECK_ROLE_CU_Q,
                                   SOFTCHECK_ROLE_CU_K};
  const softcheck_call_2* more = softcheck_version_2(call);
  if (!more || more->op != SOFTCHECK_OP_ATTENTION || call->n_inputs != 5 || call->n_outputs > 2) return 0;
  for (uint32_t i = 0; i < 5; ++i) {
    if (more->input_roles[i] != roles[i] || !is_compact(call->inputs[i], i < 3 ? kDLFloat : kDLInt)) return 0;
  }
  for (uint32_t i = 0; i < call->n_outputs; ++i) {
    if (!is_compact(call->outputs[i], kDLFloat)) return 0;
  }
  const softcheck_attributes* a = more->attributes;
  return !a->window_left_plus_1 && !a->window_right_plus_1 && a->softcap == 0 && !a->causal_top_left;
}

__attribute__((visibility("default"))) int example_attention_packed_c(const softcheck_call* call) {
  if (!is_taken(call)) return 1;
  const DLTensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  const int32_t *cu_q = integers_of(call->inputs[3]), *cu_k = integers_of(call->inputs[4]);
  const int64_t heads = q->shape[1], dim = q->shape[2], key_heads = k->shape[1], columns = v->shape[2];
  float* out = (float*)numbers_of(call->outputs[0]);
  float* lse = call->n_outputs > 1 ? (float*)numbers_of(call->outputs[1]) : NULL;
  for (int64_t b = 0; b + 1 < call->inputs[3]->shape[0]; ++b) {
    const int64_t queries = cu_q[b + 1] - cu_q[b], keys = cu_k[b + 1] - cu_k[b];
    for (int64_t row = 0; row < queries * heads; ++row) {
      const int64_t i = row / heads, h = row % heads, head = h / (heads / key_heads), token = cu_q[b] + i;
      const head_of_sequence of = {.k = numbers_of(k) + (cu_k[b] * key_heads + head) * dim,
                                   .v = numbers_of(v) + (cu_k[b] * key_heads + head) * columns,
                                   .dim = dim,
                                   .columns = columns,
                                   .key_step = key_heads * dim,
                                   .value_step = key_heads * columns,
                                   .scale = (float)call->scale};
      int64_t seen = call->causal ? i + keys - queries + 1 : keys; /* the last query stands at the last key */
      if (seen < 0) seen = 0;
      const float l = attend(numbers_of(q) + (token * heads + h) * dim, &of, seen, out + (token * heads + h) * columns);
      if (lse) lse[h * q->shape[0] + token] = l; /* (heads, total) */
    }
  }
  return 0;
}
