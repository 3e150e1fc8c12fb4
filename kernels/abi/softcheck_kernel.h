/* The ABI between softcheck and the kernels it judges. Plain C11; also compiles as C++ and CUDA.
 *
 * A kernel is a C symbol of type softcheck_kernel in any shared library. It needs no link and no registration.
 *
 *   op                 inputs                          outputs, in this order
 *   softmax            logits (rows, n)[, mask]        probs (rows, n)
 *   log_softmax        logits (rows, n)[, mask]        log-probs (rows, n)
 *   logsumexp          logits (rows, n)[, mask]        (rows)
 *   entropy            logits (rows, n)[, mask]        (rows), in nats
 *   adaptive_softmax   logits (rows, n)[, mask]        probs (rows, n), of the logits at theta = 1
 *   attention,         q, k, v (batch, heads, length,  out like q with v's dim; then, as far as n_outputs asks,
 *   adaptive_attention   dim)[, mask]                    lse and entropy, both (batch, heads, queries)
 *
 *                      by version 2 of the call:
 *   softmax_backward   saved y (rows, n), out_gradient g   dx (rows, n): y (g - sum y g), whatever y is
 *                      (rows, n)
 *   log_softmax_backward  the same, y = log_softmax(x)   dx (rows, n): g - exp(y) sum g. A NaN in y makes its own item
 *                                                        NaN, and may make the row's others; one in g makes the
 *                                                        row NaN. A y of -inf has exp(y) = 0: its dx is g
 *   cross_entropy      logits x (rows, V), labels (rows)  (rows): (1 - s) (L - x_y) + s mean(L - x) + z L^2 with L the
 *                      [, class_weights (V)]             log-sum-exp of x, y the label, s label_smoothing, z z_loss
 *   cross_entropy_backward  logits, labels, upstream     dx (rows, V): upstream ((1 + 2 z L) softmax(x) - (1 - s) [j =
 *                      (rows)[, class_weights (V)]       y] - s / V)
 *                      Where softcap != 0, x is softcap tanh(logits / softcap), and dx_j is multiplied by
 *                      1 - tanh^2(logits_j / softcap): it is the gradient by the logits. With class weights w the loss
 *                      is (1 - s) w_y (L - x_y) + s mean(w (L - x)) + z L^2, and the gradient
 *                      upstream (((1 - s) w_y + s mean(w) + 2 z L) softmax(x) - (1 - s) w_y [j = y] - s w_j / V). The
 *                      z-loss has no weight. Weights have the logits' dtype, are finite and at least 0.
 *                      Labels are int32 or int64 (kDLInt), in [0, V) or ignore_index: such a row has loss and gradient
 *                      0, even if a logit is NaN.
 *   cross_entropy_mean logits, labels                    (1): the sum of cross_entropy's losses of the rows whose label
 *                      [, class_weights (V)]             is not ignore_index; where mean is 1, divided by the number of
 *                                                        these rows, or with class weights by the sum of w_y over
 *                                                        them. z_loss is 0 beside class weights. Where all rows are
 *                                                        ignored, a sum is 0 and a mean as masked= says: NaN, or 0
 *   cross_entropy_mean_backward  logits, labels,         dx (rows, V): that of cross_entropy_backward with upstream, or
 *                      upstream (1)[, class_weights (V)] upstream over that divisor, for each row
 *   merge_states       out O (parts, rows, dim), lse L   out (rows, dim): sum w O with w = softmax(L) over the parts;
 *                      (parts, rows)                     lse (rows): ln sum exp(L), or log2 sum 2^L where lse_base2
 *                                                        is 1. A part of L = -inf is empty: its O is not read. Where
 *                                                        all are, out is as masked= says and lse is -inf
 *   topk_softmax       logits (rows, n)                  weights (rows, k): of p = softmax of all n logits the k
 *                                                        largest, descending; where renormalize is 1, divided by
 *                                                        their sum; ids
 *                                                        (rows, k), int32 (kDLInt): the items' indices, each once.
 *                                                        1 <= k <= n, and k = 0 where n = 0. Weights are f64 for f64
 *                                                        logits, else f32. An item of logit -inf has p = +0 and is
 *                                                        chosen behind all others. Of a row that holds a NaN or no
 *                                                        item the ids are any items, even one twice
 *   top_p_softmax      logits (rows, n)                  probs (rows, n): softmax(logits / theta) of the kept items,
 *                                                        divided by their sum; +0 elsewhere. Where top_p != 0, kept
 *                                                        are the fewest of the largest items whose p = softmax of all
 *                                                        add up to top_p or more; where min_p != 0, of these the
 *                                                        items of p >= min_p max p. Both are in (0, 1], or 0: off. Of
 *                                                        equal logits at the end of the former as many as suffice are
 *                                                        kept, or more of them. With both off it is softmax
 *   sparsemax          logits (rows, n)                  (rows, n): max(x - tau, 0), tau such that they sum to 1
 *   entmax15           logits (rows, n)                  (rows, n): max(x / 2 - tau, 0)^2, tau such that they sum to 1
 *   attention          q, k, v[, mask][, sinks (heads)]   as above; with sinks no entropy
 *                      [, slopes (heads)][, bias (batch,
 *                      heads or 1, queries, keys)]
 *                      Query i stands at key i + keys - queries, or, where causal_top_left, at key i. With p its place,
 *                      key j has the score s = scale q k, then softcap tanh(s / softcap) where softcap != 0, then
 *                      - slope |p - j|, then + bias. Query i sees key j where causal and the mask let it and
 *                      p - j < window_left_plus_1 and j - p < window_right_plus_1, as far as these are not 0. A head's
 *                      sink is the score of one item more, which every query of the head sees and whose value is 0: a
 *                      query that sees no key has output 0 and the sink as lse. The bias has q's dtype; sinks and
 *                      slopes are f64 for f64 inputs, else f32. All are finite.
 *
 *   attention, packed  q (total_q, heads, dim), k, v      out (total_q, heads, v's dim); lse and entropy
 *                      (total_k, kv heads, dim), cu_q,    (heads, total_q)
 *                      cu_k (sequences + 1)[, sinks]
 *                      [, slopes]
 *                      Sequence b has the queries [cu_q[b], cu_q[b + 1]) and the keys [cu_k[b], cu_k[b + 1]) and is a
 *                      call of attention of its own, a batch of one: a query sees keys of its sequence alone, and
 *                      places, causality and windows count from that sequence's ends. Both arrays begin with 0 and
 *                      never fall; a sequence may have no queries, no keys or neither.
 *
 *   attention, pages   q (batch, heads, queries, dim),    as above
 *                      k, v (pages, page_size, kv heads,
 *                      dim), block_table (batch,
 *                      columns), lengths (batch)[, sinks]
 *                      [, slopes]
 *                      Sequence b has lengths[b] keys, of which number j lies in slot j % page_size of page
 *                      block_table[b][j / page_size]. No page belongs to two sequences. Slots that no key has and pages
 *                      that no sequence has hold anything, NaN too, and so do the pages that the table names behind the
 *                      last one of a sequence: their numbers are valid. With cu_q behind v, queries are packed as above
 *                      (vLLM's and FlashAttention's calls with a block table).
 *                      cu_q, cu_k, block_table and lengths are int32 (kDLInt) and their innermost stride is 1. Such
 *                      calls have no mask and no bias. The judge sends them where the domain says packed or pages.
 *
 *   attention_backward q, k, v, out, lse,              dq, dk, dv, like q, k, v: the gradient of the loss by them, with
 *                      out_gradient (like out)[, mask]   p = softmax(scale q k), g_j = <out_gradient, v_j>, delta =
 *                                                        sum p g and ds = p (g - delta): dq = scale sum ds k,
 *                                                        dk = scale sum ds q, dv = sum p out_gradient; dk and dv over
 *                                                        the queries of all heads of a group. out (the inputs' dtype)
 *                                                        and lse (batch, heads, queries) are what the forward pass
 *                                                        returned: each may be read or computed again. A query that
 *                                                        sees no key has out 0, lse -inf and gradient 0, and so has a
 *                                                        key that no query sees. Sinks, slopes, bias and attributes
 *                                                        as above, behind the mask; ds is that of the scores of which
 *                                                        a softcap is taken. Then those that the domain asks for.
 *                                                        Of a call with sinks, where it says dsinks: dsinks (heads),
 *                                                        f64 for f64 inputs, else f32: -sum p_sink delta over the
 *                                                        head's queries in all batches, with p_sink = exp(sink - lse).
 *                                                        Of a call with a bias, where it says dbias: dbias, of the
 *                                                        bias's shape and dtype and the last output: p (g - delta)
 *                                                        for the query and the key, without a softcap's slope, which
 *                                                        the bias stands behind; summed over the heads that share it.
 *                                                        Where lse_gradient dL (batch, heads, queries) is an input, of
 *                                                        lse's dtype and behind all others, the loss depends on lse,
 *                                                        too: p (g - delta + dL) stands for p (g - delta) above. The
 *                                                        judge sends it where the domain says dlse, never where dsinks
 *                                                        are asked for
 *   attention_backward, packed                          the same of tokens, with out and out_gradient like q, lse
 *                                                        and lse_gradient (heads, total_q), and cu_q and cu_k
 *                                                        behind out_gradient; no mask and no bias. Every token
 *                                                        of k has its gradients, also where its sequence has no
 *                                                        queries: 0
 *
 * Types     f64, f32, f16 (kDLFloat, bits 64, 32, 16), bf16 (kDLBfloat, bits 16), or one of softcheck_dtype_code (bits
 *           8), lanes 1. Element outputs have the inputs' dtype. logsumexp, entropy, losses and lse (of
 *           merge_states the input, too) are f64 for f64 inputs, else f32. With --out-dtype the judge calls the kernel
 *           with the inputs' dtype there. A mask is uint8 (kDLUInt, bits 8), nonzero = visible, of shape (rows, n), or
 *           (batch, heads or 1, queries, keys) for attention.
 * Values    Logarithms are natural. exp(0) is exactly 1 in every contract. A logit of -inf means the same as a masked
 *           one: the item does not count, even if its masked logit is NaN. A visible NaN makes its whole row NaN. A
 *           visible +inf makes it NaN or the limit. A row with every item masked is all zero, all NaN or uniform, as
 *           the contract word masked= says; its logsumexp is -inf, its entropy 0, NaN, or ln n or 0 accordingly. An
 *           empty row is such a row: its logsumexp is -inf, its entropy 0 under masked=zero and masked=uniform, and NaN
 *           under masked=nan. A zero is +0. K's and V's heads divide Q's (grouped heads). Causal with unequal lengths
 *           aligns the last query with the last key (but for causal_top_left). Attention over no keys is a fully masked
 *           row. A NaN in a query or a visible key makes the query's row NaN; a NaN in a visible value makes its column
 *           NaN. lse and entropy are those of the weights of V: for adaptive attention, of softmax(beta x).
 * 8 bits    e4m3 has no infinity: an item is hidden by the mask alone, and no input is infinite. Of a result that is
 *           infinite or that rounds beyond the largest number, 448 in e4m3 and 57344 in e5m2, a kernel may make that
 *           number with its sign, or NaN in e4m3 and infinity in e5m2; from one result to the next either. NaN is 0x7f
 *           or 0xff in e4m3. A result that is NaN is NaN: no conversion replaces it by a number.
 * Memory    The caller owns everything: the call, the tensors, their shape and stride arrays and their data, all valid
 *           until the kernel returns (for device tensors: until the stream has passed the call). A kernel keeps no
 *           pointer, writes no input, and reads and writes nothing outside the views. Outputs do not overlap inputs,
 *           except where a kernel promises it: under --in-place the first output and the first input are one view,
 *           under --require in-place=out_gradient the first output and the out_gradient of a gradient of rows.
 * Refusal   A nonzero return refuses this call: the kernel does not support it. That is not a failure; the outputs are
 *           then undefined. A kernel refuses an unknown abi_version, dtype, device or rank.
 * State     A kernel leaves the control bits of the floating-point environment unchanged. It throws no exception.
 */
#ifndef SOFTCHECK_KERNELS_ABI_SOFTCHECK_KERNEL_H
#define SOFTCHECK_KERNELS_ABI_SOFTCHECK_KERNEL_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

/* Of a call that is a softcheck_call and no more. */
#define SOFTCHECK_KERNEL_ABI_VERSION 1
/* Of one that is a softcheck_call_2. */
#define SOFTCHECK_KERNEL_ABI_VERSION_2 2

#ifdef __cplusplus
extern "C" {
#endif

/* DLDataType.code of the formats of 8 bits of the OCP specification (OFP8, revision 1.0). Source: DLDataTypeCode of
 * DLPack 1.1, kDLFloat8_e4m3fn and kDLFloat8_e5m2, which an older dlpack.h does not name. */
enum softcheck_dtype_code {
  SOFTCHECK_DTYPE_E4M3 = 10, /* bias 7, largest 448, no infinity */
  SOFTCHECK_DTYPE_E5M2 = 12  /* bias 15, largest 57344, infinities and NaNs as IEEE 754 has them */
};

/* softcheck_call_2.op. The judge calls the first seven by version 1, attention by version 2 where one of its attributes
 * or of its inputs beside q, k, v and mask is there. */
enum softcheck_op {
  SOFTCHECK_OP_SOFTMAX = 1,
  SOFTCHECK_OP_LOG_SOFTMAX = 2,
  SOFTCHECK_OP_LOGSUMEXP = 3,
  SOFTCHECK_OP_ENTROPY = 4,
  SOFTCHECK_OP_ADAPTIVE_SOFTMAX = 5,
  SOFTCHECK_OP_ATTENTION = 6,
  SOFTCHECK_OP_ADAPTIVE_ATTENTION = 7,
  SOFTCHECK_OP_SOFTMAX_BACKWARD = 8,
  SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD = 9,
  SOFTCHECK_OP_CROSS_ENTROPY = 10,
  SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD = 11,
  SOFTCHECK_OP_MERGE_STATES = 12,
  SOFTCHECK_OP_ATTENTION_BACKWARD = 13,
  SOFTCHECK_OP_TOPK_SOFTMAX = 14,
  SOFTCHECK_OP_TOP_P_SOFTMAX = 15,
  SOFTCHECK_OP_SPARSEMAX = 16,
  SOFTCHECK_OP_ENTMAX15 = 17,
  SOFTCHECK_OP_CROSS_ENTROPY_MEAN = 18,
  SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD = 19
};

/* softcheck_call_2.input_roles: what each input is to the op. */
enum softcheck_role {
  SOFTCHECK_ROLE_LOGITS = 0,
  SOFTCHECK_ROLE_MASK = 1,
  SOFTCHECK_ROLE_QUERY = 2,
  SOFTCHECK_ROLE_KEY = 3,
  SOFTCHECK_ROLE_VALUE = 4,
  SOFTCHECK_ROLE_OUT = 5,
  SOFTCHECK_ROLE_LSE = 6,
  SOFTCHECK_ROLE_OUT_GRADIENT = 7, /* of the loss by the op's output */
  SOFTCHECK_ROLE_LSE_GRADIENT = 8, /* of the loss by the log-sum-exps of attention */
  SOFTCHECK_ROLE_SAVED = 9,        /* what the forward pass returned */
  SOFTCHECK_ROLE_LABELS = 10,
  SOFTCHECK_ROLE_CLASS_WEIGHTS = 11,
  SOFTCHECK_ROLE_UPSTREAM = 12, /* of the loss by this op's loss */
  SOFTCHECK_ROLE_SINKS = 13,    /* attention: one logit a head */
  SOFTCHECK_ROLE_SLOPES = 14,   /* attention: ALiBi's, one a head */
  SOFTCHECK_ROLE_BIAS = 15,     /* attention: added to the scores */
  SOFTCHECK_ROLE_CU_Q = 16,     /* attention: where the queries of each sequence begin, and where the last ones end */
  SOFTCHECK_ROLE_CU_K = 17,     /* the same of keys and values */
  SOFTCHECK_ROLE_BLOCK_TABLE = 18, /* attention: the pages of each sequence */
  SOFTCHECK_ROLE_LENGTHS = 19      /* attention: how many keys each sequence has, in pages */
};

/* The parameters of ops, zero where they are off. The judge sends the windows, softcap, causal_top_left, page_size,
 * label_smoothing, z_loss, ignore_index, lse_base2, mean, k, renormalize, top_p and min_p; the others are reserved. */
typedef struct softcheck_attributes {
  uint32_t size; /* sizeof(softcheck_attributes) of the caller: later versions append */
  int32_t reserved;
  int64_t window_left_plus_1;  /* attention: keys to the left of a query's own that it sees, plus 1; 0: all */
  int64_t window_right_plus_1; /* and to the right */
  double softcap;              /* softcap tanh(x / softcap) for x: attention's scores, a loss's logits */
  double label_smoothing;
  double z_loss;
  double top_p;            /* top_p_softmax: the mass of the items that are kept */
  double min_p;            /* top_p_softmax: the least p of a kept item, over the largest one */
  int32_t causal_top_left; /* attention: query i stands at key i, for causal, window and slopes; else see above */
  int32_t lse_base2;
  int32_t renormalize; /* topk_softmax: weights are divided by their sum */
  int32_t mean;        /* cross_entropy_mean: the losses' sum is divided; for all other ops 0 */
  int32_t k;           /* topk_softmax: items chosen of each row */
  int32_t reserved_2;
  int64_t ignore_index; /* read where SOFTCHECK_ROLE_LABELS is an input: a row of this label has loss and gradient 0 */
  int64_t page_size;    /* attention: slots of a page, where SOFTCHECK_ROLE_BLOCK_TABLE is an input; else 0 */
} softcheck_attributes;

/* For every DLTensor: shape is never NULL where ndim > 0. strides count elements, are positive, and may have any values
 * for which no two elements overlap; NULL means compact and row-major. The first element is at (char*)data +
 * byte_offset. It is aligned to its own size only (DLPack's 256 bytes are not promised). data may be NULL where a
 * dimension is 0. lanes is 1. */
typedef struct softcheck_call {
  /* SOFTCHECK_KERNEL_ABI_VERSION. A kernel that does not know the version refuses and reads no further. */
  uint32_t abi_version;
  /* Lengths of the two arrays below. The call has a mask when n_inputs is one more than the op's other inputs. */
  uint32_t n_inputs;
  uint32_t n_outputs;
  /* Never NULL, no entry NULL. The kernel writes none of it, data included. */
  const DLTensor* const* inputs;
  /* Never NULL, no entry NULL. The kernel writes only the data. */
  DLTensor* const* outputs;
  /* Temperature, > 0: softmax(logits / theta), logsumexp = ln sum exp(logits / theta). 1 where the op has none. */
  double theta;
  /* Attention: softmax(scale q k^T). 1 for the softmax family. */
  double scale;
  /* Attention: 1 if a query sees no later key. 0 for the softmax family. */
  int32_t causal;
  /* cudaStream_t on which the kernel queues its work, for device tensors; NULL on the CPU. */
  void* stream;
} softcheck_call;

/* A call of version 2: what version 1 has, and what it cannot say. */
typedef struct softcheck_call_2 {
  /* abi_version is SOFTCHECK_KERNEL_ABI_VERSION_2. */
  softcheck_call call;
  /* Of softcheck_op. */
  uint32_t op;
  /* (n_inputs), of softcheck_role: never NULL. */
  const uint32_t* input_roles;
  /* Never NULL. */
  const softcheck_attributes* attributes;
} softcheck_call_2;

/* The whole of a call of version 2, and NULL for one of any other version, which has no such memory. */
static inline const softcheck_call_2* softcheck_version_2(const softcheck_call* call) {
  /* NOLINTNEXTLINE(modernize-use-nullptr): C has no other */
  return call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION_2 ? (const softcheck_call_2*)call : NULL;
}

/* 0: done. Any other value refuses this call. */
typedef int (*softcheck_kernel)(const softcheck_call* call);

#ifdef __cplusplus
}
#endif

#endif
