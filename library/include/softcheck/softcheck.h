/* libsoftcheck: the judge of softmax and attention kernels, for any language that can call C. Plain C11.
 *
 *   softcheck_options options = {.size = sizeof options, .op = "softmax", .dtype = "f32", .contract = "sum=lanes:8"};
 *   char* report = NULL;
 *   int status = softcheck_judge_function(my_kernel, NULL, &options, &report);
 *   if (status != SOFTCHECK_PASS) fputs(report, stderr);
 *   softcheck_free(report);
 *
 * A kernel is called as kernels/abi/softcheck_kernel.h says; softcheck_call, DLTensor and every rule about them stand
 * there. The words of --contract, --domain and --require, and what a verdict means, stand in docs/kernels/judging.md.
 *
 * Status   Every function returns a softcheck_status: the exit code that the softcheck command has for the same.
 * Report   *report is JSON text (UTF-8, NUL-terminated), made for every status, or NULL where report is NULL or memory
 *          ran out. The caller gives it back by softcheck_free. Its members:
 *            "status", "verdict"   "pass", "fail", "crash", "timeout", "refused", "undecided", "vacuous", or "error"
 *            "error"               what was wrong with the call, where the verdict is "error"
 *            "summary", "text"     one line, and the report for a reader
 *            "claims"              as `softcheck kernel --json` has them
 *          and what the function adds to them.
 * Threads  Functions may be called from several threads. Those that judge a kernel fork: in a process with other
 *          threads the fork has only the calling one.
 * Errors   No exception crosses this boundary, and nothing is printed.
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
  SOFTCHECK_REFUSED = 4,   /* the kernel refuses all, or there is no such symbol or dtype */
  SOFTCHECK_UNDECIDED = 5, /* also vacuous: the contract says nothing, or no call decided a claim */
  SOFTCHECK_CRASHED = 6,
  SOFTCHECK_TIMED_OUT = 7,
  SOFTCHECK_INTERNAL = 70 /* memory ran out, or an error of the library itself */
} softcheck_status;

/* A kernel in the caller's program: as softcheck_kernel, with the context it was given with. */
typedef int (*softcheck_function)(const softcheck_call* call, void* context);

/* What a softcheck_function may return beside 0 and refusals. Malformed: what it wraps has returned something else than
 * was asked for, such as a wrong shape; what it has printed is shown. The other two under isolation "none" and
 * "elsewhere" only: the kernel did not return; else they are refusals. */
#define SOFTCHECK_CALL_CRASHED (-1000001)
#define SOFTCHECK_CALL_TIMED_OUT (-1000002)
#define SOFTCHECK_CALL_MALFORMED (-1000003)

/* All members but size may be 0: then the default holds. */
typedef struct softcheck_options {
  size_t size;           /* sizeof(softcheck_options): later versions append */
  const char* op;        /* "softmax" (default), "log_softmax", "logsumexp", "entropy", "adaptive_softmax",
                            "attention", "adaptive_attention" */
  const char* dtype;     /* of the inputs: "f64", "f32" (default), "f16", "bf16"; tensors bring their own */
  const char* out_dtype; /* of logsumexp, entropy and lse, where it is the inputs' own */
  const char* contract;  /* what the kernel promises: "acc=f32 exp=2ulp sum=lanes:8 masked=zero" */
  const char* domain;    /* calls that the kernel is made for: "n=16k n<=8192 theta=1 compact" */
  const char* require;   /* "deterministic,batch-invariant,in-place" */
  const char* exempt;    /* claims that are noted and not judged, separated by blanks or commas */
  const char* effort;    /* "quick", "default", "deep" */
  const char* replay;    /* "PROPERTY CASE", as a failure printed it: that case alone */
  const char* isolation; /* "full" (default), "process", or for functions "none": called in this process on this thread,
                            or "elsewhere": the same, but it asks a process of its own, and says how the kernel ended
                            there; docs/security.md says what each contains */
  const char* name;      /* of a function, in reports */
  const char* again;     /* of a function: how it is judged again, for replay lines. "{contract}" in it becomes
                            ", contract='WORDS'", and "{replay}" ", replay='PROPERTY CASE'", or nothing */
  double budget;         /* seconds for all of it; then what is known is the report */
  double time_limit;     /* seconds for one call (10) */
  double load_limit;     /* seconds for a library to load (120) */
  double memory_limit;   /* GiB of addresses beyond the program's own (8) */
  uint64_t max_length;   /* longest row (the effort's) */
  uint64_t seed;         /* of the random cases (20241001) */
  uint64_t cases;        /* random cases of each property (the effort's) */
  uint64_t worst;        /* rows of tensors at hand that the report shows (10) */
  /* Asked some twenty times a second: nonzero ends the work, and what is known is the report. */
  int (*interrupted)(void* context);
  /* Told now and then. property is NULL for tensors at hand, whose cases are rows. */
  void (*progress)(void* context, const char* property, uint64_t done, uint64_t cases, double seconds);
  void* context; /* of both */
} softcheck_options;

/* "0.2.0 (commit 0123456789ab)"; valid for ever. */
SOFTCHECK_API const char* softcheck_version(void);

/* Gives a report back; NULL is allowed. */
SOFTCHECK_API void softcheck_free(char* report);

/* Judges the kernel "LIB:SYMBOL", in processes of its own.
 * Adds "calls", "refused", "rows", "seconds", "isolation", "notes", "printed", and "counterexample" where there is one:
 * {"property", "case", "replay", "inputs": [{"name", "dtype", "shape", "values"}], "theta", "scale", "causal"}; values
 * are numbers, "NaN", "Infinity" or "-Infinity", and null beyond 2^20 of them. */
SOFTCHECK_API int softcheck_judge_library(const char* kernel, const softcheck_options* options, char** report);

/* The same of a function of this program. It runs in forks of this process, so that its crash is a verdict; what it
 * changes of the program's state is lost. Under isolation "none" it is called here: a crash is then the program's. */
SOFTCHECK_API int softcheck_judge_function(softcheck_function function, void* context, const softcheck_options* options,
                                           char** report);

/* Under isolation "none" or "elsewhere", inside a softcheck_function: text that the report shows as printed by the
 * kernel. */
SOFTCHECK_API void softcheck_printed(const char* text);

/* Finds the standard contract that the kernel keeps to, and judges it by that. Adds what judging adds, and "contract",
 * null where none fits, "contract_words": [{"word", "because"}] and "failure". Of options, contract and replay must be
 * NULL. */
SOFTCHECK_API int softcheck_infer_library(const char* kernel, const softcheck_options* options, char** report);
SOFTCHECK_API int softcheck_infer_function(softcheck_function function, void* context, const softcheck_options* options,
                                           char** report);

/* Judges results at hand. call is one that somebody made: its inputs, its outputs as they were written, and its theta,
 * scale and causal; stream and abi_version are not read. Nothing is called.
 *
 *   softmax family         logits (..., n)[, mask]; out (..., n), or (...) for row values
 *   attention              q (..., queries, dim), k (..., keys, dim), v (..., keys, value dim)[, mask (..., queries,
 *                          keys)], two to four dimensions: batch and heads first; out[, lse[, entropy]]
 *
 * Tensors are on the CPU and may have any strides, 0 and negative ones too; a mask is uint8 or bool and is broadcast.
 * Of options op, contract, exempt, worst, interrupted, progress and context are read.
 * Adds "judged", "failed", "worst": [{"index", "claim", "item", "got", "expected", "threshold", "share", "verdict"}],
 * "profile" and "histogram" (proptests/tensors/tensor_judge.hpp), "picture", an SVG of them, and "contract". */
SOFTCHECK_API int softcheck_judge_tensors(const softcheck_call* call, const softcheck_options* options, char** report);

/* The exact value of every element of output `which` (0; of attention 1 is lse and 2 entropy), between two doubles,
 * row-major. Outputs of the call are not read. NaN where the value is NaN.
 *
 * count   of each array: the elements of the output; any other is SOFTCHECK_USAGE, and the report's "shape" and "count"
 *         say what it needs. lower and upper may be NULL when count is 0, to ask for that. */
SOFTCHECK_API int softcheck_reference(const softcheck_call* call, uint32_t which, const softcheck_options* options,
                                      double* lower, double* upper, size_t count, char** report);

/* What the contract grants each element of output `which`: |got - exact| <= allowed. 0 where the value must be exact,
 * infinite where nothing is promised, NaN where a value is right by what it is (NaN, a fully masked row). The output's
 * dtype is that of the call's output, where it has one. */
SOFTCHECK_API int softcheck_threshold(const softcheck_call* call, uint32_t which, const softcheck_options* options,
                                      double* allowed, size_t count, char** report);

#ifdef __cplusplus
}
#endif

#endif
