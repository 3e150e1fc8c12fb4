"""Writes language_logits.tsv: what transformers computes with the language models that ship, and how far roundings move it.

    python proptests/tests/experiments/make_language_logits.py

Needs python/requirements/models.txt. Two lines for each model and place, of a number for each character: the logits behind
the character at that place of TEXT, by LlamaForCausalLM in double; and their sensitivities, the sum over all numbers of
the pass of |how the logit changes with it| times the most roundings that go into it, each of its full size. To first order an evaluation whose
roundings are at most u is within u sensitivity of the exact logit, in whatever order it adds. The sensitivities are
those of llama() below, which is Llama by its definition and shares no code with transformers.
"""

import contextlib
import json
import math
import pathlib

import safetensors.torch
import torch

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent.parent.parent / "experiments" / "models" / "language"
RECORD = HERE / "language_logits.tsv"
NAMES = ("plain-1", "adaptive-1")
TEXT = "insertion_sort:\nkey: [a2zB], initial_trace: [a2zB]\ntrace | pred:\n[2azB], [2azB] | [2Baz]\n\n"
PLACES = (0, 5, 23, 40, 66, 87)


def ids_of(text):
    """The line feed is 0, ' ' to '~' are 1 to 95."""
    return [0 if character == "\n" else ord(character) - 31 for character in text]


class _Wide:
    """torch, whose single precision is double precision."""

    float = float32 = torch.float64  # noqa: A003

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def _wide_llama():
    """transformers' Llama takes norms, rotations and softmax to float32, whatever the model's dtype: here to double."""
    from transformers.models.llama import modeling_llama

    narrow = torch.Tensor.float
    modeling_llama.torch, torch.Tensor.float = _Wide(), torch.Tensor.double
    try:
        yield
    finally:
        modeling_llama.torch, torch.Tensor.float = torch, narrow


def transformers_logits(folder, dtype, text=TEXT):
    """Of LlamaForCausalLM from the folder: (characters, 96), in double. dtype float64 means all of it in double."""
    import transformers

    with _wide_llama() if dtype == torch.float64 else contextlib.nullcontext(), torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
        if type(model) is not transformers.LlamaForCausalLM:
            raise TypeError(f"{folder}: need a LlamaForCausalLM, got {type(model).__name__}")
        return model.eval()(torch.tensor([ids_of(text)])).logits[0].double()


class _Pass:
    """Numbers of a forward pass with the most roundings, of their full size each, that go into one."""

    def __init__(self):
        self.numbers = []

    def keep(self, number, roundings):
        number.retain_grad()
        self.numbers.append((number, roundings.detach()))
        return number

    def linear(self, weight, x):
        n = weight.shape[-1]  # each product is rounded, and goes through n - 1 sums at most
        return self.keep(x @ weight.T, n * (x.abs() @ weight.abs().T))

    def norm(self, gain, x, epsilon):
        # n products, n - 1 sums, the mean, epsilon and its sum under a root: n + 3 halves; root, reciprocal, two products
        y = gain * x / torch.sqrt((x * x).mean(-1, keepdim=True) + epsilon)
        return self.keep(y, y.abs() * ((x.shape[-1] + 3) / 2 + 4))

    def turn(self, x, angles):
        """(characters, heads, width), in planes (i, i + width / 2). Frequencies have a power, a reciprocal and a product
        with the position, 4 roundings of the angle at most; cosines and sines are right to 2."""
        half = x.shape[-1] // 2
        c, s = torch.cos(angles)[:, None], torch.sin(angles)[:, None]
        a, b = x[..., :half], x[..., half:]
        table = 4 * angles[:, None] + 2
        size = a.abs() + b.abs()
        each = torch.cat([(a * c).abs() + (b * s).abs(), (b * c).abs() + (a * s).abs()], -1)
        turned = torch.cat([a * c - b * s, b * c + a * s], -1)
        return self.keep(turned, 2 * each + torch.cat([size * table] * 2, -1))

    def attend(self, q, k, v):
        """(heads, characters, width) each; causal."""
        width, n = q.shape[-1], q.shape[1]
        scale = width**-0.5
        hidden = torch.ones(n, n, dtype=torch.bool).triu(1)
        size = (q.abs() @ k.abs().mT * scale).masked_fill(hidden, 0)
        scores = self.keep(q @ k.mT * scale, (width + 4) * size).masked_fill(hidden, -math.inf)
        p = torch.softmax(scores, -1)
        # The difference from the maximum, in units of e or 2; exponentials and rescalings; the sum; the quotient.
        far = (scores.max(-1, keepdim=True).values - scores).masked_fill(hidden, 0)
        sums = 3 * (p * far).sum(-1, keepdim=True) + 2 * n + 16
        p = self.keep(p, p * (3 * far + sums))
        return self.keep(p @ v, (n + 2) * (p @ v.abs()))

    def gate(self, gate, up):
        inner = gate / (1 + torch.exp(-gate)) * up
        return self.keep(inner, 8 * inner.abs())

    def add(self, x, y):
        return self.keep(x + y, (x + y).abs())

    def sensitivities(self, logit):
        for number, _ in self.numbers:
            number.grad = None
        logit.backward(retain_graph=True)
        return sum(float((n.grad.abs() * size).sum()) for n, size in self.numbers if n.grad is not None)


def llama(folder, text=TEXT):
    """(logits (characters, 96), the _Pass that made them), in double, from config.json and model.safetensors."""
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    tensors = safetensors.torch.load_file(pathlib.Path(folder) / "model.safetensors")
    w = {name.removeprefix("model.").removesuffix(".weight"): tensor.double() for name, tensor in tensors.items()}
    heads, width, epsilon = config["num_attention_heads"], config["head_dim"], config["rms_norm_eps"]
    ids = ids_of(text)
    powers = torch.arange(0, width, 2, dtype=torch.float64) / width
    angles = torch.arange(len(ids), dtype=torch.float64)[:, None] * config["rope_theta"] ** -powers
    run = _Pass()
    x = w["embed_tokens"][ids].requires_grad_()
    for layer in range(config["num_hidden_layers"]):
        own = {name.removeprefix(f"layers.{layer}."): tensor for name, tensor in w.items()}
        y = run.norm(own["input_layernorm"], x, epsilon)
        q, k, v = (run.linear(own[f"self_attn.{p}_proj"], y).view(len(ids), heads, width) for p in "qkv")
        q, k = run.turn(q, angles), run.turn(k, angles)
        seen = run.attend(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1)).transpose(0, 1)
        x = run.add(x, run.linear(own["self_attn.o_proj"], seen.reshape(len(ids), -1)))
        y = run.norm(own["post_attention_layernorm"], x, epsilon)
        inner = run.gate(run.linear(own["mlp.gate_proj"], y), run.linear(own["mlp.up_proj"], y))
        x = run.add(x, run.linear(own["mlp.down_proj"], inner))
    return run.linear(w["embed_tokens"], run.norm(w["norm"], x, epsilon)), run


def main():
    lines = [f"# made by make_language_logits.py; text {json.dumps(TEXT)}", "model\tplace\tnumbers\tof characters 0 to 95"]
    for name in NAMES:
        theirs = transformers_logits(MODELS / name, torch.float64)
        ours, run = llama(MODELS / name)
        worst = 0.0
        for place in PLACES:
            sensitivities = [run.sensitivities(logit) for logit in ours[place]]
            logits = [float(logit) for logit in theirs[place]]
            for logit, own, sensitivity in zip(logits, ours[place], sensitivities):
                worst = max(worst, abs(logit - float(own)) / (2 * 2.0**-53 * sensitivity))
            lines.append("\t".join([name, str(place), "logits", *(logit.hex() for logit in logits)]))
            lines.append("\t".join([name, str(place), "sensitivities", *(f"{s:.4g}" for s in sensitivities)]))
        if not worst <= 1:
            raise SystemExit(f"{name}: llama() and transformers differ by {worst:.3g} times what roundings explain")
        print(f"{name}: llama() and transformers differ by {worst:.3g} of what roundings explain")
    RECORD.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
