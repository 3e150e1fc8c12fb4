// Shapes of published programs. A bug in one template, tile or grid appears only at its sizes.
//
// A source "NAME: config" is the config.json of the model of that name on Hugging Face (vocab_size, num_experts or
// n_routed_experts with num_experts_per_tok, num_attention_heads, num_key_value_heads, head_dim). "OWNER/NAME 123" is
// an issue or a pull request on GitHub.
#include "proptests/generators/domains/known_shapes.hpp"

#include <array>

namespace softcheck::proptests {
namespace {

constexpr std::array rows{
    // Many rows: for a grid, a block or an index that is limited to 2,048 rows, 65,535 blocks or 16 bits. Beyond 32
    // columns, and beyond 256, another kernel may take over.
    KnownRows{2049, 3, 0, "issue 45: rows from the 2,049th on"},
    KnownRows{4099, 5, 0, "a sequence of 4,096 tokens, and three more"},
    KnownRows{65537, 2, 0, "CUDA C++ Programming Guide: 65,535 blocks along y and z"},
    KnownRows{65537, 33, 0, "the same, beyond a warp"},
    KnownRows{65537, 257, 0, "the same, beyond a block of 256 threads"},
    KnownRows{131, 257, 0, "more than 128 rows, longer than a block of 256 threads"},
    KnownRows{67, 1031, 0, "more than 64 rows, longer than a block of 1,024 threads"},
    // Routers: the number of experts, and of those per token.
    KnownRows{33, 8, 2, "Mixtral-8x7B-v0.1: config"},
    KnownRows{33, 16, 1, "Llama-4-Scout-17B-16E: config"},
    KnownRows{33, 16, 2, "Phi-3.5-MoE-instruct: config"},
    KnownRows{33, 16, 4, "dbrx-base: config"},
    KnownRows{33, 32, 4, "gpt-oss-20b: config"},
    KnownRows{33, 60, 4, "Qwen1.5-MoE-A2.7B: config"},
    KnownRows{33, 64, 6, "deepseek-moe-16b-base: config"},
    KnownRows{33, 64, 8, "OLMoE-1B-7B-0924: config"},
    KnownRows{33, 128, 1, "Llama-4-Maverick-17B-128E: config"},
    KnownRows{33, 128, 4, "gpt-oss-120b: config"},
    KnownRows{33, 128, 8, "Qwen3-30B-A3B: config; MetaX-MACA/vLLM-metax 270"},
    KnownRows{33, 160, 6, "DeepSeek-V2: config (n_group, topk_group, group_limited_greedy)", 8, 3, 1},
    KnownRows{33, 256, 8, "DeepSeek-V3: config (n_group, topk_group, noaux_tc)", 8, 4, 2},
    KnownRows{33, 384, 8, "Kimi-K2-Instruct: config"},
    KnownRows{33, 512, 10, "Qwen3-Next-80B-A3B-Instruct: config"},
    // Row lengths for which kernels have a template, a tile or a benchmark.
    KnownRows{3, 768, 0, "gpt2: config"},
    KnownRows{3, 1536, 0, "Qwen2.5-1.5B: config"},
    KnownRows{3, 2560, 0, "phi-2: config"},
    KnownRows{3, 3072, 0, "gemma-7b: config"},
    KnownRows{3, 5120, 0, "Llama-2-13b: config"},
    KnownRows{3, 12288, 0, "Language Models are Few-Shot Learners, table 2.1"},
    // Vocabularies.
    KnownRows{3, 30522, 0, "bert-base-uncased: config"},
    KnownRows{3, 32000, 0, "Llama-2-7b: config"},
    KnownRows{3, 50257, 0, "gpt2: config"},
    KnownRows{3, 50304, 0, "karpathy/nanoGPT: GPTConfig.vocab_size"},
    KnownRows{3, 51865, 0, "whisper-base: config"},
    KnownRows{2, 100352, 0, "phi-4: config"},
    KnownRows{2, 128256, 0, "Meta-Llama-3-8B: config"},
    KnownRows{2, 129280, 0, "DeepSeek-V3: config"},
    KnownRows{2, 151936, 0, "Qwen3-8B: config"},
    KnownRows{1, 201088, 0, "gpt-oss-20b: config"},
    KnownRows{1, 262208, 0, "gemma-3-4b-it: config"},
};

constexpr std::array attention{
    KnownAttention{1, 1, 71, 2, 9, 64, 64, "falcon-7b: config; InternLM/lmdeploy 1761 (71 heads)"},
    KnownAttention{1, 2, 24, 1, 17, 128, 128, "vllm-project/vllm 40792 (groups of 24 query heads)"},
    KnownAttention{1, 8, 16, 1, 17, 128, 128, "Llama-3.1-405B: config"},
    KnownAttention{1, 1, 128, 1, 19, 576, 512, "DeepSeek-V3: config (kv_lora_rank 512, qk_rope_head_dim 64)"},
    KnownAttention{1, 128, 1, 2, 5, 192, 128, "DeepSeek-V3: config (128 heads, qk_nope_head_dim 128)"},
    KnownAttention{1, 131, 1, 1, 3, 8, 8, "a head beyond the 128th of DeepSeek-V3: config"},
    KnownAttention{1, 1, 2, 3, 17, 512, 512, "DeepSeek-V3: config (kv_lora_rank 512)"},
    KnownAttention{1, 1, 2, 3, 17, 72, 72, "Dao-AILab/flash-attention 2896"},
    KnownAttention{1, 1, 2, 3, 17, 104, 104, "Dao-AILab/flash-attention 2896"},
    KnownAttention{1, 1, 2, 3, 17, 112, 112, "vllm-project/vllm: PagedAttention.get_supported_head_sizes"},
    KnownAttention{1, 1, 2, 3, 17, 256, 256, "gemma-7b: config"},
    KnownAttention{1, 2, 2, 3, 17, 64, 320, "values wider than 256 columns"},
    KnownAttention{1, 1, 1, 4099, 7, 16, 16, "mistral-7b: 4,096 tokens, and three more"},
    KnownAttention{1, 1, 1, 8195, 3, 8, 8, "Meta-Llama-3-8B: 8,192 tokens, and three more"},
    KnownAttention{65537, 1, 1, 1, 2, 2, 1, "flashinfer-ai/flashinfer 3125: batch on a grid's y or z"},
    KnownAttention{1025, 1, 65, 1, 2, 2, 1, "pytorch/pytorch 142228: batch times heads on a grid's y or z"},
};

constexpr std::array attributes{
    KnownAttributes{1, 2, 2, 40961, 4, 300, false, "a window of more than 256 keys, of 40,961"},
    KnownAttributes{1, 3, 2, 40961, 4, 0, true, "ALiBi at distances beyond 32,768"},
    KnownAttributes{1, 2, 2, 36865, 4, 33000, true, "a window of more than 32,768 keys"},
    KnownAttributes{37, 2, 3, 17, 16, 0, false, "33 sequences and more: linkedin/Liger-Kernel 1344 (a loop of 32)"},
    KnownAttributes{131, 2, 2, 9, 8, 0, false, "more than 128 sequences"},
};

}  // namespace

std::span<const KnownRows> known_rows() { return rows; }
std::span<const KnownAttention> known_attention() { return attention; }
std::span<const KnownAttributes> known_attributes() { return attributes; }

}  // namespace softcheck::proptests
