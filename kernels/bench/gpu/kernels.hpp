#pragma once

#include "kernels/abi/softcheck_kernel.h"

// The kernels of a GPU, those of the CPU's vectors that have their bits, and the emulated ones they are compared with.
extern "C" {
int softcheck_cuda_softmax(const softcheck_call* call);
int softcheck_cuda_entropy(const softcheck_call* call);
int softcheck_cuda_log_softmax(const softcheck_call* call);
int softcheck_cuda_logsumexp(const softcheck_call* call);
int softcheck_cuda_adaptive_softmax(const softcheck_call* call);
int softcheck_cuda_varentropy(const softcheck_call* call);
int softcheck_cuda_row_statistics(const softcheck_call* call);
int softcheck_cuda_adaptive_softmax_backward(const softcheck_call* call);
int softcheck_cuda_attention(const softcheck_call* call);
int softcheck_cuda_adaptive_attention(const softcheck_call* call);
int softcheck_cuda_split_attention(const softcheck_call* call);
int softcheck_cuda_split_adaptive_attention(const softcheck_call* call);
int softcheck_cuda_mma_attention(const softcheck_call* call);
int softcheck_cuda_mma_adaptive_attention(const softcheck_call* call);
int softcheck_cuda_attention_statistics(const softcheck_call* call);
int softcheck_cuda_mma_attention_statistics(const softcheck_call* call);
int softcheck_cuda_mma_attention_statistics_varlen(const softcheck_call* call);
int softcheck_cuda_attention_statistics_varlen(const softcheck_call* call);
int softcheck_cuda_attention_backward(const softcheck_call* call);
int softcheck_cuda_adaptive_attention_backward(const softcheck_call* call);
int softcheck_cuda_attention_varlen(const softcheck_call* call);
int softcheck_cuda_adaptive_attention_varlen(const softcheck_call* call);
int softcheck_cuda_split_attention_varlen(const softcheck_call* call);
int softcheck_cuda_split_adaptive_attention_varlen(const softcheck_call* call);
int softcheck_cuda_mma_attention_varlen(const softcheck_call* call);
int softcheck_cuda_mma_adaptive_attention_varlen(const softcheck_call* call);
int softcheck_cuda_attention_backward_varlen(const softcheck_call* call);
int softcheck_cuda_adaptive_attention_backward_varlen(const softcheck_call* call);

int softcheck_strict_softmax(const softcheck_call* call);
int softcheck_strict_entropy(const softcheck_call* call);
int softcheck_strict_log_softmax(const softcheck_call* call);
int softcheck_strict_logsumexp(const softcheck_call* call);
int softcheck_strict_adaptive_softmax(const softcheck_call* call);
int softcheck_strict_varentropy(const softcheck_call* call);
int softcheck_strict_row_statistics(const softcheck_call* call);
int softcheck_strict_adaptive_softmax_backward(const softcheck_call* call);
int softcheck_strict_attention(const softcheck_call* call);
int softcheck_strict_adaptive_attention(const softcheck_call* call);
int softcheck_strict_split_attention(const softcheck_call* call);
int softcheck_strict_split_adaptive_attention(const softcheck_call* call);
int softcheck_strict_attention_statistics(const softcheck_call* call);
int softcheck_strict_attention_backward(const softcheck_call* call);
int softcheck_strict_adaptive_attention_backward(const softcheck_call* call);

int softcheck_emulated_softmax(const softcheck_call* call);
int softcheck_emulated_row_statistics(const softcheck_call* call);
int softcheck_emulated_adaptive_softmax_backward(const softcheck_call* call);
int softcheck_emulated_split_attention(const softcheck_call* call);
int softcheck_emulated_attention_statistics(const softcheck_call* call);
int softcheck_emulated_mma_attention_statistics(const softcheck_call* call);
int softcheck_emulated_attention_backward(const softcheck_call* call);
int softcheck_emulated_split_attention_varlen(const softcheck_call* call);
int softcheck_emulated_attention_backward_varlen(const softcheck_call* call);
int softcheck_emulated_mma_attention(const softcheck_call* call);
int softcheck_emulated_mma_adaptive_attention(const softcheck_call* call);
}
