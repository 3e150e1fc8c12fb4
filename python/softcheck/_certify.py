"""Bounds on the attention heads of a trained model: certify."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import pathlib
import tempfile
from typing import Any, Sequence

from . import _library
from ._function import words_of
from ._kernels import kernel
from ._library import UsageError


class Certificates:
    """What certify proved.

    verdict   "pass"; "fail" if a condition of fail_if holds
    model     {"architecture", "layers", "heads", "hidden", "head_dim", "context", ...}
    heads     one dictionary for each head, with the fields of `softcheck model --json` (docs/models.md): "layer",
              "head", "spread": {"best": [lower, upper], ...}, "logit", "dispersion_length_log10", ...; infinities are
              floats
    text      the table of the command
    """

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report
        self.verdict: str = report["verdict"]
        self.model: dict[str, Any] = report["model"]
        self.heads: list[dict[str, Any]] = [_numbers(head) for head in report["heads"]]
        self.text: str = report["text"]

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<softcheck.Certificates {self.verdict}: {self.report['summary']} of {self.model['path']}>"


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _numbers(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_numbers(member) for member in value]
    return {"inf": float("inf"), "-inf": float("-inf")}.get(value, value) if isinstance(value, str) else value


def _file(name: str, value: Any) -> str | None:
    """A file that will be written, found wrong before the work."""
    if value is None:
        return None
    path = _library.path(name, value)
    folder = os.path.dirname(path) or "."
    if not path or "\0" in path or os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise UsageError(f"{name}: need a file that can be written, got {path!r}")
    return path


def _encoder(model: str) -> Any:
    """The checkpoint's own tokenizer: ids of a text, without padding or truncation."""
    folder, name = (model, "") if os.path.isdir(model) else os.path.split(model)
    with contextlib.suppress(ImportError):
        transformers = importlib.import_module("transformers")
        options = {"gguf_file": name} if name.endswith(".gguf") else {}
        own = transformers.AutoTokenizer.from_pretrained(folder or ".", local_files_only=True, **options)
        return lambda text: own(text, padding=False, truncation=False)["input_ids"]
    try:
        tokenizers = importlib.import_module("tokenizers")
    except ImportError:
        raise UsageError("text: need the package transformers or tokenizers, neither is installed; tokens= takes ids") from None
    own = tokenizers.Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    own.no_padding()
    own.no_truncation()
    return lambda text: own.encode(text).ids


def _write_ids(model: str, text: Any, file: pathlib.Path) -> None:
    texts = [text] if isinstance(text, str) else list(text) if isinstance(text, Sequence) else [text]
    for one in texts:
        if not isinstance(one, str):
            raise UsageError(f"text: need a text, or several, got {one!r}")
    if not os.path.exists(model):
        raise UsageError(f"model: {model} is not there")
    try:
        encode = _encoder(model)
    except UsageError:
        raise
    except Exception as error:  # of many kinds, with many lines
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"text: need a checkpoint with its tokenizer, {model} has none that can be read: {reason}") from error
    ids = [[int(i) for i in encode(one)] for one in texts]
    for one, found in zip(texts, ids):
        if len(found) < 2:
            raise UsageError(f"text: need two tokens or more, {one!r} has {len(found)}")
    file.write_text("".join(json.dumps(found) + "\n" for found in ids), encoding="utf-8")


def certify(
    model: str | os.PathLike[str],
    *,
    eps: float = 0.1,
    items: int | None = None,
    layers: str | int | None = None,
    activations: str | os.PathLike[str] | None = None,
    tokens: str | os.PathLike[str] | None = None,
    text: str | Sequence[str] | None = None,
    fail_if: str | Sequence[str] = (),
    threads: int | None = None,
    html: str | os.PathLike[str] | None = None,
    junit: str | os.PathLike[str] | None = None,
) -> Certificates:
    """Certifies every attention head of a Transformer's checkpoint, for every input and every length.

        certificates = softcheck.certify("all-MiniLM-L6-v2", fail_if="logit.f16 > 65504")
        widest = max(certificates.heads, key=lambda head: head["spread"]["best"][1])

    model        a folder with config.json and safetensors, or a .gguf file
    eps          coefficients below eps count as dispersed; dispersion_length_log10 is for this eps
    items        number of items for the entropy floor; the model's context by default
    layers       3, "3" or "0-3"; all by default
    activations  a safetensors file of recorded queries "layers.L.query" (n, heads, dim) and keys "layers.L.key"
    tokens       a file of token ids, one line of two or more for each input, on which the model runs (BERT, GPT-2 and
                 decoders of Llama's layout); not together with activations. The heads then have "observed"
    text         what the model runs on instead of tokens, one input or several, turned into ids by the checkpoint's own
                 tokenizer; needs the package transformers, or tokenizers and the checkpoint's tokenizer.json
    fail_if      conditions that make the verdict "fail": "logit.f16 > 65504", "spread.best > 80"
    threads      all of the machine's by default
    html         a file: the heads as one HTML page, as `softcheck model --html` writes it
    junit        a file: the report's claims as JUnit XML, as `softcheck model --junit` writes them

    Raises UsageError for a wrong path, argument or file, and for an architecture without a known bound.
    """
    if text is not None:
        if tokens is not None or activations is not None:
            raise UsageError(f"text: need either text, tokens or activations, got {'tokens' if tokens else 'activations'}, too")
        with tempfile.TemporaryDirectory(prefix="softcheck_") as folder:
            file = pathlib.Path(folder, "text")
            _write_ids(_library.path("model", model), text, file)
            return certify(
                model, eps=eps, items=items, layers=layers, tokens=file, fail_if=fail_if, threads=threads, html=html, junit=junit
            )
    words = {
        "eps": _library.number("eps", eps),
        "items": items,
        "layers": str(layers) if isinstance(layers, int) else layers,
        "activations": None if activations is None else _library.path("activations", activations),
        "fail_if": words_of("fail_if", fail_if, "; ") or None,
        "threads": threads,
        "tokens": None if tokens is None else _library.path("tokens", tokens),
        "attention": None if tokens is None else ctypes.cast(kernel("attention"), ctypes.c_void_p).value,
    }
    files = {name: file for name, value in (("html", html), ("junit", junit)) if (file := _file(name, value))}
    if len({os.path.realpath(file) for file in files.values()}) < len(files):
        raise UsageError(f"junit: need another file than html, got {files['junit']!r}")
    words["html"] = int("html" in files)
    report = _library.certify(_library.path("model", model), words)
    for name, file in files.items():
        try:
            pathlib.Path(file).write_text(report[name], encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{name}: {file} cannot be written: {error.strerror}") from None
    return Certificates(report)
