"""Writes into tokens.json and logits_f64.safetensors for the committed checkpoints of decoders: ids of two inputs, and
the logits of the token behind each, computed by transformers in f64.

    pip install torch==2.15.0 transformers==5.24.0 safetensors accelerate gguf==0.19.0 && python make_logits.py

transformers computes norms, rotary tables and softmax in f32 whatever the model's dtype: here its f32 is f64.
"""

import importlib.metadata
import sys
import zlib

import torch
import transformers
from make_checkpoints import FOLDER, record, record_tokens

SEED = 20261129
LENGTHS = (1, 23)
DECODERS = ("gemma", "gemma2", "gemma3", "gemma3_text", "gpt_oss", "gpt_oss_mxfp4", "llama", "olmo2", "phi3", "qwen2",
            "qwen3", "gguf-llama")


def load(name):
    options = dict(attn_implementation="eager", experts_implementation="eager", dtype=torch.float32)
    kind = transformers.AutoModelForCausalLM
    if name.startswith("gguf-"):
        return kind.from_pretrained(FOLDER / name, gguf_file="model.gguf", **options)
    if name.endswith("mxfp4"):
        options["quantization_config"] = transformers.Mxfp4Config(dequantize=True)
    if name == "gemma3":
        kind = transformers.Gemma3ForConditionalGeneration
    return kind.from_pretrained(FOLDER / name, **options)


def in_f64(name, model):
    """Makes the model, and what transformers makes of tensors as it runs, f64."""
    model.double()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    config = model.config.get_text_config()
    if name.startswith("gguf-"):  # which transformers does not read of such a file
        config.rope_parameters = dict(config.rope_parameters, rope_type="linear", factor=2.5)
    for parent in list(model.modules()):
        for name, module in list(parent.named_children()):
            if name == "rotary_emb":
                setattr(parent, name, type(module)(config).double())
            if hasattr(module, "embed_scale"):
                module.embed_scale = torch.tensor(config.hidden_size**0.5, dtype=torch.float64)
    return config


def make(name):
    model = load(name).eval()
    config = in_f64(name, model)
    torch.manual_seed(SEED + zlib.crc32(name.encode()))
    inputs = [torch.randint(3, config.vocab_size, (1, length), dtype=torch.int64) for length in LENGTHS]
    logits = {}
    with torch.no_grad():
        for number, ids in enumerate(inputs):
            out = model(input_ids=ids).logits
            assert out.dtype == torch.float64
            logits[f"input.{number}.logits"] = out[0, -1].clone()
    record_tokens(name, [ids[0].tolist() for ids in inputs])
    record("logits_f64.safetensors", name, logits)
    print(f"{name}: largest logit {max(value.abs().max().item() for value in logits.values()):.6f}")


if len(sys.argv) > 1:  # one model a process: what is f64 stays so
    make(sys.argv[1])
else:
    import subprocess

    print(f"seed {SEED}, torch {torch.__version__}, transformers {transformers.__version__}, gguf "
          f"{importlib.metadata.version('gguf')}")
    for decoder in DECODERS:
        subprocess.run([sys.executable, __file__, decoder], check=True)
