/* Judges the router of a mixture-of-experts layer in C with libsoftcheck, and exits with 0 if it keeps its contract. It
 * chooses any number of experts, and of equal ones the lowest index. No logit may be -inf or NaN; its domain declares
 * that.
 *
 *   cc -std=c11 topk_softmax.c -o topk_softmax $(pkg-config --cflags --libs softcheck) -lm && ./topk_softmax
 */
#include <math.h>
#include <softcheck/softcheck.h>
#include <stdio.h>

static char* first_of(const DLTensor* t) { return (char*)t->data + t->byte_offset; }

/* Is expert i among the first count ids? */
static int is_chosen(const int32_t* ids, int32_t count, int32_t i) {
  for (int32_t a = 0; a < count; ++a) {
    if (ids[a] == i) return 1;
  }
  return 0;
}

/* Writes k weights and ids for n contiguous logits. */
static void route(const float* x, int32_t n, int32_t k, int renormalize, float* weights, int32_t* ids) {
  float most = x[0], sum = 0, chosen = 0;
  for (int32_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
  for (int32_t i = 0; i < n; ++i) sum += expf(x[i] - most);
  for (int32_t a = 0; a < k; ++a) {
    int32_t best = -1;
    for (int32_t i = 0; i < n; ++i) {
      if (!is_chosen(ids, a, i) && (best < 0 || x[i] > x[best])) best = i;
    }
    ids[a] = best;
    weights[a] = expf(x[best] - most) / sum;
    chosen += weights[a];
  }
  for (int32_t a = 0; renormalize && a < k; ++a) weights[a] /= chosen;
}

static int my_topk_softmax(const softcheck_call* call, void* context) {
  (void)context;
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == NULL || whole->op != SOFTCHECK_OP_TOPK_SOFTMAX || call->n_inputs != 1 || call->n_outputs != 2) return 1;
  const DLTensor *logits = call->inputs[0], *weights = call->outputs[0], *ids = call->outputs[1];
  if (logits->dtype.code != kDLFloat || logits->dtype.bits != 32 || ids->dtype.code != kDLInt) return 1;
  const int64_t rows = logits->shape[0], n = logits->shape[1], k = whole->attributes->k;
  for (int64_t r = 0; k > 0 && r < rows; ++r) {
    route((const float*)first_of(logits) + r * n, (int32_t)n, (int32_t)k, whole->attributes->renormalize,
          (float*)first_of(weights) + r * k, (int32_t*)first_of(ids) + r * k);
  }
  return 0;
}

int main(void) {
  const softcheck_options options = {
      .size = sizeof options,
      .op = "topk_softmax",
      .dtype = "f32",
      .contract = "exp=1ulp sum=sequential ties=lowest",
      .domain = "compact finite n<=512 k<=16",
      .effort = "quick",
      .name = "my_topk_softmax",
  };
  char* report = NULL;
  const int status = softcheck_judge_function(my_topk_softmax, NULL, &options, &report);
  puts(status == SOFTCHECK_PASS ? "pass" : report != NULL ? report : "no report");
  softcheck_free(report);
  return status;
}
