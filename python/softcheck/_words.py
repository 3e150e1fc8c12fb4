"""Types of arguments whose values are words of a fixed list: a type checker refuses op="sofmax"."""

from __future__ import annotations

from typing import Any, Callable, Literal, Mapping, Protocol, Sequence, TypedDict, Union

OpName = Literal[
    "softmax",
    "log_softmax",
    "logsumexp",
    "entropy",
    "adaptive_softmax",
    "softmax_backward",
    "log_softmax_backward",
    "cross_entropy",
    "cross_entropy_backward",
    "cross_entropy_mean",
    "cross_entropy_mean_backward",
    "soft_cross_entropy",
    "soft_cross_entropy_backward",
    "kl_divergence",
    "kl_divergence_backward",
    "merge_states",
    "topk_softmax",
    "top_p_softmax",
    "sparsemax",
    "entmax15",
    "attention",
    "adaptive_attention",
    "sigmoid_attention",
    "differential_attention",
    "attention_backward",
    "linear_cross_entropy",
    "linear_cross_entropy_backward",
]
DtypeName = Literal[
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "f64", "f32", "f16", "bf16", "e4m3", "e5m2"
]
Effort = Literal["quick", "default", "deep", "exhaustive"]
Isolation = Literal["auto", "fork", "spawn", "none"]
Arrays = Literal["numpy", "torch", "jax", "mlx", "tensorflow", "cupy"]
Shapes = Literal["few", "any"]
Reduction = Literal["mean", "sum"]
Masks = Literal["visible", "hidden", "-inf", "min"]


class _Named(Protocol):
    """A dtype of NumPy or TensorFlow."""

    @property
    def name(self) -> str: ...


class _OfBytes(Protocol):
    """A dtype of torch."""

    @property
    def itemsize(self) -> int: ...


class _Sized(Protocol):
    """A dtype of MLX."""

    @property
    def size(self) -> int: ...


# str is not among these, so that a misspelt name is refused.
Dtype = Union[DtypeName, "type[Any]", _Named, _OfBytes, _Sized]


class InferArguments(TypedDict, total=False):
    """Keyword arguments of infer(): those of check(), without contract and replay."""

    domain: str | Sequence[str] | None
    require: str | Sequence[str] | None
    exempt: str | Sequence[str] | None
    effort: Effort
    budget: float | None
    max_calls: int | None
    seed: int | None
    cases: int | None
    max_length: int | None
    time_limit: float
    load_limit: float
    out_dtype: Dtype | None
    arrays: Arrays | None
    takes: Mapping[str, str] | Sequence[str] | None
    masks: Masks
    mask_mod: Callable[..., Any] | None
    score_mod: Callable[..., Any] | None
    out: bool
    outputs: int
    strides: bool
    refuses: Sequence[type[BaseException]]
    device: str | None
    shapes: Shapes | None
    isolation: Isolation
    warm_up: bool
    autograd: bool
    progress: bool | None


class CheckArguments(InferArguments, total=False):
    """Keyword arguments of check()."""

    contract: str | Sequence[str] | None
    replay: str | None


class KernelArguments(CheckArguments, total=False):
    """Keyword arguments of @softcheck.kernel."""

    dtype: Dtype
