/* Judges a gradient of attention in C with libsoftcheck, and exits with 0 if it keeps its contract. The gradient takes
 * any mask, heads and lengths, but only compact f32 tensors; its domain declares that.
 *
 *   cc -std=c11 attention_backward.c -o attention_backward $(pkg-config --cflags --libs softcheck) -lm &&
 *     ./attention_backward
 */
#include <math.h>
#include <softcheck/softcheck.h>
#include <stdio.h>
#include <string.h>

static char* first_of(const DLTensor* t) { return (char*)t->data + t->byte_offset; }
static int64_t count_of(const DLTensor* t) { return t->shape[0] * t->shape[1] * t->shape[2] * t->shape[3]; }

static float dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/* to += factor * from */
static void add(float* to, float factor, const float* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

static int my_attention_backward(const softcheck_call* call, void* context) {
  (void)context;
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == NULL || whole->op != SOFTCHECK_OP_ATTENTION_BACKWARD || call->n_inputs < 6 || call->n_outputs != 3)
    return 1;
  const DLTensor *q = call->inputs[0], *k = call->inputs[1], *v = call->inputs[2];
  const DLTensor* mask = call->n_inputs == 7 ? call->inputs[6] : NULL;
  if (q->dtype.code != kDLFloat || q->dtype.bits != 32) return 1;
  const int64_t heads = q->shape[1], m = q->shape[2], d = q->shape[3], n = k->shape[2], e = v->shape[3];
  const int64_t key_heads = k->shape[1];
  const float *queries = (const float*)first_of(q), *keys = (const float*)first_of(k),
              *values = (const float*)first_of(v);
  const float *out = (const float*)first_of(call->inputs[3]), *lse = (const float*)first_of(call->inputs[4]),
              *gradient = (const float*)first_of(call->inputs[5]);
  float *dq = (float*)first_of(call->outputs[0]), *dk = (float*)first_of(call->outputs[1]),
        *dv = (float*)first_of(call->outputs[2]);
  for (int i = 0; i < 3; ++i) {
    if (count_of(call->outputs[i]) > 0)
      memset(first_of(call->outputs[i]), 0, sizeof(float) * (size_t)count_of(call->outputs[i]));
  }
  for (int64_t row = 0; row < q->shape[0] * heads * m; ++row) { /* query i of head h in batch b */
    const int64_t i = row % m, h = row / m % heads, b = row / m / heads;
    const int64_t key_head = b * key_heads + h / (heads / key_heads);
    const float* own = gradient + row * e;
    const float delta = dot(own, out + row * e, e);
    for (int64_t j = 0; j < n; ++j) {
      if (call->causal && j > i + n - m) break;
      const int64_t mask_row = mask == NULL ? 0 : (b * mask->shape[1] + (mask->shape[1] == 1 ? 0 : h)) * m + i;
      if (mask != NULL && ((const unsigned char*)first_of(mask))[mask_row * n + j] == 0) continue;
      const int64_t key = key_head * n + j;
      const float p = expf((float)call->scale * dot(queries + row * d, keys + key * d, d) - lse[row]);
      const float ds = (float)call->scale * (p * (dot(own, values + key * e, e) - delta));
      add(dq + row * d, ds, keys + key * d, d);
      add(dk + key * d, ds, queries + row * d, d);
      add(dv + key * e, p, own, e);
    }
  }
  return 0;
}

int main(void) {
  const softcheck_options options = {
      .size = sizeof options,
      .op = "attention_backward",
      .dtype = "f32",
      .contract = "exp=1ulp sum=sequential masked=zero",
      .domain = "compact",
      .effort = "quick",
      .name = "my_attention_backward",
  };
  char* report = NULL;
  const int status = softcheck_judge_function(my_attention_backward, NULL, &options, &report);
  puts(status == SOFTCHECK_PASS ? "pass" : report != NULL ? report : "no report");
  softcheck_free(report);
  return status;
}
