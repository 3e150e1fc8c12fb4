"""The small models of make_checkpoints.py: class, sizes, and where the norms before the projections are."""

import torch

SMALL = dict(vocab_size=40, hidden_size=32, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GROUPED = dict(SMALL, num_key_value_heads=2)
BERT = dict(SMALL, type_vocab_size=2)
PARTS = ["sliding_attention", "full_attention"]
LATENT = dict(SMALL, num_attention_heads=2, num_key_value_heads=2, kv_lora_rank=16, qk_nope_head_dim=10,
              qk_rope_head_dim=6, v_head_dim=7, first_k_dense_replace=2, n_routed_experts=2, n_shared_experts=1,
              num_experts_per_tok=1, moe_intermediate_size=8)
LATENT_PATH = "model.layers.{layer}.self_attn"


def rope(kind="default", theta=10000.0, **others):
    return dict(rope_type=kind, rope_theta=theta, **others)


def towers(*stacks):
    """Of each stack's layers the attention, the norm before its projections and, if they are others, its keys'."""
    return [tuple(path.format(layer=layer) for path in paths) for layers, *paths in stacks for layer in range(layers)]


# name: model class, options of its configuration, the module before the projections of layer L (and of layer 0), or the
# towers of a model of several
MODELS = {
    "bert": ("BertModel", BERT, "encoder.layer.{below}.output.LayerNorm", "embeddings.LayerNorm"),
    "roberta": ("RobertaModel", dict(BERT, pad_token_id=1), "encoder.layer.{below}.output.LayerNorm",
                "embeddings.LayerNorm"),
    "xlm-roberta": ("XLMRobertaForMaskedLM", dict(BERT, num_hidden_layers=1, num_attention_heads=2, pad_token_id=1),
                    "roberta.encoder.layer.{below}.output.LayerNorm", "roberta.embeddings.LayerNorm"),
    "distilbert": ("DistilBertForMaskedLM", dict(vocab_size=40, dim=32, hidden_dim=24, n_layers=2, n_heads=4,
                                                 max_position_embeddings=64),
                   "distilbert.transformer.layer.{below}.output_layer_norm", "distilbert.embeddings.LayerNorm"),
    "vit": ("ViTModel", dict(hidden_size=32, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
                             image_size=12, patch_size=3, num_channels=1, pooler_output_size=32),
            "layers.{layer}.layernorm_before"),
    "gpt2": ("GPT2LMHeadModel", dict(vocab_size=40, n_embd=32, n_inner=24, n_layer=2, n_head=4, n_positions=64,
                                     scale_attn_by_inverse_layer_idx=True, bos_token_id=1, eos_token_id=2),
             "transformer.h.{layer}.ln_1"),
    "gpt_neox": ("GPTNeoXForCausalLM", dict(SMALL, hidden_size=64, rope_parameters=rope(partial_rotary_factor=0.25)),
                 "gpt_neox.layers.{layer}.input_layernorm"),
    "llama": ("LlamaForCausalLM", dict(GROUPED, attention_bias=True, rope_parameters=rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)),
        "model.layers.{layer}.input_layernorm"),
    "mistral": ("MistralModel", dict(GROUPED, head_dim=12, sliding_window=5,
                                     rope_parameters=rope("linear", factor=2.5)), "layers.{layer}.input_layernorm"),
    "qwen2": ("Qwen2ForCausalLM", dict(GROUPED, max_position_embeddings=2048, use_sliding_window=True,
                                       sliding_window=6, max_window_layers=1,
                                       rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=512),
                                       saved_as=torch.bfloat16), "model.layers.{layer}.input_layernorm"),
    "phi3": ("Phi3ForCausalLM", dict(GROUPED, hidden_size=64, original_max_position_embeddings=16, rope_parameters=rope(
        "longrope", partial_rotary_factor=0.75, short_factor=[1.0, 1.1, 1.2, 1.4, 1.7, 2.0],
        long_factor=[1.0, 1.5, 2.5, 4.0, 6.0, 9.0]), shard_size="70KB"), "model.layers.{layer}.input_layernorm"),
    "qwen3": ("Qwen3ForCausalLM", dict(GROUPED, head_dim=12, rope_parameters=rope("dynamic", factor=2.0)),
              "model.layers.{layer}.input_layernorm"),
    "gemma": ("GemmaForCausalLM", dict(GROUPED, head_dim=12, num_key_value_heads=1),
              "model.layers.{layer}.input_layernorm"),
    "gemma2": ("Gemma2ForCausalLM", dict(GROUPED, head_dim=12, query_pre_attn_scalar=10, sliding_window=5,
                                         attn_logit_softcapping=2.5, layer_types=PARTS),
               "model.layers.{layer}.input_layernorm"),
    "gemma3_text": ("Gemma3ForCausalLM", dict(GROUPED, head_dim=12, query_pre_attn_scalar=10, sliding_window=5,
                                              layer_types=PARTS), "model.layers.{layer}.input_layernorm"),
    "gemma3": ("Gemma3ForConditionalGeneration", dict(
        text_config=dict(GROUPED, num_hidden_layers=1, head_dim=12, query_pre_attn_scalar=10, sliding_window=5,
                         layer_types=PARTS[:1]),
        vision_config=dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=8,
                           patch_size=4), mm_tokens_per_image=4, image_token_index=39, boi_token_index=38,
        eoi_token_index=37), "model.language_model.layers.{layer}.input_layernorm"),
    "olmo2": ("Olmo2ForCausalLM", GROUPED, "model.layers.{layer}.self_attn"),
    "gpt_oss": ("GptOssForCausalLM", dict(
        GROUPED, max_position_embeddings=4096, head_dim=12, sliding_window=5, num_local_experts=3,
        num_experts_per_tok=2, swiglu_limit=0.75, rope_parameters=rope(
            "yarn", 150000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, truncate=False,
            original_max_position_embeddings=1024)),
        "model.layers.{layer}.input_layernorm"),
    "qwen3_moe": ("Qwen3MoeForCausalLM", dict(GROUPED, head_dim=12, num_experts=2, num_experts_per_tok=1,
                                              moe_intermediate_size=8), "model.layers.{layer}.input_layernorm"),
    "smollm3": ("SmolLM3ForCausalLM", dict(GROUPED, no_rope_layer_interval=2),
                "model.layers.{layer}.input_layernorm"),
    "granite": ("GraniteForCausalLM", dict(GROUPED, attention_multiplier=0.3, embedding_multiplier=3.0,
                                           residual_multiplier=0.5, logits_scaling=2.0),
                "model.layers.{layer}.input_layernorm"),
    "glm4": ("Glm4ForCausalLM", dict(GROUPED, head_dim=12, rope_parameters=rope(partial_rotary_factor=0.5)),
             "model.layers.{layer}.input_layernorm"),
    "esm": ("EsmModel", dict(SMALL, num_attention_heads=2, position_embedding_type="rotary", mask_token_id=3),
            "encoder.layer.{layer}.attention.LayerNorm"),
    "modernbert": ("ModernBertForMaskedLM", dict(SMALL, layer_types=PARTS[::-1], local_attention=8),
                   "model.layers.{layer}.attn_norm", "model.embeddings.norm"),
    "whisper": ("WhisperForConditionalGeneration", dict(
        vocab_size=40, num_mel_bins=4, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_source_positions=11,
        max_target_positions=24, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        begin_suppress_tokens=[1]), towers(
        (2, "model.encoder.layers.{layer}.self_attn", "model.encoder.layers.{layer}.self_attn_layer_norm"),
        (2, "model.decoder.layers.{layer}.self_attn", "model.decoder.layers.{layer}.self_attn_layer_norm"),
        (2, "model.decoder.layers.{layer}.encoder_attn", "model.decoder.layers.{layer}.encoder_attn_layer_norm",
         "model.encoder.layer_norm"))),
    "deepseek_v2": ("DeepseekV2ForCausalLM", dict(LATENT, q_lora_rank=None), towers(
        (2, LATENT_PATH, "model.layers.{layer}.input_layernorm", LATENT_PATH + ".kv_a_layernorm",
         "model.layers.{layer}.input_layernorm"))),
    "deepseek_v3": ("DeepseekV3ForCausalLM", dict(
        LATENT, q_lora_rank=20, n_group=1, topk_group=1, num_mtp_layers=0, rope_parameters=rope(
            "yarn", factor=4.0, mscale=0.7, mscale_all_dim=0.7, original_max_position_embeddings=16)), towers(
        (2, LATENT_PATH, LATENT_PATH + ".q_a_layernorm", LATENT_PATH + ".kv_a_layernorm",
         "model.layers.{layer}.input_layernorm"))),
    "t5": ("T5ForConditionalGeneration", dict(
        vocab_size=40, d_model=32, d_kv=12, d_ff=24, num_layers=2, num_decoder_layers=1, num_heads=2,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, pad_token_id=0, eos_token_id=2,
        decoder_start_token_id=0), towers(
        (2, "encoder.block.{layer}.layer.0.SelfAttention", "encoder.block.{layer}.layer.0.layer_norm"),
        (1, "decoder.block.{layer}.layer.0.SelfAttention", "decoder.block.{layer}.layer.0.layer_norm"),
        (1, "decoder.block.{layer}.layer.1.EncDecAttention", "decoder.block.{layer}.layer.1.layer_norm",
         "encoder.final_layer_norm"))),
}

TEXT_TOWER = dict(vocab_size=40, hidden_size=32, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4,
                  max_position_embeddings=24, pad_token_id=0, bos_token_id=1, eos_token_id=2)
VISION_TOWER = dict(hidden_size=36, intermediate_size=24, num_hidden_layers=2, num_attention_heads=3, image_size=12,
                    patch_size=3, num_channels=1)
for kind, text, more in (("CLIP", TEXT_TOWER, dict(projection_dim=8)),
                         ("Siglip", dict(TEXT_TOWER, projection_size=36), {})):
    MODELS[kind.lower()] = (kind + "Model", dict(more, text_config=text, vision_config=VISION_TOWER), towers(
        (1, "text_model.encoder.layers.{layer}.self_attn", "text_model.encoder.layers.{layer}.layer_norm1"),
        (2, "vision_model.encoder.layers.{layer}.self_attn", "vision_model.encoder.layers.{layer}.layer_norm1")))

# MXFP4 has blocks of 32 inputs.
MODELS["gpt_oss_mxfp4"] = ("GptOssForCausalLM", dict(MODELS["gpt_oss"][1], num_hidden_layers=1, intermediate_size=32),
                           MODELS["gpt_oss"][2])
