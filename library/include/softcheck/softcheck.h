/* libsoftcheck judges softmax and attention kernels, and their results, from any language that can call C. Plain C11.
 *
 *   softcheck_options options = {.size = sizeof options, .op = "softmax", .dtype = "f32", .contract = "sum=lanes:8"};
 *   char* report = NULL;
 *   int status = softcheck_judge_function(my_kernel, NULL, &options, &report);
 *   if (status != SOFTCHECK_PASS) fputs(report, stderr);
 *   softcheck_free(report);
 *
 * The judge calls a kernel by the rules of kernels/abi/softcheck_kernel.h, which defines softcheck_call and DLTensor.
 * docs/kernels/contract.md explains the words of a contract, docs/kernels/domain.md those of a domain, and
 * docs/kernels/judging.md the verdicts.
 *
 * Status   A function with a report returns a softcheck_status: the exit code of the softcheck command for the same
 *          result.
 * Report   The function sets *report to JSON text (UTF-8, NUL-terminated), whatever the status; to NULL if memory ran
 *          out. The caller frees the text with softcheck_free. A caller that needs no report passes report = NULL.
 *          Members of every report:
 *            "status"              the returned status
 *            "verdict"             "pass", "fail", "crash", "timeout", "refused", "undecided", "vacuous", or "error"
 *            "error"               what is wrong with the call, if the verdict is "error"; else null
 *            "summary", "text"     one line, and the whole report as text
 *          Reports of a judgement also have
 *            "claims"              the same as in `softcheck kernel --json`
 *            "junit"               the report as JUnit XML, as `softcheck kernel --junit` writes it
 *          Each function adds the members that its comment lists.
 * Threads  Functions may be called from several threads. Functions that judge a kernel fork the process; the fork has
 *          only the calling thread.
 * Errors   The library throws no exception across this boundary, and prints nothing.
 */
#ifndef SOFTCHECK_SOFTCHECK_H
#define SOFTCHECK_SOFTCHECK_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/abi/softcheck_kernel.h"

#if defined(_WIN32)
#define SOFTCHECK_API
#else
#define SOFTCHECK_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum softcheck_status {
  SOFTCHECK_PASS = 0,
  SOFTCHECK_FAIL = 1,
  SOFTCHECK_USAGE = 2,     /* an option or an argument is wrong */
  SOFTCHECK_MALFORMED = 3, /* a replay, a library or a tensor cannot be read, or tensors do not fit together */
  SOFTCHECK_REFUSED = 4,   /* the kernel refused every call, or the symbol or dtype does not exist */
  SOFTCHECK_UNDECIDED = 5, /* also vacuous: the contract allows any value, or no call decided a claim */
  SOFTCHECK_CRASHED = 6,
  SOFTCHECK_TIMED_OUT = 7,
  SOFTCHECK_INTERNAL = 70 /* memory ran out, or an error of the library itself */
} softcheck_status;

/* A kernel in the caller's program: a softcheck_kernel that also gets the caller's context. */
typedef int (*softcheck_function)(const softcheck_call* call, void* context);

/* Return values of a softcheck_function that are neither 0 nor a refusal. Malformed: the wrapped function returned a
 * wrong result, such as a wrong shape; the report shows the text passed to softcheck_printed. The other two: the kernel
 * did not return. They have this meaning only under isolation "none" and "elsewhere"; otherwise they are refusals. */
#define SOFTCHECK_CALL_CRASHED (-1000001)
#define SOFTCHECK_CALL_TIMED_OUT (-1000002)
#define SOFTCHECK_CALL_MALFORMED (-1000003)

/* All members but size may be 0 or NULL, which selects the default in brackets. */
typedef struct softcheck_options {
  size_t size;           /* sizeof(softcheck_options): later versions append members */
  const char* op;        /* "softmax" (default) or another that softcheck_describe() names */
  const char* dtype;     /* of the inputs: "f32" (default) or another that it names; tensors have theirs */
  const char* out_dtype; /* of logsumexp, entropy and lse: the inputs' dtype (f64 for f64 inputs, else f32) */
  const char* contract;  /* the kernel's contract: "acc=f32 exp=2ulp sum=lanes:8 masked=zero" */
  const char* domain;    /* the calls that the kernel is made for: "n=16k n<=8192 theta=1 compact" (all) */
  const char* require;   /* "deterministic,batch-invariant,in-place,in-place=out_gradient" */
  const char* exempt;    /* claims that are reported but not judged, separated by blanks or commas */
  const char* effort;    /* "quick", "default", "deep", or "exhaustive": all arguments of softmax, log_softmax,
                            logsumexp and entropy, all scores of attention in 16 and 8 bits; not for infer */
  const char* replay;    /* "PROPERTY CASE" from a failure: judge only this case */
  const char* isolation; /* "full" (default) or "process". For functions also "none": called in this process, on this
                            thread; or "elsewhere": the same, but the function calls a separate process, and returns
                            how the kernel ended there. docs/security.md describes the containment of each */
  const char* name;      /* name of a function in reports */
  const char* again;     /* for a function: source text of the call that judges it again, for replay lines. In it
                            "{contract}" is replaced by ", contract='WORDS'", "{domain}" by ", domain='WORDS'", and
                            "{replay}" by ", replay='PROPERTY CASE'", or by nothing
                            (softcheck_judge_function with the same options) */
  double budget;         /* seconds for the judgement, which then ends with the results so far (no limit) */
  double time_limit;     /* seconds for one call (10) */
  double load_limit;     /* seconds for loading a library (120) */
  double memory_limit;   /* GiB of address space beyond the program's own (8) */
  uint64_t max_length;   /* longest row (by effort) */
  uint64_t seed;         /* of the random cases (20241001) */
  uint64_t cases;        /* random cases of each property (by effort) */
  uint64_t worst;        /* rows that the report of softcheck_judge_tensors shows (10) */
  /* The library calls it about twenty times a second. If it returns nonzero, the work ends, and the report has the
   * results so far. */
  int (*interrupted)(void* context);
  /* The library calls it from time to time. For tensors, property is NULL and cases are rows. */
  void (*progress)(void* context, const char* property, uint64_t done, uint64_t cases, double seconds);
  void* context;      /* passed to both */
  const char* device; /* for a library's kernel: "cpu" (default), or "cuda": tensors are on device 0 of its driver */
  /* In each process forked for a function, the library calls it once before the function. For a run-time system that
   * must know about forks, such as CPython (PyOS_AfterFork_Child). */
  void (*after_fork)(void);
  /* At most so many calls of the kernel or function, for one that is slow to call. The judge selects the calls so that
   * each property and many classes have some, and "not_tried" lists what it left out. 0: any number. */
  uint64_t max_calls;
  /* For attention and its gradient, of a kernel that knows its mask, or what it adds to the scores: each returns 0 and
   * fills an array of (batch, heads, queries, keys) in calls of these lengths, with 1 where a query sees a key, or with
   * the number that is added. The values depend on the lengths alone. Every call then has this mask (its domain has no
   * other) and this bias; a bias that the inputs' dtype cannot hold leaves the call out. Nonzero ends the judgement. */
  int (*fixed_mask)(void* context, const int64_t lengths[4], uint8_t* mask);
  int (*fixed_bias)(void* context, const int64_t lengths[4], double* bias);
} softcheck_options;

/* "0.3.0 (commit 0123456789ab)"; valid until the program ends. */
SOFTCHECK_API const char* softcheck_version(void);

/* The ops, dtypes, words and verdicts that this library knows, as one JSON object; valid until the program ends:
 * {"version", "ops": [{"name", "of": "rows", "attention" or "linear", "inputs": [{"role", "extent", "index",
 * "optional"}], "outputs", "claims", "value_per_row", "whole_calls", "theta", "mask", "in_place", "attributes",
 * "packed", "pages", "filters"}], "dtypes": [{"name", "array_dtype" (of NumPy, ml_dtypes, torch and JAX),
 * "dlpack_code", "bits", "precision", "unit_roundoff", "smallest_normal", "smallest_subnormal", "largest",
 * "infinity"}], "contract_words":
 * [{"word", "values", "grants"}], "domain_words": [{"word", "of": "rows", "attention" or "both", "means"}],
 * "verdicts": [{"verdict", "exit_code"}]}. */
SOFTCHECK_API const char* softcheck_describe(void);

/* Frees a report; NULL is allowed. */
SOFTCHECK_API void softcheck_free(char* report);

/* Judges the kernel "LIB:SYMBOL" of a shared library, in separate processes.
 * Adds "calls", "refused", "rows", "seconds", "isolation", "notes", "printed", "contract", and
 *
 *   "counterexample"   null if there is none, else {"property", "case", "replay", "inputs": [{"name", "dtype", "shape",
 *                      "values"}], "theta", "scale", "causal", "attributes"}. values are numbers, "NaN", "Infinity" or
 *                      "-Infinity"; null for more than 2^20 of them
 *   "ended_early"      why the report is partial: interrupted, or out of budget; "" if it is complete
 *   "attributes"       if the call has some: "label_smoothing", "z_loss", "softcap", "ignore_index"; if they are on,
 *                      "top_p" and "min_p"; for top-k "k" and "renormalize", for a router "sigmoid", "groups",
 *                      "groups_kept", "group_items" and "routed_scale"; for a mean of losses "mean"; for
 *                      kl_divergence "reverse"; for attention "window", "softcap", "causal_top_left" and
 *                      "interleaved_heads", with a dropout also "dropout_scale", and for sigmoid attention
 *                      "sigmoid_bias"
 *
 * At effort "exhaustive" also "statements":
 * [{"name", "rows", "judged", "verdict", "share", "share_at_most", "claim", "worst", "least_exponential",
 * "exponential_at", "seconds"}], where least_exponential is "" if it was not measured, "arguments": [{"statement",
 * "argument", "worst_ulps", "allowed_ulps", "share"}], "processor_seconds", and "picture", an SVG of the arguments, if
 * there are any. */
SOFTCHECK_API int softcheck_judge_library(const char* kernel, const softcheck_options* options, char** report);

/* The same for a function of this program. It runs in forks of this process: a crash is a verdict, and its changes to
 * the program's state are lost. Under isolation "none" it runs in this process, and a crash ends the program. */
SOFTCHECK_API int softcheck_judge_function(softcheck_function function, void* context, const softcheck_options* options,
                                           char** report);

/* For a softcheck_function under isolation "none" or "elsewhere": adds text to the kernel's output in the report. */
SOFTCHECK_API void softcheck_printed(const char* text);

/* Finds the tightest standard contract that the kernel keeps, and judges the kernel by it. options->contract and
 * options->replay must be NULL. Adds the members of softcheck_judge_library, and
 *
 *   "contract"         the contract; null if none fits
 *   "contract_words"   [{"word", "evidence", "because"}]; "evidence" is "measured": the kernel broke a tighter word;
 *                      "held": there is no tighter word; or "assumed": no result could tell
 *   "failure"          why no contract fits; else ""
 *   "grade"            null without a contract, else {"own_arithmetic", "weaker_words", "plausible", "rows",
 *                      "rows_needing", "others_share"}: whether the dtype's own arithmetic explains the results; the
 *                      words that grant more; whether enough rows need them (if not, the verdict is undecided); how
 *                      many rows were measured, and how many need these words; the largest share of the thresholds that
 *                      the other rows use */
SOFTCHECK_API int softcheck_infer_library(const char* kernel, const softcheck_options* options, char** report);
SOFTCHECK_API int softcheck_infer_function(softcheck_function function, void* context, const softcheck_options* options,
                                           char** report);

/* Judges existing results, without calling a kernel. call describes a finished call: its inputs, its outputs as the
 * kernel wrote them, and its theta, scale and causal. stream is not read. Inputs, then outputs:
 *
 *   softmax family         logits (..., n)[, mask]; out (..., n), or (...) for one value per row
 *   its gradients          saved (..., n), out_gradient (..., n); out (..., n)
 *   top_p_softmax          logits (..., n)[, numbers of rows (...)]; out (..., n). In a call of version 2 input_roles
 *                          names the numbers of rows
 *   sparsemax, entmax15    logits (..., n); out (..., n)
 *   losses                 logits (..., n), labels (...)[, upstream (...)][, class_weights (n)]; out (...), for a
 *                          gradient (..., n). cross_entropy_mean has one loss, () or (1), and its gradient one
 *                          upstream. Their attribute mean is 1 for the mean and 0 for the sum
 *   kl_divergence          logits, teacher (..., n)[, upstream (...)]; out (...), for its gradient (..., n)
 *   merge_states           out (parts, ..., dim), lse (parts, ...); out (..., dim), lse (...)
 *   topk_softmax           logits (..., n)[, bias (n)]; weights (..., k), ids (..., k) of int32 or int64
 *   attention              q (..., queries, dim), k (..., keys, dim), v (..., keys, value dim)[, mask (..., queries,
 *                          keys)], with two to four dimensions, batch and heads first; out[, lse[, entropy]]. In a
 *                          call of version 2 input_roles may name the inputs, in any order: also sinks, slopes and
 *                          bias, as below. With sinks there is no entropy
 *   sigmoid_attention      q, k, v[, mask]; out; without attributes sigmoid_bias is -ln of the number of keys
 *   differential_attention q, k, v, q2 (like q), k2 (like k), lambdas (heads)[, mask]; out
 *   linear_cross_entropy   hidden (..., dim), weight (classes, dim), labels (...)[, upstream (...)]; out (...), for its
 *                          gradient dhidden and dweight; attribute ignore_index
 *   attention_backward     q, k, v[, out, lse], out_gradient[, mask]; dq, dk, dv[, dsinks][, dbias]
 *
 * More about attention_backward:
 *
 *   - k and v have the same number of heads. A key head may have at most 2^24 scores.
 *   - In a call of version 2 input_roles names the inputs, in any order. Further inputs are sinks and slopes (heads),
 *     bias, broadcast to (batch, heads, queries, keys), and lse_gradient, with lse's shape and dtype, not together with
 *     dsinks.
 *   - out and lse are the results of the forward pass that the kernel read: the judge measures their errors, and grants
 *     these to the gradient. Without them it grants the errors that the contract allows a forward pass.
 *   - Rows of the report are queries, with their dq, and keys, with their dk and dv.
 *   - dsinks (heads), float64 for float64 inputs, else float32, may follow if the call has sinks.
 *   - dbias, with the bias's own shape and dq's dtype, may follow if the call has a bias. Each of its numbers is a sum
 *     over all pairs of query and key that share it.
 *   - If the call has sinks and a bias, but only one more output, that output is dsinks if it has one dimension.
 *   - At most 2^24 scores may share a sink or a head of the bias.
 *
 * Tensors are on the CPU and may have any strides, including 0 and negative ones. A mask is uint8 or bool and is
 * broadcast. Labels are int32 or int64. Class weights have the logits' dtype, or float64 for float64 logits, else
 * float32. For losses, kl_divergence, merge_states, topk_softmax, top_p_softmax, attention and attention_backward, a
 * call whose abi_version is 2 is a softcheck_call_2, and the function reads the op's attributes from it
 * (softcheck_kernel.h). Without version 2 they are off, and ignore_index is -100. topk_softmax needs k. For other ops
 * the function does not read abi_version.
 *
 * The function reads these options: op, contract, exempt, worst, interrupted, progress and context. Adds "judged",
 * "failed", "seconds", "contract", "ended_early" as above, "worst": [{"index", "of", "claim", "item", "got",
 * "expected", "by_identity", "due", "reason", "threshold", "share", "verdict"}], and
 *
 *   "of"                 in a worst row, if there are several outputs: the output, such as "dk"; or "query", "key",
 *                        "sinks" or "bias" if the row must have a fixed value
 *   "by_identity"        in a worst row: true if the value must be a fixed one (NaN, an infinity, a zero), so that it
 *                        has no threshold
 *   "due"                in such a row, if it is known: the required value, such as "NaN"
 *   "reason"             in a worst row that broke a rule which holds for every threshold: that rule
 *   "profile"            rows are cut into up to 512 equal segments: for each, the largest used share of a threshold
 *   "histogram"          numbers of rows by the used share of their threshold: 40 bins of 0.05 up to 2, then all above
 *   "picture"            both as an SVG
 *   "fitting_contract"   if rows fail, the first usual contract that all rows keep; null if there is none, or if it was
 *                        not found within the time of the judgement plus two seconds */
SOFTCHECK_API int softcheck_judge_tensors(const softcheck_call* call, const softcheck_options* options, char** report);

/* Encloses the exact value of every element of output `which` between two doubles, in row-major order. The outputs of
 * the call are not read.
 *
 * which          0 is the first output; for attention 1 is lse and 2 entropy; for attention_backward 3 is dsinks and 4
 *                dbias. For topk_softmax the ids are those of the largest logits or scores, of equal ones the lowest
 * lower, upper   the doubles on both sides of each value; both NaN if the value is NaN
 * count          length of each array: the number of elements of the output. Any other count returns SOFTCHECK_USAGE,
 *                and the report's "shape" and "count" have the right one. To ask for them pass count 0; lower and upper
 *                may then be NULL. */
SOFTCHECK_API int softcheck_reference(const softcheck_call* call, uint32_t which, const softcheck_options* options,
                                      double* lower, double* upper, size_t count, char** report);

/* The largest error that the contract allows for each element of output `which`: |got - exact| <= allowed. It is 0 if
 * the value must be exact, infinite if the contract gives no bound, and NaN if no threshold applies: to NaN, to a fully
 * masked row, and to ids, because equal and nearly equal items may be exchanged. If the call has the output, the bound
 * is for its dtype. which and count are as in softcheck_reference. */
SOFTCHECK_API int softcheck_threshold(const softcheck_call* call, uint32_t which, const softcheck_options* options,
                                      double* allowed, size_t count, char** report);

/* All members but size may be 0 or NULL, which selects the default in brackets. */
typedef struct softcheck_certify_options {
  size_t size;                       /* sizeof(softcheck_certify_options) */
  double eps;                        /* coefficients below this count as dispersed (0.1) */
  uint64_t items;                    /* number of items for the entropy floor (the model's context) */
  const char* layers;                /* "3" or "0-3" (all) */
  const char* activations;           /* a safetensors file of recorded queries and keys: models/report/observed.hpp */
  const char* fail_if;               /* conditions, separated by ';': "logit.f16 > 65504; spread.best > 80" */
  unsigned threads;                  /* number of threads (all of the machine) */
  int (*interrupted)(void* context); /* nonzero ends the work; several threads call it */
  void (*progress)(void* context, int layer, uint64_t done, uint64_t asked); /* one thread at a time calls it */
  void* context;                                                             /* passed to both */
  const char* tokens;         /* a file of token ids, one line per input, on which the model runs */
  softcheck_kernel attention; /* for that run: softcheck_attention, or a kernel with its four outputs */
  int html;                   /* nonzero adds "html", the page of `softcheck model --html` */
} softcheck_certify_options;

/* Certifies the attention heads of a Transformer's checkpoint: a folder with config.json and safetensors, or a .gguf
 * file. docs/models.md explains the certificates. Adds "model" and "heads", the same as in `softcheck model --json`,
 * and "whole": false if the work was interrupted. Returns SOFTCHECK_FAIL if a condition of fail_if holds, and
 * SOFTCHECK_REFUSED for an architecture or a configuration for which no bound is known. */
SOFTCHECK_API int softcheck_certify(const char* path, const softcheck_certify_options* options, char** report);

#ifdef __cplusplus
}
#endif

#endif
