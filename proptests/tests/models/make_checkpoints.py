"""Writes the small checkpoints of proptests/tests/models/checkpoints: per model a folder with config.json and weights.
observed.safetensors has what a real forward pass of each has in its attention heads, in transformers.

    python proptests/tests/models/make_checkpoints.py [NAME...]

Needs python/requirements/models.txt. Weights are random, drawn so that no wrong reading looks right: gains lie around 1
and some are negative, no bias is zero, each head has a scale of its own. Observed, for each of a few inputs I and each
layer L, in f32, behind the name of the model:

    input.I.layers.L.input     (n, hidden)        what the norm before the projections reads
    input.I.layers.L.query     (n, heads, dh)     rotated, as it meets the keys
    input.I.layers.L.key       (n, key heads, dh)
    input.I.layers.L.scores    (heads, n, n)      as the softmax reads them, masked ones far below the others; with
                                                  sinks (heads, n, n + 1), less each row's largest
    input.I.layers.L.key_input (n, hidden)        what the norm of the keys reads, where it is another
    input.I.layers.L.turned_input                 the same of turned keys that have a norm of their own

Of models that softcheck itself runs on tokens, tokens.json has the ids that the passes read, and observed_f64.safetensors
the queries and keys of the same passes in f64. make_logits.py adds the ids of decoders.

The folders gguf-* have model.gguf instead, laid out as llama.cpp's converter does. A new architecture is one entry of
MODELS in checkpoint_models.py.
"""

import importlib.metadata
import json
import pathlib
import platform
import shutil
import sys
import zlib

import gguf
import numpy
import safetensors
import safetensors.torch
import torch
import transformers
from checkpoint_models import MODELS, rope

SEED = 20241001
FOLDER = pathlib.Path(__file__).parent / "checkpoints"
LENGTHS = (7, 19)

# ESM and Whisper multiply queries by 16^(-1/2) first.
QUERY_FACTORS = {"modeling_esm": 4.0, "modeling_whisper": 4.0}

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]

# Those that softcheck model --tokens runs.
RUN_ON_TOKENS = ("bert", "roberta", "xlm-roberta", "distilbert", "gpt2")


def part(model, path):
    for name in path.split("."):
        model = getattr(model, name)
    return model


def draw_weights(model, plus_one, dtype):
    """Gains, biases and weights as the head of this file says, numbers of the dtype that the file has."""
    config = model.config.get_text_config()
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for name, weight in model.named_parameters():
        words = name.lower()
        if words.endswith("weight") and weight.dim() == 1:
            sign = torch.where(torch.rand(weight.shape) < 0.25, -1.0, 1.0)
            drawn = sign * (0.5 + torch.rand(weight.shape)) - (1 if plus_one else 0)
        elif weight.dim() <= 1:
            drawn = 0.5 * torch.randn(weight.shape)
        elif "embed" in words or "wte" in words or "wpe" in words:
            drawn = torch.randn(weight.shape)
        else:
            conv = "c_attn" in words
            drawn = torch.randn(weight.shape) / weight.shape[0 if conv else -1] ** 0.5
            if any(word in words for word in ("q_", "k_", "query", "key", "qkv", "c_attn", ".q.", ".k.", "kv_")):
                outputs = weight.shape[1 if conv else 0]
                scales = torch.exp(0.5 * torch.randn(-(-outputs // head_dim))).repeat_interleave(head_dim)[:outputs]
                drawn = drawn * (scales if conv else scales[:, None])
        with torch.no_grad():
            weight.copy_(drawn.to(dtype))


def draw_blocks(model):
    """Gives experts numbers that MXFP4 has, and returns the tensors that stand for them, by name."""
    packed, values = {}, torch.tensor(E2M1 + [-value for value in E2M1])
    for name, weight in model.named_parameters():
        if not name.endswith(("gate_up_proj", "down_proj")):
            continue
        experts, inputs, outputs = weight.shape
        blocks = torch.randint(0, 256, (experts, outputs, inputs // 32, 16), dtype=torch.uint8)
        scales = torch.randint(122, 126, (experts, outputs, inputs // 32), dtype=torch.uint8)
        pairs = torch.stack([values[(blocks & 15).long()], values[(blocks >> 4).long()]], -1)
        numbers = pairs.reshape(experts, outputs, inputs // 32, 32) * 2.0 ** (scales[..., None].float() - 127)
        with torch.no_grad():
            weight.copy_(numbers.reshape(experts, outputs, inputs).transpose(1, 2))
        packed[name] = {name + "_blocks": blocks, name + "_scales": scales}
    return packed


def replace_by_blocks(folder, packed):
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    for name, parts in packed.items():
        del tensors[name]
        tensors.update(parts)
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
    (folder / "config.json").write_text(json.dumps(config) + "\n")


# name of a GGUF folder: the entry of MODELS that it is of, changes to its options, llama.cpp's name of the
# architecture, and its names of modules: those outside the layers and those of a layer
GGUF_MODELS = {
    "gguf-llama": ("llama", dict(rope_parameters=rope("linear", 5000.0, factor=2.5), attention_bias=False), "llama", {
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}, {
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}),
    "gguf-bert": ("bert", dict(intermediate_size=32), "bert", {
        "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
        "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm"}, {
        "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}),
}


def gguf_type(name):
    """Queries in half precision, keys in blocks, all else in full."""
    if name.endswith("attn_q.weight"):
        return gguf.GGMLQuantizationType.F16
    return gguf.GGMLQuantizationType.Q8_0 if name.endswith("attn_k.weight") else gguf.GGMLQuantizationType.F32


def interleaved(weight, heads):
    """Rows of each head so that a plane's two stand side by side, as llama.cpp's converter orders Llama's."""
    planes = weight.shape[0] // heads // 2
    return weight.reshape(heads, 2, planes, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def gguf_names(name):
    """The tensor's name in transformers -> in the GGUF file; those that it leaves out are not in it."""
    _, _, _, outer, inner = GGUF_MODELS[name]
    for layer in range(2):
        for path, short in inner.items():
            prefix = f"model.layers.{layer}." if name == "gguf-llama" else f"encoder.layer.{layer}."
            yield prefix + path, f"blk.{layer}.{short}"
    yield from outer.items()


def write_gguf(name, model, folder):
    """Writes model.gguf and gives the model the numbers that the file holds."""
    architecture = GGUF_MODELS[name][2]
    config = model.config
    names, weights = dict(gguf_names(name)), dict(model.named_parameters())
    writer = gguf.GGUFWriter(folder / "model.gguf", architecture)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    if architecture == "llama":
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_rope_dimension_count(config.head_dim)
        writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(config.rope_parameters["factor"])
    else:
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_causal_attention(False)
    for path, weight in weights.items():
        module, _, last = path.rpartition(".")
        if module not in names:
            continue
        target = f"{names[module]}.{last}"
        values = weight.detach().numpy()
        kind = gguf_type(target)
        packed = gguf.quants.quantize(values, kind)
        with torch.no_grad():
            weight.copy_(torch.from_numpy(gguf.quants.dequantize(packed, kind).copy()))
        # Rows are quantised one by one: the order of rows changes nothing in them.
        if architecture == "llama" and "attn_q" in target:
            packed = interleaved(packed, config.num_attention_heads)
        if architecture == "llama" and "attn_k" in target:
            packed = interleaved(packed, config.num_key_value_heads)
        writer.add_tensor(target, numpy.ascontiguousarray(packed), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def observe(model, inputs, places):
    """What the heads have, by layer, in one forward pass.

    places   a layer's attention (none: as they are called), the norm before it, and its keys' norm if it is another
    """
    modeling = sys.modules[type(model).__module__]
    eager, softmax = modeling.eager_attention_forward, torch.nn.functional.softmax
    called, entered = {}, {}

    def recorded_attention(module, query, key, *arguments, **options):
        seen = called[module] = [query * QUERY_FACTORS.get(modeling.__name__.rpartition(".")[2], 1.0), key]

        def recorded_softmax(logits, *others, **more):
            seen.append(logits)
            return softmax(logits, *others, **more)

        torch.nn.functional.softmax = recorded_softmax
        try:
            return eager(module, query, key, *arguments, **options)
        finally:
            torch.nn.functional.softmax = softmax

    def remember(module, arguments, options):
        entered[module] = arguments[0] if arguments else options["hidden_states"]

    hooks = [part(model, norm).register_forward_pre_hook(remember, with_kwargs=True)
             for norm in {norm for place in places for norm in place[1:]}]
    modeling.eager_attention_forward = recorded_attention
    try:
        with torch.no_grad():
            model(**inputs)
    finally:
        modeling.eager_attention_forward = eager
        for hook in hooks:
            hook.remove()
    assert len(called) == len(places)
    found = {}
    for layer, (place, next_called) in enumerate(zip(places, called, strict=True)):
        query, key, scores = called[part(model, place[0]) if place[0] else next_called]
        found[f"layers.{layer}.input"] = entered[part(model, place[1])][0]
        for what, norm in zip(("key_input", "turned_input"), place[2:]):
            found[f"layers.{layer}.{what}"] = entered[part(model, norm)][0]
        found[f"layers.{layer}.query"] = query[0].transpose(0, 1)
        found[f"layers.{layer}.key"] = key[0].transpose(0, 1)
        found[f"layers.{layer}.scores"] = scores[0]
    return {name: value.contiguous().clone() for name, value in found.items()}


def observe_in_f64(model, batches, places):
    """Queries and keys of the same inputs, everything computed in f64: weights are exact in it."""
    model.double()
    observed = {}
    for number, inputs in enumerate(batches):
        for what, value in observe(model, inputs, places).items():
            if what.endswith((".query", ".key")):
                assert value.dtype == torch.float64
                observed[f"input.{number}.{what}"] = value
    model.float()
    return observed


def record(file, name, tensors):
    """The tensors of one model in a file of all, in the place of those it had."""
    others = {key: value for key, value in safetensors.torch.load_file(FOLDER / file).items() if not key.startswith(name + ".")}
    safetensors.torch.save_file({**others, **{f"{name}.{key}": value for key, value in tensors.items()}}, FOLDER / file)


def record_tokens(name, inputs):
    """The ids of one model in tokens.json, a line a model."""
    tokens = {**json.loads((FOLDER / "tokens.json").read_text()), name: inputs}
    lines = ",\n".join(f"{json.dumps(model)}: {json.dumps(ids)}" for model, ids in sorted(tokens.items()))
    (FOLDER / "tokens.json").write_text("{\n" + lines + "\n}\n")


def make(name):
    of, changes = GGUF_MODELS[name][:2] if name in GGUF_MODELS else (name, {})
    model_class, options, norm, *first_norm = MODELS[of]
    torch.manual_seed(SEED + zlib.crc32(name.encode()))
    options = dict(options, **changes)
    dtype, shard_size = options.pop("saved_as", torch.float32), options.pop("shard_size", "1GB")
    kind = getattr(transformers, model_class)
    config = kind.config_class(**options)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    draw_weights(model, "gemma" in name, dtype)
    packed = draw_blocks(model) if name.endswith("mxfp4") else {}
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if name in GGUF_MODELS:
        write_gguf(name, model, folder)
    places, text = norm, config.get_text_config()
    if isinstance(norm, str):
        places = [(None, first_norm[0] if first_norm and layer == 0 else norm.format(layer=layer, below=layer - 1))
                  for layer in range(text.num_hidden_layers)]

    observed, batches = {}, []
    for number, length in enumerate(LENGTHS):
        inputs, vision = {}, getattr(config, "vision_config", config)
        if name in ("clip", "siglip", "vit"):
            inputs["pixel_values"] = torch.randn(1, vision.num_channels, vision.image_size, vision.image_size)
        if name == "whisper":
            inputs["input_features"] = torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions)
        if name in ("t5", "whisper"):
            inputs["decoder_input_ids"] = torch.randint(3, config.vocab_size, (1, length - 2))
        if name not in ("vit", "whisper"):
            inputs["input_ids"] = torch.randint(3, text.vocab_size, (1, length))
        batches.append(inputs)
        for what, value in observe(model, inputs, places).items():
            observed[f"input.{number}.{what}"] = value.float()
    if name in RUN_ON_TOKENS:
        record_tokens(name, [inputs["input_ids"][0].tolist() for inputs in batches])
        record("observed_f64.safetensors", name, observe_in_f64(model, batches, places))
    if name not in GGUF_MODELS:
        model.to(dtype).save_pretrained(folder, max_shard_size=shard_size)
        (folder / "generation_config.json").unlink(missing_ok=True)
        if packed:
            replace_by_blocks(folder, packed)
        for file in folder.glob("*.json"):
            file.write_text(json.dumps(json.loads(file.read_text())) + "\n")
    record("observed.safetensors", name, observed)
    print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes")


def main(names):
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    print(f"seed {SEED}, python {platform.python_version()}, torch {torch.__version__}, transformers "
          f"{transformers.__version__}, safetensors {safetensors.__version__}, gguf "
          f"{importlib.metadata.version('gguf')}, numpy {numpy.__version__}")
    for name in names or [*MODELS, *GGUF_MODELS]:
        make(name)


if __name__ == "__main__":
    main(sys.argv[1:])
