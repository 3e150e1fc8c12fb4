/* libsoftcheck: the judge of softmax and attention kernels, for any language that can call C. Plain C11.
 *
 *   softcheck_options options = {.size = sizeof options, .op = "softmax", .dtype = "f32", .contract = "sum=lanes:8"};
 *   char* report = NULL;
 *   int status = softcheck_judge_function(my_kernel, NULL, &options, &report);
 *   if (status != SOFTCHECK_PASS) fputs(report, stderr);
 *   softcheck_free(report);
 *
 * The judge calls a kernel by the rules of kernels/abi/softcheck_kernel.h, which defines softcheck_call and DLTensor.
 * docs/kernels/judging.md explains the words of --contract, --domain and --require, and the verdicts.
 *
 * Status   Every function returns a softcheck_status: the exit code of the softcheck command for the same result.
 * Report   *report is JSON text (UTF-8, NUL-terminated). Every status has one, unless memory ran out: then *report is
 *          NULL. A caller that needs no report passes NULL. The caller frees it with softcheck_free. Its members:
 *            "status", "verdict"   "pass", "fail", "crash", "timeout", "refused", "undecided", "vacuous", or "error"
 *            "error"               the error in the call, if the verdict is "error"
 *            "summary", "text"     one line, and the report for a reader
 *            "claims"              the same as in `softcheck kernel --json`
 *            "junit"               the report as JUnit XML, as `softcheck kernel --junit` writes it
 *          and the members that the function adds.
 * Threads  Functions may be called from several threads. Those that judge a kernel fork: in a process with other
 *          threads the fork has only the calling one.
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
  SOFTCHECK_REFUSED = 4,   /* the kernel refuses every call, or there is no such symbol or dtype */
  SOFTCHECK_UNDECIDED = 5, /* also vacuous: the contract allows any value, or no call decided a claim */
  SOFTCHECK_CRASHED = 6,
  SOFTCHECK_TIMED_OUT = 7,
  SOFTCHECK_INTERNAL = 70 /* memory ran out, or an error of the library itself */
} softcheck_status;

/* A kernel in the caller's program: as softcheck_kernel, with the caller's context. */
typedef int (*softcheck_function)(const softcheck_call* call, void* context);

/* Values that a softcheck_function may return beside 0 and refusals. Malformed: the wrapped function returned a wrong
 * result, such as a wrong shape; the report shows its printed text. The other two mean that the kernel did not return.
 * They count under isolation "none" and "elsewhere" only; under others they are refusals. */
#define SOFTCHECK_CALL_CRASHED (-1000001)
#define SOFTCHECK_CALL_TIMED_OUT (-1000002)
#define SOFTCHECK_CALL_MALFORMED (-1000003)

/* All members but size may be 0, which selects the default. */
typedef struct softcheck_options {
  size_t size;           /* sizeof(softcheck_options): later versions append */
  const char* op;        /* "softmax" (default) or another that softcheck_describe() names */
  const char* dtype;     /* of the inputs: "f32" (default) or another that it names; tensors have theirs */
  const char* out_dtype; /* of logsumexp, entropy and lse, if it is the inputs' dtype */
  const char* contract;  /* the kernel's contract: "acc=f32 exp=2ulp sum=lanes:8 masked=zero" */
  const char* domain;    /* calls that the kernel is made for: "n=16k n<=8192 theta=1 compact" */
  const char* require;   /* "deterministic,batch-invariant,in-place,in-place=out_gradient" */
  const char* exempt;    /* claims that the report notes but the judge does not judge, separated by blanks or commas */
  const char* effort;    /* "quick", "default", "deep"; "exhaustive": all arguments, of judging softmax,
                            log_softmax, logsumexp and entropy, all scores of attention in 16 and 8 bits */
  const char* replay;    /* "PROPERTY CASE", as a failure printed it: that case alone */
  const char* isolation; /* "full" (default), "process", or for functions "none": called in this process on this thread,
                            or "elsewhere": the same, but the function calls a separate process, and returns how the
                            kernel ended there; docs/security.md says what each contains */
  const char* name;      /* of a function, in reports */
  const char* again;     /* of a function: the call that judges it again, for replay lines. "{contract}" in it becomes
                            ", contract='WORDS'", "{domain}" ", domain='WORDS'", and "{replay}"
                            ", replay='PROPERTY CASE'", or nothing. NULL: softcheck_judge_function
                            with the same options */
  double budget;         /* seconds for the judgement; the report then has the results so far */
  double time_limit;     /* seconds for one call (10) */
  double load_limit;     /* seconds for a library to load (120) */
  double memory_limit;   /* GiB of addresses beyond the program's own (8) */
  uint64_t max_length;   /* longest row (the effort's) */
  uint64_t seed;         /* of the random cases (20241001) */
  uint64_t cases;        /* random cases of each property (the effort's) */
  uint64_t worst;        /* rows that the report of softcheck_judge_tensors shows (10) */
  /* The library calls it some twenty times a second. Nonzero ends the work; the report then has the results so far. */
  int (*interrupted)(void* context);
  /* The library calls it from time to time. For tensors, property is NULL and cases are rows. */
  void (*progress)(void* context, const char* property, uint64_t done, uint64_t cases, double seconds);
  void* context;      /* of both */
  const char* device; /* of a library's kernel: "cpu" (default), or "cuda": the tensors lie on device 0 of its driver */
  /* In each process that is forked for a function, called once before the function: for a run-time system that must be
   * told of forks, as CPython by PyOS_AfterFork_Child. NULL: nothing is. */
  void (*after_fork)(void);
  /* Calls of the kernel or the function at most, for one that is slow to call. The judge chooses the calls so that each
   * property and many classes have some, and "not_tried" lists what it left out. 0: any number. */
  uint64_t max_calls;
} softcheck_options;

/* "0.3.0 (commit 0123456789ab)"; valid until the program ends. */
SOFTCHECK_API const char* softcheck_version(void);

/* The tables of this library as one JSON object; valid until the program ends:
 * {"version", "ops": [{"name", "of": "rows" or "attention", "inputs": [{"role", "extent", "index", "optional"}],
 * "outputs", "claims", "value_per_row", "whole_calls", "theta", "mask", "in_place", "attributes", "packed", "pages",
 * "filters"}], "dtypes": [{"name", "array_dtype" (of NumPy, ml_dtypes, torch and JAX), "dlpack_code", "bits",
 * "precision", "unit_roundoff", "smallest_normal", "smallest_subnormal", "largest", "infinity"}], "contract_words":
 * [{"word", "values", "grants"}], "domain_words": [{"word", "of": "rows", "attention" or "both", "means"}],
 * "verdicts": [{"verdict", "exit_code"}]}. */
SOFTCHECK_API const char* softcheck_describe(void);

/* Frees a report; NULL is allowed. */
SOFTCHECK_API void softcheck_free(char* report);

/* Judges the kernel "LIB:SYMBOL", in separate processes.
 * Adds "calls", "refused", "rows", "seconds", "isolation", "notes", "printed", "contract", and "counterexample", null
 * if there is none: {"property", "case", "replay", "inputs": [{"name", "dtype", "shape", "values"}], "theta", "scale",
 * "causal", "attributes"}; values are numbers, "NaN", "Infinity" or "-Infinity", and null beyond 2^20 of them.
 *
 *   "ended_early"   why the report is partial: interrupted, or out of budget; "" if it is whole
 *   "attributes"    of a call that has some: "label_smoothing", "z_loss", "softcap", "ignore_index", and where they are
 *                   on "top_p" and "min_p"; of top-k "k" and "renormalize", of a mean of losses "mean"; of attention
 *                   "window", "softcap" and "causal_top_left"
 *
 * At effort "exhaustive" also "statements":
 * [{"name", "rows", "judged", "verdict", "share", "share_at_most", "claim", "worst", "least_exponential",
 * "exponential_at", "seconds"}] with least_exponential "" where it is not measured, "arguments": [{"statement",
 * "argument", "worst_ulps", "allowed_ulps", "share"}], "processor_seconds", and "picture", an SVG of the arguments, if
 * there are any. */
SOFTCHECK_API int softcheck_judge_library(const char* kernel, const softcheck_options* options, char** report);

/* The same for a function of this program. The function runs in forks of this process: a crash is a verdict, and its
 * changes to the program's state are lost. Under isolation "none" it runs in this process: a crash ends the program. */
SOFTCHECK_API int softcheck_judge_function(softcheck_function function, void* context, const softcheck_options* options,
                                           char** report);

/* A softcheck_function calls this under isolation "none" or "elsewhere": the report shows the text as the kernel's
 * output. */
SOFTCHECK_API void softcheck_printed(const char* text);

/* Finds a standard contract that the kernel keeps, and judges the kernel by it. Adds the members of judging, and
 * "contract", null if none fits, "contract_words": [{"word", "evidence", "because"}], "grade" and "failure". "evidence"
 * is "measured": a tighter word was broken; "held": there is no tighter word; or "assumed": no answer could tell.
 * "grade" is null without a contract, else {"own_arithmetic", "weaker_words", "plausible", "rows", "rows_needing",
 * "others_share"}: whether the dtype's own arithmetic explains the results; the words that grant more, how many rows
 * need them, and the largest share of the thresholds that the other rows use. Where too few rows need them
 * ("plausible": false) the verdict is undecided.
 * options->contract and options->replay must be NULL. */
SOFTCHECK_API int softcheck_infer_library(const char* kernel, const softcheck_options* options, char** report);
SOFTCHECK_API int softcheck_infer_function(softcheck_function function, void* context, const softcheck_options* options,
                                           char** report);

/* Judges existing results. call describes a finished call: its inputs, its outputs as the kernel wrote them, and its
 * theta, scale and causal. stream is not read. No kernel is called.
 *
 *   softmax family         logits (..., n)[, mask]; out (..., n), or (...) for row values
 *   its gradients          saved (..., n), out_gradient (..., n); out (..., n)
 *   losses                 logits (..., n), labels (...)[, upstream (...)][, class_weights (n)]; out (...), of the
 *                          gradient (..., n). cross_entropy_mean has one loss, () or (1), and its gradient one
 *                          upstream; their attribute mean says whether the losses' sum is divided
 *   merge_states           out (parts, ..., dim), lse (parts, ...); out (..., dim), lse (...)
 *   topk_softmax           logits (..., n); weights (..., k), ids (..., k) of int32 or int64
 *   attention              q (..., queries, dim), k (..., keys, dim), v (..., keys, value dim)[, mask (..., queries,
 *                          keys)], two to four dimensions: batch and heads first; out[, lse[, entropy]]. In a call of
 *                          version 2 input_roles may name the inputs, in any order: also sinks, beside which there is
 *                          no entropy, slopes and bias, as below
 *   attention_backward     q, k, v[, out, lse], out_gradient[, mask]; dq, dk, dv[, dsinks][, dbias]. In a call of
 *                          version 2 input_roles names the inputs, in any order: also sinks and slopes (heads), and
 *                          bias, broadcast to (batch, heads, queries, keys), and lse_gradient, of lse's shape and
 *                          dtype, not beside dsinks. k and v have the same heads. out and lse
 *                          are what the kernel read of the forward pass: their own errors are granted. Without them,
 *                          those that the contract grants a forward pass are. Rows are queries, with their dq, and
 *                          keys, with their dk and dv: at most 2^24 scores for each key head. Behind them may stand
 *                          dsinks (heads) of a call with sinks, float64 for float64 inputs and else float32, and dbias
 *                          of one with a bias, of the bias's own shape and dq's dtype: each of its numbers is a sum
 *                          over all pairs of query and key that have it. Where sinks and bias are inputs and one of the
 *                          two is at hand, it is dsinks if it has one dimension. At most 2^24 scores may share a sink
 *                          or a head of the bias
 *
 * Tensors are on the CPU and may have any strides, including 0 and negative ones. A mask is uint8 or bool and is
 * broadcast. Labels are int32 or int64. For losses, merge_states, topk_softmax, top_p_softmax, attention and
 * attention_backward a call whose abi_version is 2 is a softcheck_call_2, of which the function reads the op's
 * attributes (softcheck_kernel.h); otherwise they are off, and ignore_index is -100. Class weights have the logits'
 * dtype, or float64 for float64 logits and else float32. topk_softmax needs its k. For other ops the function does not
 * read abi_version. It reads these options: op, contract, exempt, worst, interrupted, progress and context. Adds
 * "judged", "failed", "seconds", "contract", "ended_early" as above, "worst": [{"index", "of", "claim", "item", "got",
 * "expected", "by_identity", "due", "reason", "threshold", "share", "verdict"}], and
 *
 *   "of"                 of a worst row, where there are several outputs: "dk", or "query", "key", "sinks" and "bias"
 *                        where a row is right by what it is
 *   "by_identity"        of a worst row: true where its value is right or wrong by what it is (NaN, an infinity, a
 *                        zero), so that there is no threshold
 *   "due"                of such a row, where it is known: what the value has to be, as "NaN"
 *   "reason"             of a worst row, where no threshold excuses it: the rule that it broke
 *   "profile"            for each of up to 512 equal stretches of rows, the largest share of a threshold used in it
 *   "histogram"          how many rows used so much of their threshold: 40 bins of 0.05 up to 2, then all above
 *   "picture"            both as an SVG
 *   "fitting_contract"   where rows fail, the first usual contract that all keep; null if there is none, or if it was
 *                        not found in the time that the judgement took and two seconds */
SOFTCHECK_API int softcheck_judge_tensors(const softcheck_call* call, const softcheck_options* options, char** report);

/* The exact value of every element of output `which` (0 is the first; of attention 1 is lse and 2 entropy; of
 * attention_backward 3 is dsinks and 4 dbias), between two doubles, row-major. Of topk_softmax ids are those of the
 * largest logits, of equal ones the lowest. The outputs of the call are not read. Both doubles are NaN where the value
 * is NaN.
 *
 * count   length of each array: the elements of the output. Any other count is SOFTCHECK_USAGE; the report's "shape"
 *         and "count" then have the right one. Pass count 0 to get them; lower and upper may then be NULL. */
SOFTCHECK_API int softcheck_reference(const softcheck_call* call, uint32_t which, const softcheck_options* options,
                                      double* lower, double* upper, size_t count, char** report);

/* The error that the contract allows each element of output `which`: |got - exact| <= allowed. 0 where the value must
 * be exact, infinite where the contract promises nothing, NaN where no threshold applies (NaN, a fully masked row, an
 * id: the judge lets equal and nearly equal items be exchanged). The
 * output's dtype is that of the call's output, if it has one. */
SOFTCHECK_API int softcheck_threshold(const softcheck_call* call, uint32_t which, const softcheck_options* options,
                                      double* allowed, size_t count, char** report);

/* All members but size may be 0, which selects the default. */
typedef struct softcheck_certify_options {
  size_t size;                       /* sizeof(softcheck_certify_options) */
  double eps;                        /* what a dispersed coefficient is below (0.1) */
  uint64_t items;                    /* of the entropy floor (the model's context) */
  const char* layers;                /* "3" or "0-3" (all) */
  const char* activations;           /* a safetensors file of recorded queries and keys: models/report/observed.hpp */
  const char* fail_if;               /* conditions, separated by ';': "logit.f16 > 65504; spread.best > 80" */
  unsigned threads;                  /* (all of the machine's) */
  int (*interrupted)(void* context); /* nonzero ends the work; called by several threads */
  void (*progress)(void* context, int layer, uint64_t done, uint64_t asked); /* called by one thread at a time */
  void* context;                                                             /* of both */
  const char* tokens;         /* a file of ids of tokens, a line for each input, on which the model is run */
  softcheck_kernel attention; /* of that run: softcheck_attention, or a kernel with its four outputs */
  int html;                   /* nonzero adds "html", the page of `softcheck model --html` */
} softcheck_certify_options;

/* Certifies the attention heads of a Transformer's checkpoint: a folder with config.json and safetensors, or a .gguf
 * file. docs/models.md says what a certificate means. Adds "model" and "heads", as `softcheck model --json` has them,
 * and "whole": false if the work was interrupted. SOFTCHECK_FAIL: a condition of fail_if holds. SOFTCHECK_REFUSED: an
 * architecture or a configuration for which no bound is known. */
SOFTCHECK_API int softcheck_certify(const char* path, const softcheck_certify_options* options, char** report);

#ifdef __cplusplus
}
#endif

#endif
