/* The ABI between softcheck and the kernels that it judges. Plain C11; also compiles as C++ and CUDA.
 *
 * A kernel is a C symbol of type softcheck_kernel in any shared library. It links to nothing and is registered nowhere.
 *
 *   op                 inputs                          outputs, in this order
 *   softmax            logits (rows, n)[, mask]        probs (rows, n)
 *   log_softmax        logits (rows, n)[, mask]        log-probs (rows, n)
 *   logsumexp          logits (rows, n)[, mask]        (rows)
 *   entropy            logits (rows, n)[, mask]        (rows), in nats
 *   adaptive_softmax   logits (rows, n)[, mask]        probs (rows, n), of the logits at theta = 1
 *   attention,         q, k, v (batch, heads, length,  out like q with v's dim; then, if n_outputs is 2 or 3,
 *   adaptive_attention   dim)[, mask]                    lse and entropy, both (batch, heads, queries)
 *
 *                      in version 2 of the call:
 *   softmax_backward   saved y (rows, n), out_gradient g   dx (rows, n): y (g - sum y g), for any y
 *                      (rows, n)
 *   log_softmax_backward  the same, y = log_softmax(x)   dx (rows, n): g - exp(y) sum g. A NaN in y makes its own item
 *                                                        NaN, and may make other items of the row NaN; one in g makes
 *                                                        the row NaN. For y = -inf exp(y) is 0, and dx is g
 *   cross_entropy      logits x (rows, V), labels (rows)  (rows): (1 - s) (L - x_y) + s mean(L - x) + z L^2 with L the
 *                      [, class_weights (V)]             log-sum-exp of x, y the label, s label_smoothing, z z_loss
 *   cross_entropy_backward  logits, labels, upstream     dx (rows, V): upstream ((1 + 2 z L) softmax(x) - (1 - s) [j =
 *                      (rows)[, class_weights (V)]       y] - s / V)
 *                      If softcap != 0, x is softcap tanh(logits / softcap), and dx_j is multiplied by
 *                      1 - tanh^2(logits_j / softcap): it is the gradient by the logits. With class weights w the loss
 *                      is (1 - s) w_y (L - x_y) + s mean(w (L - x)) + z L^2, and the gradient
 *                      upstream (((1 - s) w_y + s mean(w) + 2 z L) softmax(x) - (1 - s) w_y [j = y] - s w_j / V). The
 *                      z-loss has no weight. Weights have the logits' dtype, are finite and at least 0.
 *                      Labels are int32 or int64 (kDLInt), in [0, V) or ignore_index. A row with the label
 *                      ignore_index has loss and gradient 0, even if a logit is NaN.
 *   soft_cross_entropy logits x (rows, V), targets q     (rows): sum q (L - x) + z L^2. Targets have the logits'
 *                      (rows, V)                         dtype, are finite and at least 0; their sum may be any.
 *                                                      Of no classes the loss is 0
 *   soft_cross_entropy_backward  logits, targets,        dx (rows, V): upstream ((sum q + 2 z L) softmax(x) - q), times
 *                      upstream (rows)                   the slope of a softcap as above
 *   kl_divergence      logits x, teacher t, both         (rows): sum q (ln q - ln p) with p = softmax(x / theta) and q
 *                      (rows, V)                         = softmax(t / theta); if reverse is 1, sum p (ln p - ln q).
 *                                                        Items of coefficient 0 (logit -inf) add 0; where the other
 *                                                        coefficient alone is 0, the row is +inf. Of no classes it is 0
 *   kl_divergence_backward  logits, teacher, upstream    dx (rows, V): upstream (p - q) / theta; if reverse is 1,
 *                      (rows)                            upstream p (ln p - ln q - row's value) / theta. No row is +inf
 *   cross_entropy_mean logits, labels                    (1): the sum of cross_entropy's losses over the rows whose
 *                      [, class_weights (V)]             label is not ignore_index; if mean is 1, divided by the number
 *                                                        of these rows, or with class weights by the sum of w_y over
 *                                                        them. With class weights z_loss is 0. If all rows are ignored,
 *                                                        a sum is 0 and a mean is NaN or 0, by masked=
 *   cross_entropy_mean_backward  logits, labels,         dx (rows, V): cross_entropy_backward's, with upstream, or
 *                      upstream (1)[, class_weights (V)] upstream over that divisor, for each row
 *   linear_cross_entropy  hidden h (rows, d), weight W   (rows): L - x_y, the loss of the logits x = W h of each row.
 *                      (V, d), labels y (rows)           Labels are int32 or int64 (kDLInt), in [0, V) or
 *                                                        ignore_index: then the row's loss is 0, even if its h is NaN
 *   linear_cross_entropy_backward  hidden, weight,       dh (rows, d): upstream sum_j (p_j - [j = y]) W_j with p =
 *                      labels, upstream (rows)           softmax(x); dW (V, d): sum over the rows of upstream
 *                                                        (p_j - [j = y]) h. An ignored row has dh 0 and adds nothing
 *                                                        to dW; a NaN in it, or in W, may make both NaN
 *   merge_states       out O (parts, rows, dim), lse L   out (rows, dim): sum w O with w = softmax(L) over the parts;
 *                      (parts, rows)                     lse (rows): ln sum exp(L), or log2 sum 2^L if lse_base2
 *                                                        is 1. A part with L = -inf is empty: its O is not read. If
 *                                                        all parts are empty, out follows masked= and lse is -inf
 *   topk_softmax       logits (rows, n)                  weights (rows, k): the k largest of p = softmax of all n
 *                                                        logits, descending; if renormalize is 1, divided by
 *                                                        their sum; ids
 *                                                        (rows, k), int32 (kDLInt): the items' indices, each once.
 *                                                        1 <= k <= n, and k = 0 if n = 0. Weights are f64 for f64
 *                                                        logits, else f32. An item with logit -inf has p = +0 and is
 *                                                        chosen after all others. If a row has a NaN or no visible
 *                                                        item, its ids may be any indices, also repeated
 *   topk_softmax, a router  logits (rows, n)[, bias (n)] as above. If sigmoid is 1, p = sigmoid(logits). The items
 *                                                        are chosen, and ordered, by their scores p + bias. If
 *                                                        groups != 0, n is a multiple of it, and the items form that
 *                                                        many groups of neighbours: only items of the groups_kept best
 *                                                        groups are chosen. A group's score is its largest one, or the
 *                                                        sum of its two largest ones if group_items is 2.
 *                                                        groups_kept groups have k items or more. Weights are p, not
 *                                                        the scores; if routed_scale != 0, they are multiplied by it
 *                                                        after the division. The bias is f64 for f64 logits, else f32;
 *                                                        it is finite, as the logits are. The judge makes such calls if
 *                                                        the domain says so
 *   top_p_softmax      logits (rows, n)[, k (rows)]      probs (rows, n): softmax(logits / theta) of the kept items,
 *                      [, top_p (rows)][, min_p (rows)]  divided by their sum; +0 elsewhere. If top_p != 0, the
 *                      [, temperature (rows)]            kernel keeps the fewest of the largest items whose p =
 *                                                        softmax of all add up to top_p or more; if min_p != 0, of
 *                                                        these the items with p >= min_p max p; if k != 0, of these
 *                                                        the k largest. If renormalize is 1 and k != 0, top_p is a
 *                                                        share of the k largest items' mass, not of 1 (top-k first).
 *                                                        top_p and min_p are in (0, 1], or 0: off. Of equal logits at
 *                                                        the boundary of top_p or k it keeps as many as suffice, or
 *                                                        more. With all off it is softmax. An input has the number of
 *                                                        each row in place of the attribute, or of theta: k of int32
 *                                                        or int64 (kDLInt), the others f64 for f64 logits, else f32
 *   sparsemax          logits (rows, n)                  (rows, n): max(x - tau, 0), with the tau for which they sum
 *                                                        to 1
 *   entmax15           logits (rows, n)                  (rows, n): max(x / 2 - tau, 0)^2, with the tau for which they
 *                                                        sum to 1
 *   attention          q, k, v[, mask][, sinks (heads)]   as above; with sinks no entropy
 *                      [, slopes (heads)][, bias (batch,
 *                      heads or 1, queries, keys)]
 *                      Query i has the position p = i + keys - queries, or p = i if causal_top_left is 1; key j has the
 *                      position j. The score of key j is s = scale q k, then softcap tanh(s / softcap) if softcap != 0,
 *                      then - slope |p - j|, then + bias. Query i sees key j if causal and the mask allow it,
 *                      p - j < window_left_plus_1 unless that is 0, and j - p < window_right_plus_1 unless that is 0. A
 *                      head's sink is the score of one more item, which every query of the head sees and whose value is
 *                      0: a query that sees no key has output 0 and the sink as lse. The bias has q's dtype; sinks and
 *                      slopes are f64 for f64 inputs, else f32. All are finite.
 *                      If dropout (uint8, batch, heads, queries, keys) is an input, the weight of key j in the sum over
 *                      the values is dropout_scale p_j where it is nonzero, else 0. lse and entropy are those of p. A
 *                      NaN in a dropped value may make its column NaN.
 *
 *   sigmoid_attention  q, k, v[, mask][, slopes]          out like q with v's dim: sum sigmoid(s + b) v over the keys
 *                      [, bias]                          that the query sees, with attention's s and b = sigmoid_bias,
 *                                                        finite, usually -ln keys. A query that sees no key has out 0.
 *                                                        Always a call of version 2
 *
 *   differential_attention  q, k, v, q2 (like q), k2      out like q with v's dim: sum (p - lambda p') v over the keys
 *                      (like k), lambda (heads)[, mask]  that the query sees, with attention's p of q and k, and p' of
 *                      [, slopes][, bias]                q2 and k2 likewise. lambda is finite, f64 for f64 inputs, else
 *                                                        f32. A query that sees no key follows masked=.
 *                                                        Always a call of version 2
 *
 *   attention, packed  q (total_q, heads, dim), k, v      out (total_q, heads, v's dim); lse and entropy
 *                      (total_k, kv heads, dim), cu_q,    (heads, total_q)
 *                      cu_k (sequences + 1)[, sinks]
 *                      [, slopes]
 *                      Sequence b has the queries [cu_q[b], cu_q[b + 1]) and the keys [cu_k[b], cu_k[b + 1]). It has
 *                      the results of a separate call of attention with a batch of one: a query sees only keys of its
 *                      sequence, and positions, causality and windows count within the sequence. Both arrays begin with
 *                      0 and never decrease; a sequence may have no queries, no keys or neither.
 *
 *   attention, pages   q (batch, heads, queries, dim),    as above
 *                      k, v (pages, page_size, kv heads,
 *                      dim), block_table (batch,
 *                      columns), lengths (batch)[, sinks]
 *                      [, slopes]
 *                      Sequence b has lengths[b] keys. Key j is in slot j % page_size of page
 *                      block_table[b][j / page_size]. No page belongs to two sequences. Slots without a key and pages
 *                      without a sequence may hold anything, also NaN. After the last page of a sequence the table
 *                      names such pages; their numbers are valid. With cu_q after v, queries are packed as above
 *                      (vLLM's and FlashAttention's calls with a block table).
 *                      cu_q, cu_k, block_table and lengths are int32 (kDLInt) and their innermost stride is 1. Such
 *                      calls have no mask and no bias. The judge makes them if the domain has packed or pages.
 *
 *   attention_backward q, k, v, out, lse,              dq, dk, dv, like q, k, v: the gradient of the loss by them, with
 *                      out_gradient (like out)[, mask]   p = softmax(scale q k), g_j = <out_gradient, v_j>, delta =
 *                                                        sum p g and ds = p (g - delta): dq = scale sum ds k,
 *                                                        dk = scale sum ds q, dv = sum p out_gradient; dk and dv over
 *                                                        the queries of all heads of a group. out (the inputs' dtype)
 *                                                        and lse (batch, heads, queries) are the results of the
 *                                                        forward pass; a kernel may read or recompute each. A query
 *                                                        that sees no key has out 0, lse -inf and gradient 0; a key
 *                                                        that no query sees has gradient 0. Sinks, slopes, bias and
 *                                                        attributes as above, after the mask; with a softcap ds is
 *                                                        the gradient by the scores before the cap. Then follow the
 *                                                        outputs that the domain asks for.
 *                                                        With dsinks in the domain, a call with sinks has dsinks
 *                                                        (heads), f64 for f64 inputs, else f32: -sum p_sink delta over
 *                                                        the head's queries in all batches, with p_sink =
 *                                                        exp(sink - lse).
 *                                                        With dbias in the domain, a call with a bias has dbias as its
 *                                                        last output, with the bias's shape and dtype: p (g - delta)
 *                                                        for the query and the key, summed over the heads that share
 *                                                        it, without the slope of a softcap, because the bias is added
 *                                                        after the cap.
 *                                                        If lse_gradient dL (batch, heads, queries) is an input, with
 *                                                        lse's dtype and after all others, the loss also depends on
 *                                                        lse: p (g - delta + dL) replaces p (g - delta) above. The
 *                                                        judge passes it if the domain has dlse, never together with
 *                                                        dsinks
 *                                                        With a dropout, g_j is multiplied by dropout_scale where
 *                                                        it is nonzero, else by 0, and dv is sum p out_gradient
 *                                                        times the same
 *   attention_backward, packed                          the same for packed tokens, with out and out_gradient like q,
 *                                                        lse and lse_gradient (heads, total_q), and cu_q and cu_k
 *                                                        after out_gradient; no mask and no bias. Tokens of k whose
 *                                                        sequence has no queries have gradient 0
 *
 * Types     f64, f32, f16 (kDLFloat, bits 64, 32, 16), bf16 (kDLBfloat, bits 16), or one of softcheck_dtype_code (bits
 *           8), lanes 1. Outputs per element have the inputs' dtype. logsumexp, entropy, losses and lse (for
 *           merge_states also the input) are f64 for f64 inputs, else f32. With --out-dtype the judge calls the kernel
 *           with the inputs' dtype there. A mask is uint8 (kDLUInt, bits 8), nonzero = visible, of shape (rows, n), or
 *           (batch, heads or 1, queries, keys) for attention.
 * Values    Logarithms are natural. exp(0) is exactly 1 in every contract. A logit of -inf means the same as a masked
 *           item. A masked item does not count, even if its logit is NaN. A visible NaN makes its whole row NaN. A
 *           visible +inf makes it NaN or the limit. A fully masked row is all zero, all NaN or uniform, by the contract
 *           word masked=; its logsumexp is -inf. Its entropy is 0 under masked=zero, NaN under masked=nan, and ln n or
 *           0 under masked=uniform. An empty row counts as fully masked: its logsumexp is -inf, its entropy 0 under
 *           masked=zero and masked=uniform, and NaN under masked=nan. A zero is +0. The number of K's and V's heads
 *           divides that of Q's (grouped heads). Causal with unequal lengths aligns the last query with the last key
 *           (except with causal_top_left). Attention over no keys is a fully masked row. A NaN in a query or a visible
 *           key makes the query's row NaN; a NaN in a visible value makes its column NaN. lse and entropy are those of
 *           the weights of V: for adaptive attention, of softmax(beta x).
 * 8 bits    e4m3 has no infinity: only the mask hides an item, and no input is infinite. If a result is infinite, or
 *           rounds beyond the largest number, 448 in e4m3 and 57344 in e5m2, a kernel may return that number with the
 *           result's sign, or NaN in e4m3 and infinity in e5m2; it may choose for each result. NaN is 0x7f or 0xff in
 *           e4m3. A result that is NaN must stay NaN: a conversion must not replace it by a number.
 *           With the domain word heads=interleaved query head h reads key head h % kv_heads; interleaved_heads is 1.
 *           With cache=DTYPE, k and v have this dtype, and q and the outputs the call's.
 * Memory    The caller owns everything: the call, the tensors, their shape and stride arrays and their data, all valid
 *           until the kernel returns (for device tensors: until the stream has passed the call). A kernel keeps no
 *           pointer, writes no input, and reads and writes nothing outside the views. Outputs do not overlap inputs,
 *           with two exceptions that a kernel may promise: under --in-place the first output and the first input are
 *           one view (merge_states: both outputs are views of the first part); under --require in-place=out_gradient,
 *           for gradients of rows, the first output and out_gradient.
 * Refusal   A nonzero return refuses this call: the kernel does not support it. A refusal is not a failure; the
 *           outputs are then undefined. A kernel refuses an unknown abi_version, dtype, device or rank.
 * State     A kernel leaves the control bits of the floating-point environment unchanged. It throws no exception.
 */
#ifndef SOFTCHECK_KERNELS_ABI_SOFTCHECK_KERNEL_H
#define SOFTCHECK_KERNELS_ABI_SOFTCHECK_KERNEL_H

#include <dlpack/dlpack.h>
#include <stddef.h>
#include <stdint.h>

/* abi_version of a softcheck_call. */
#define SOFTCHECK_KERNEL_ABI_VERSION 1
/* abi_version of a softcheck_call_2. */
#define SOFTCHECK_KERNEL_ABI_VERSION_2 2

#ifdef __cplusplus
extern "C" {
#endif

/* DLDataType.code of the 8-bit formats of the OCP specification (OFP8, revision 1.0). Source: DLDataTypeCode of DLPack
 * 1.1, kDLFloat8_e4m3fn and kDLFloat8_e5m2, which an older dlpack.h does not have. */
enum softcheck_dtype_code {
  SOFTCHECK_DTYPE_E4M3 = 10, /* bias 7, largest 448, no infinity */
  SOFTCHECK_DTYPE_E5M2 = 12  /* bias 15, largest 57344, infinities and NaNs as in IEEE 754 */
};

/* softcheck_call_2.op. The judge calls the first seven by version 1. It calls attention by version 2 if the call has an
 * attribute, or an input other than q, k, v and mask. */
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
  SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD = 19,
  SOFTCHECK_OP_SIGMOID_ATTENTION = 20,
  SOFTCHECK_OP_SOFT_CROSS_ENTROPY = 21,
  SOFTCHECK_OP_SOFT_CROSS_ENTROPY_BACKWARD = 22,
  SOFTCHECK_OP_KL_DIVERGENCE = 23,
  SOFTCHECK_OP_KL_DIVERGENCE_BACKWARD = 24,
  SOFTCHECK_OP_LINEAR_CROSS_ENTROPY = 25,
  SOFTCHECK_OP_LINEAR_CROSS_ENTROPY_BACKWARD = 26,
  SOFTCHECK_OP_DIFFERENTIAL_ATTENTION = 27
};

/* softcheck_call_2.input_roles: the role of each input. */
enum softcheck_role {
  SOFTCHECK_ROLE_LOGITS = 0,
  SOFTCHECK_ROLE_MASK = 1,
  SOFTCHECK_ROLE_QUERY = 2,
  SOFTCHECK_ROLE_KEY = 3,
  SOFTCHECK_ROLE_VALUE = 4,
  SOFTCHECK_ROLE_OUT = 5,
  SOFTCHECK_ROLE_LSE = 6,
  SOFTCHECK_ROLE_OUT_GRADIENT = 7, /* gradient of the loss by the op's output */
  SOFTCHECK_ROLE_LSE_GRADIENT = 8, /* gradient of the loss by the log-sum-exps of attention */
  SOFTCHECK_ROLE_SAVED = 9,        /* the output of the forward pass */
  SOFTCHECK_ROLE_LABELS = 10,
  SOFTCHECK_ROLE_CLASS_WEIGHTS = 11,
  SOFTCHECK_ROLE_UPSTREAM = 12, /* gradient of the whole loss by this op's loss */
  SOFTCHECK_ROLE_SINKS = 13,    /* attention: one logit per head */
  SOFTCHECK_ROLE_SLOPES = 14,   /* attention: ALiBi's slopes, one per head */
  SOFTCHECK_ROLE_BIAS = 15,     /* attention, topk_softmax: added to the scores */
  SOFTCHECK_ROLE_CU_Q = 16,     /* attention: where the queries of each sequence begin, and where the last ones end */
  SOFTCHECK_ROLE_CU_K = 17,     /* the same for keys and values */
  SOFTCHECK_ROLE_BLOCK_TABLE = 18, /* attention: the pages of each sequence */
  SOFTCHECK_ROLE_LENGTHS = 19,     /* attention: the number of keys of each sequence, in pages */
  SOFTCHECK_ROLE_DROPOUT = 20,     /* attention: nonzero where a weight is kept */
  SOFTCHECK_ROLE_TARGETS = 21,     /* losses: a probability of each class */
  SOFTCHECK_ROLE_K = 22,           /* top_p_softmax: numbers of each row, as the attributes */
  SOFTCHECK_ROLE_TOP_P = 23,
  SOFTCHECK_ROLE_MIN_P = 24,
  SOFTCHECK_ROLE_TEMPERATURE = 25,
  SOFTCHECK_ROLE_TEACHER = 26,      /* kl_divergence: the logits of the other distribution */
  SOFTCHECK_ROLE_HIDDEN = 27,       /* linear_cross_entropy: one vector per row */
  SOFTCHECK_ROLE_WEIGHT = 28,       /* linear_cross_entropy: one vector per class */
  SOFTCHECK_ROLE_SECOND_QUERY = 29, /* differential_attention: the queries of the map that is subtracted */
  SOFTCHECK_ROLE_SECOND_KEY = 30,   /* differential_attention: its keys */
  SOFTCHECK_ROLE_LAMBDA = 31        /* differential_attention: its factor, one per head */
};

/* The parameters of ops; zero means off. The judge sets the windows, softcap, causal_top_left, page_size,
 * label_smoothing, z_loss, ignore_index, lse_base2, mean, k, renormalize, top_p, min_p, interleaved_heads,
 * dropout_scale, sigmoid_bias, reverse, sigmoid, the groups and routed_scale; the others are reserved. */
typedef struct softcheck_attributes {
  uint32_t size; /* sizeof(softcheck_attributes) of the caller: later versions append members */
  int32_t reserved;
  int64_t window_left_plus_1;  /* attention: visible keys to the left of the query's position, plus 1; 0: all */
  int64_t window_right_plus_1; /* the same to the right */
  double softcap;              /* softcap tanh(x / softcap) replaces x: attention's scores, a loss's logits */
  double label_smoothing;
  double z_loss;
  double top_p;              /* top_p_softmax: the mass of the kept items */
  double min_p;              /* top_p_softmax: the least p of a kept item, relative to the largest p */
  int32_t causal_top_left;   /* attention: query i has position i, for causal, window and slopes; else see above */
  int32_t lse_base2;         /* merge_states: log-sum-exps are in base 2 */
  int32_t renormalize;       /* topk_softmax: weights are divided by their sum; top_p_softmax: top-k comes first */
  int32_t mean;              /* cross_entropy_mean: the sum of the losses is divided; for all other ops 0 */
  int32_t k;                 /* the number of items chosen in each row */
  int32_t interleaved_heads; /* attention: query head h reads key head h % kv_heads, not h / (heads / kv_heads) */
  int64_t ignore_index;      /* if SOFTCHECK_ROLE_LABELS is an input: a row with this label has loss and gradient 0 */
  int64_t page_size;         /* attention: slots of a page, if SOFTCHECK_ROLE_BLOCK_TABLE is an input; else 0 */
  double dropout_scale;      /* attention: the factor of kept weights, if SOFTCHECK_ROLE_DROPOUT is an input; else 0 */
  double sigmoid_bias;       /* sigmoid_attention: added to all scores */
  int32_t reverse;           /* kl_divergence: the logits' distribution weighs the terms, not the teacher's */
  int32_t sigmoid;           /* topk_softmax: sigmoids of the logits in place of their softmax */
  int32_t groups;            /* topk_softmax: number of groups of the items */
  int32_t groups_kept;       /* topk_softmax: number of groups whose items may be chosen */
  int32_t group_items;       /* topk_softmax: the score of a group is the sum of so many of its items', 1 or 2 */
  int32_t reserved_2;
  double routed_scale; /* topk_softmax: a factor of the weights */
} softcheck_attributes;

/* For every DLTensor: shape is never NULL if ndim > 0. strides count elements, are positive, and may have any values
 * for which no two elements overlap; NULL means compact and row-major. With the domain word expanded, inputs may have a
 * stride of 0; with values=view, v is a view of k's memory. The first element is at (char*)data +
 * byte_offset. It is aligned to its own size only (not to DLPack's 256 bytes). data may be NULL if a dimension is 0.
 * lanes is 1. */
typedef struct softcheck_call {
  /* SOFTCHECK_KERNEL_ABI_VERSION. A kernel that does not know the version refuses the call and reads nothing else. */
  uint32_t abi_version;
  /* Lengths of the two arrays below. The call has a mask when n_inputs is one more than the op's other inputs. */
  uint32_t n_inputs;
  uint32_t n_outputs;
  /* Never NULL, no entry NULL. The kernel writes neither the tensors nor their data. */
  const DLTensor* const* inputs;
  /* Never NULL, no entry NULL. The kernel writes only the data. */
  DLTensor* const* outputs;
  /* Temperature, > 0: softmax(logits / theta), logsumexp = ln sum exp(logits / theta). 1 if the op has none. */
  double theta;
  /* Attention: softmax(scale q k^T). 1 for the softmax family. */
  double scale;
  /* Attention: 1 if a query sees no later key. 0 for the softmax family. */
  int32_t causal;
  /* cudaStream_t on which the kernel queues its work, for device tensors; NULL on the CPU. */
  void* stream;
} softcheck_call;

/* A call of version 2: a call of version 1 with the op, roles of the inputs, and attributes. */
typedef struct softcheck_call_2 {
  /* abi_version is SOFTCHECK_KERNEL_ABI_VERSION_2. */
  softcheck_call call;
  /* A softcheck_op. */
  uint32_t op;
  /* (n_inputs) of softcheck_role. Never NULL. */
  const uint32_t* input_roles;
  /* Never NULL. */
  const softcheck_attributes* attributes;
} softcheck_call_2;

/* The softcheck_call_2 of a call of version 2; NULL for any other version, which is only a softcheck_call. */
static inline const softcheck_call_2* softcheck_version_2(const softcheck_call* call) {
  /* NOLINTNEXTLINE(modernize-use-nullptr): C has no other */
  return call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION_2 ? (const softcheck_call_2*)call : NULL;
}

/* Returns 0 when it has computed the outputs. Any other value refuses this call. */
typedef int (*softcheck_kernel)(const softcheck_call* call);

#ifdef __cplusplus
}
#endif

#endif
