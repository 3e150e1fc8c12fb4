"""check and infer."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import numpy as np

from . import _arrays, _library
from ._adapter import adapter_of, isolation_of, name_of
from ._again import again, name_in_its_program
from ._as_test import Told
from ._compiled import advice, compiles
from ._domain import domain_of, tries_empty_rows, with_shapes
from ._dtypes import FORMAT_NAMES
from ._function import Adapter, ForkedCall, Request, op_named, require_device, words_of
from ._library import UsageError, number
from ._masks import Known
from ._ops import OPS, SEQUENCE_WORDS
from ._parameters import left_at_defaults, own_argument
from ._results import tolerances_of
from ._words import Arrays, Dtype, Effort, InferArguments, Isolation, Masks, OpName, Shapes
from ._worker import SpawnedCall
from .report import Report, report_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


def version() -> str:
    """The library's version and commit: "0.3.0 (commit 0123456789ab)"."""
    return _library.version()


def _require_callable_with(adapter: Adapter) -> None:
    """Raises UsageError if no call can reach the function, since its signature takes other arguments.

    A signature that cannot be read, as of builtins, is not checked: the calls will show errors.
    """
    names = list(adapter.called_with)
    keywords = [*adapter.takes.values(), *adapter.follow]
    try:
        # The function itself is called, not the function that it wraps.
        signature = inspect.signature(adapter.function, follow_wrapped=False)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names, **dict.fromkeys(keywords))
    except TypeError as error:
        passed = ", ".join([*names, *(f"{keyword}=" for keyword in keywords)])
        name = getattr(adapter.function, "__name__", type(adapter.function).__name__)
        raise UsageError(
            f"function: need one that {adapter.op.name} can call with ({passed}), got {name}{signature}: {error}"
        ) from None


def _call_once(adapter: Adapter, dtype: str) -> None:
    """In this process, before it is judged: for functions that are compiled at their first call."""
    op, kind = adapter.op, _arrays.bits_dtype(dtype)
    wide = "f64" if dtype == "f64" else "f32"

    def zeros(*shape: int, dtype: str = dtype) -> tuple[np.ndarray, str]:
        return np.zeros(shape, _arrays.bits_dtype(dtype)), dtype

    shape = (1, 1, 4, 16) if op.is_attention else (4, 16)
    inputs = [zeros(1, dtype=wide) if name == "lambdas" else zeros(*shape) for name in op.inputs]
    results = [zeros(*shape[:-1]) if op.row_values else zeros(*shape)]
    if op.is_linear:
        inputs = [zeros(4, 16), zeros(8, 16), (np.zeros(4, np.int64), "i64"), (np.ones(4, kind), dtype)][: len(op.inputs)]
        results = [zeros(4, dtype=wide)] if op.row_values else [zeros(4, 16), zeros(8, 16)]
    elif op.is_loss:
        inputs[1] = (np.zeros(4, np.int64), "i64")
        inputs[2:] = [(np.ones(1 if op.of_calls else 4, kind), dtype) for _ in inputs[2:]]
    if {"targets", "teacher"} & set(op.inputs):
        inputs[2:] = [(np.ones(4, kind), dtype) for _ in inputs[2:]]
    if op.of_calls and op.row_values:
        results = [zeros(1)]
    if op.is_attention_gradient:
        inputs[4] = zeros(*shape[:-1], dtype=wide)
        results = [zeros(*shape) for _ in range(3)]
    if op.merges:  # two parts of four rows
        inputs = [zeros(2, 4, 16), zeros(2, 4, dtype=wide)]
        results = [zeros(4, 16), zeros(4, dtype=wide)]
    if op.chooses:  # two of the items of four rows
        results = [zeros(4, 2, dtype=wide), (np.zeros((4, 2), np.int32), "i32")]
    attributes = {name: usual for name, usual in op.attributes.items() if usual is not None}
    attributes |= {**adapter.own, "k": 2}
    words = {SEQUENCE_WORDS.get(name) for name in adapter.takes}
    if words & {"packed", "pages"}:  # one sequence of four queries and four keys
        starts, one = (np.array([0, 4], np.int32), "i32"), (np.zeros((1, 1), np.int32), "i32")
        tokens = zeros(4, 1, 16)
        inputs = [tokens if "packed" in words else inputs[0]] + [zeros(1, 4, 1, 16) if "pages" in words else tokens] * 2
        results = [zeros(*inputs[0][0].shape)]
        if op.is_attention_gradient:
            inputs += [tokens, zeros(1, 4, dtype=wide), tokens]
            results = [zeros(4, 1, 16) for _ in range(3)]
        attributes |= {"cu_seqlens_q": starts} if "packed" in words else {}
        attributes |= {"block_table": one, "lengths": (np.array([4], np.int32), "i32")} if "pages" in words else {}
        attributes |= {} if "pages" in words else {"cu_seqlens_k": starts}
    request = Request(inputs, None, results, 1.0, 0.25, False, attributes)
    with contextlib.suppress(Exception):  # the judgement will show its errors
        adapter.answer(request)


def _seconds(name: str, value: Any) -> float:
    seconds = number(name, value)
    if not seconds > 0:
        raise UsageError(f"{name}: need a number > 0, got {_library.shown(value)}")
    return seconds


def _show_progress(name: str, done: int, cases: int, seconds: float) -> None:
    line = f"{done} of {cases} cases, {seconds:.0f} s: {name}" if name else ""
    print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _notes_on(data: Mapping[str, Any], adapter: Adapter) -> list[str]:
    """Notes on features of the failing call that the function may not support. Writes the labels' actual dtype to
    data."""
    inputs = (data.get("counterexample") or {}).get("inputs") or []
    shapes = tuple(tuple(tensor["shape"]) for tensor in inputs)
    if adapter.op.is_attention and inputs and "block_table" not in adapter.takes:
        if own_argument("enable_gqa", shapes) and "group<=" not in data["text"] and "this call has grouped heads" not in data["text"]:
            return [f"the failing call has grouped heads, {shapes[0][1]} of q and {shapes[1][1]} of k; domain='group=1' leaves such calls out"]
    if adapter.op.is_loss and inputs and adapter.long_labels:
        inputs[adapter.op.inputs.index("labels")]["dtype"] = "i64"
    return []


def _judge(function: Callable[..., Any] | str, infer_contract: bool, given: dict[str, Any]) -> Report:
    """given: the other arguments of check()."""
    op = op_named(given["op"])
    domain, effort, shapes, isolation = words_of("domain", given["domain"]), given["effort"], given["shapes"], given["isolation"]
    name = _arrays.dtype_of(given["dtype"])
    words: dict[str, Any] = {
        "op": op.name,
        "dtype": name,
        "out_dtype": None if given["out_dtype"] is None else _arrays.dtype_of(given["out_dtype"], "out_dtype"),
        "contract": words_of("contract", given["contract"]),
        "require": words_of("require", given["require"], ","),
        "exempt": words_of("exempt", given["exempt"]),
        **{option: given[option] for option in ("effort", "budget", "max_calls", "seed", "cases", "max_length", "replay")},
        **{limit: _seconds(limit, given[limit]) for limit in ("time_limit", "load_limit")},
    }
    progress = given["progress"]
    if progress is None:
        progress = sys.stderr.isatty()
    shown = _show_progress if progress else None
    if isinstance(function, str) and ":" in function:
        words["domain"] = with_shapes(shapes, "", op, domain, effort)
        words["isolation"] = {"auto": "full", "fork": "full"}.get(isolation, isolation)
        mods = given["mask_mod"], given["score_mod"]
        known = Known(*mods, name, "numpy", None) if any(mod is not None for mod in mods) else None
        return report_of(_library.judge(function, words, infer_contract, shown, known))
    if not callable(function):
        raise UsageError(f"function: need a function or 'LIB:SYMBOL', got {_library.shown(function)}")
    adapter = adapter_of(
        function,
        op,
        *(given[name] for name in ("dtype", "arrays", "takes", "out", "outputs", "refuses", "device", "autograd", "masks")),
        (given["mask_mod"], given["score_mod"]),
    )
    known = Known(given["mask_mod"], given["score_mod"], name, adapter.arrays, adapter.device) if adapter.knows else None
    # A replay names its own call.
    empty_rows = given["replay"] is not None or tries_empty_rows(op, domain)
    words["domain"] = domain_of(adapter, with_shapes(shapes, adapter.arrays, op, domain, effort), given["strides"], empty_rows)
    _require_callable_with(adapter)
    words["name"] = name_of(function)
    words["again"] = again(function, given, check.__kwdefaults__)
    how = isolation_of(isolation, adapter)
    words["isolation"] = {"fork": "full", "spawn": "elsewhere", "none": "none"}[how]
    if how == "none" and adapter.device is not None:
        require_device(adapter.device)
    if given["warm_up"]:
        _call_once(adapter, name)
    with contextlib.ExitStack() as stack:
        call: Any
        if how == "spawn":
            call = stack.enter_context(SpawnedCall(adapter, words["time_limit"], words["load_limit"]))
        else:
            call = ForkedCall(adapter, in_process=how == "none")
        data = _library.judge(call, words, infer_contract, shown, known)
    if shown is not None:
        shown("", 0, 0, 0)
    notes = [] if given["takes"] is not None else [left_at_defaults(function, op, adapter.takes, adapter.follow)]
    notes += _notes_on(data, adapter)
    if how == "fork" and data["verdict"] in ("crash", "timeout", "undecided") and compiles(function):
        notes.append(advice(words["time_limit"]))
    notes += [] if empty_rows else ["empty rows are left out, as n>=1 is the default; domain='n>=0' tries them"]
    for note in filter(None, notes):  # below the line of the whole judgement, which is the last one
        data["text"] = f"{data['text'].rstrip()}\n      {note}\n"
    told = Told(
        function=name_in_its_program(function),
        op=op.name,
        arrays=adapter.arrays,
        takes=adapter.takes,
        device=adapter.device,
        exempt=words["exempt"],
        contract=data.get("contract") if infer_contract else words["contract"],
        again=next(iter(re.findall(r"replay: (softcheck\.check\(.*\))$", data["text"], re.M)), ""),
        claim=data["summary"].split(": ")[-1].split(" ")[0],
        follow=adapter.follow,
        autograd=adapter.autograd,
        as_it_is=adapter.masks == "visible" and not adapter.knows and "heads=interleaved" not in words["domain"],
    )
    return report_of(data, adapter.arrays, told, functools.partial(tolerances_of, op.name, data.get("contract"), (), {}))


def check(
    function: Callable[..., Any] | str,
    op: OpName = "softmax",
    dtype: Dtype = "float32",
    *,
    contract: str | Sequence[str] | None = None,
    domain: str | Sequence[str] | None = None,
    require: str | Sequence[str] | None = None,
    exempt: str | Sequence[str] | None = None,
    effort: Effort = "quick",
    budget: float | None = None,
    max_calls: int | None = None,
    seed: int | None = None,
    cases: int | None = None,
    max_length: int | None = None,
    time_limit: float = 10,
    load_limit: float = 120,
    out_dtype: Dtype | None = None,
    arrays: Arrays | None = None,
    takes: Mapping[str, str] | Sequence[str] | None = None,
    masks: Masks = "visible",
    mask_mod: Callable[..., Any] | None = None,
    score_mod: Callable[..., Any] | None = None,
    out: bool = False,
    outputs: int = 1,
    strides: bool = True,
    refuses: Sequence[type[BaseException]] = (),
    device: str | None = None,
    shapes: Shapes | None = None,
    isolation: Isolation = "auto",
    warm_up: bool = False,
    autograd: bool = False,
    replay: str | None = None,
    progress: bool | None = None,
) -> Report:
    """Judges a kernel by its contract: the largest error that each value of each row may have, and the other rules
    that the kernel must keep. It tries rows, masks, temperatures and NaNs of all kinds.

    function    a function of arrays, with the arguments and results of the table below. It returns arrays of the same
                dtype, or with out=True fills the one that it gets as out. Or "LIB:SYMBOL" of a C plug-in
    op          one of describe()'s: {ops}
    dtype       of the arrays: {dtypes}, or a library's own
    contract    what the kernel promises of its arithmetic: "acc=f32 exp=2ulp sum=tree masked=zero"
    domain      the calls that the kernel is made for: "n=16k n<=8192"; all calls inside it are judged. Words like
                theta=1 and nomask follow from the parameters that the function lacks. For rows the default is n>=1;
                "n>=0" tries empty rows as well
    require     "deterministic,batch-invariant"
    exempt      claims that the kernel is known to break
    effort      "quick" (seconds), "default", "deep"; "exhaustive": all arguments of softmax, log_softmax, logsumexp or
                entropy, all scores of attention in 16 and 8 bits (minutes), as docs/kernels/exhaustive.md lists them
    budget      seconds for the whole judgement, which then ends with what it has found so far
    max_calls   calls of the function at most, for a slow function. The judge chooses cases so that each property has
                some, and the report lists what was left out under "not tried". 100 is a good first number; quick makes
                900 to 1,900 calls. The calls of infer() that find the contract are not counted
    time_limit, load_limit  seconds for one call, and for a spawned process to import the function
    out_dtype   of row values (logsumexp, entropy, attention's lse): by default float32 for 16-bit inputs
    arrays      what the function takes: "numpy", "torch", "jax", "mlx", "tensorflow", "cupy"; by default the library
                of dtype or of the function itself, else numpy
    takes       the parameters of the table below that the function takes, as names or as {"mask": "attn_mask"}. By
                default those in its signature; a wrapper f(*args, **kwargs) needs takes
    masks       the form of the masks that the function takes: "visible" (True = visible), "hidden" (True = hidden),
                "-inf" or "min" (an array of the inputs' dtype that it adds to the scores: 0, or -inf or the lowest
                number where an item is hidden; the domain then has nan=visible)
    mask_mod, score_mod   of attention that applies a mask of its own, or adds something to the scores, as in FlexAttention:
                mask_mod(b, h, q_idx, kv_idx) is True where a query sees a key, score_mod(score, b, h, q_idx,
                kv_idx) adds a number, or returns -inf. The judge calls them to learn both, and the function itself
                without a mask. Calls whose numbers the dtype cannot hold exactly are left out
    outputs     number of arrays that the function returns. Attention: 2 adds lse, 3 also entropy. attention_backward:
                4 adds dsinks, 5 also dbias (or the domain has the words dsinks, dbias). merge_states and topk_softmax
                always return two
    strides     whether arrays may be views with strides, such as slices and transposes. False: all are compact, for a
                function that needs contiguous memory and does not check for it
    refuses     exceptions by which the function refuses a call; any other is a crash
    device      where torch's arrays lie, such as "cuda". CuPy's and JAX's arrays lie on the default device of these
                libraries. Results are copied to the CPU after the work of the current stream: a function that uses
                another stream must wait for it
    shapes      "few": at most 40 shapes in all, for a function that is compiled for each shape; the lengths that the
                domain names are kept. "any": no such limit. By default "few" for JAX, else "any"
    isolation   "fork" (a contained copy of this process), "spawn" (a fresh interpreter), "none" (in this process,
                which a crash then ends); "auto" forks, but spawns for JAX, MLX, TensorFlow, CuPy and devices
    warm_up     calls the function once in this process first: for a function that is compiled at its first call
    autograd    the function is the forward one, of torch's arrays, and torch.autograd computes the gradients that are
                judged: check(attention, op="attention_backward", autograd=True). Also for the backward ops of losses and divergences
    replay      a counterexample's replay: judges that case alone
    progress    on standard error; by default if that is a terminal

    Arguments and results of the function:

    softmax and its family      logits (rows, n), along the last axis; a gradient: the saved output and the upstream
                                gradient, each (rows, n)
    cross_entropy               logits (rows, V), labels (rows) of int32 or int64; its gradient: also upstream (rows)
    soft_cross_entropy          logits, targets, both (rows, V); its gradient: also upstream (rows)
    kl_divergence               logits, teacher (its logits), both (rows, V); its gradient: also upstream (rows)
    linear_cross_entropy        hidden (rows, dim), weight (V, dim), labels (rows); returns the losses (rows), float32
                                (float64 for float64); its gradient: also upstream (rows), and returns dhidden, dweight
    merge_states                out (parts, rows, dim), lse (parts, rows); returns out (rows, dim), lse (rows)
    topk_softmax                logits (rows, n); returns weights (rows, k), float32 (float64 for float64 logits), and
                                ids (rows, k), int32 or int64
    top_p_softmax               logits (rows, n); returns the softmax of the kept items, 0 elsewhere
    attention                   q, k, v, each (batch, heads, length, dim); returns out, lse and entropy, as many as
                                outputs says
    sigmoid_attention           q, k, v as of attention; returns out
    differential_attention      q, k, v, q2 (like q), k2 (like k), lambdas (heads), float32 (float64 for float64); returns
                                out
    attention_backward          q, k, v; out of the forward pass, like q with v's dim, and its lse (batch, heads,
                                queries), float32 (float64 for float64); the loss's gradient by out. Returns dq, dk,
                                dv, then dsinks (heads), float32 (float64 for float64), in calls with sinks, and dbias,
                                of the bias's shape, in calls with a bias
    packed sequences            with cu_seqlens_q or cu_seqlens_k all calls are packed: q, k, v (total, heads, dim);
                                attention_backward's lse is (heads, total)
    pages                       with block_table k and v are (pages, page size, kv heads, dim); not attention_backward

    Parameters that the function may take:

    ops that have them          mask (bool, True = visible, or None in a call without a mask), theta, scale, causal;
                                out
    losses                      label_smoothing, z_loss, softcap (0: none), class_weights ((n) of the logits' dtype, or
                                None), ignore_index (-100 for a function that does not take it); theta: x = logits /
                                theta, and calls then have no softcap
    cross_entropy_mean(_backward)  reduction ("mean" or "sum"; for a function that does not take it "mean", unless the
                                domain says reduction=sum)
    kl_divergence               reverse (False for a function that does not take it, unless the domain says kl=reverse);
                                theta: both distributions are of logits / theta
    linear_cross_entropy        ignore_index, which is -100; the domain noignored has no such labels
    merge_states                lse_base2 (False for a function that does not take it, unless the domain says base=2)
    topk_softmax                k (for a function that does not take it the domain's, k=2), renormalize (False, unless
                                the domain says renormalize=1). A router: bias ((n), float32 or float64), sigmoid, groups,
                                groups_kept, group_items, routed_scale. A function that takes one is judged as a router;
                                for one that has its own the domain says scores=sigmoid, groups=8, kept=4, group_items=2
    top_p_softmax               top_p, min_p (0: off, also for a function that does not take it), k (0: off) and
                                renormalize (top_p is a share of the k largest). With the domain's word per_row they
                                and theta are arrays (rows)
    attention and its gradient  window (left, right): the number of keys that a query sees on each side of its own
                                position, -1 for all; softcap (0: none); sinks and alibi_slopes ((heads) or None); bias
                                ((batch, heads or 1, queries, keys) or None); causal_top_left; dropout_mask (batch,
                                heads, queries, keys; True = kept, or None) and dropout_scale
    sigmoid_attention           those of attention, and sigmoid_bias, a float (-ln(keys) for a function that does not
                                take it)
    attention_backward          lse_gradient (like lse, or None: ds = p (g - delta + lse_gradient))
    packed sequences            cu_seqlens_q, cu_seqlens_k (int32, where each sequence begins, and the end),
                                max_seqlen_q, max_seqlen_k (the largest lengths)
    pages                       block_table (batch, columns), lengths (batch)

    Names of torch are understood: attn_mask is mask, and is_causal is causal with query i at key i; a call with both
    passes one attn_mask that contains both. dim and axis of rows are -1; reduction is
    "none" for a loss of each row. enable_gqa is True in calls of grouped heads.

    Raises UsageError for a wrong argument.
    """
    arguments = dict(locals())
    return _judge(arguments.pop("function"), False, arguments)


if check.__doc__:  # python -OO has none
    check.__doc__ = check.__doc__.replace("{ops}", ", ".join(OPS)).replace("{dtypes}", FORMAT_NAMES)


def infer(
    function: Callable[..., Any] | str, op: OpName = "softmax", dtype: Dtype = "float32", **arguments: Unpack[InferArguments]
) -> Report:
    """Finds the standard contract that a kernel keeps, and judges the kernel by it: report.contract, None if none
    fits.

    The arguments are those of check(), without contract and replay. The rows that were tried broke no word of the
    contract; that is no proof for other rows.
    """
    defaults: dict[str, Any] = dict(check.__kwdefaults__)
    for name in ("contract", "replay"):
        if name in arguments:
            raise UsageError(f"infer: finds the contract: need no {name}")
    unknown = [name for name in arguments if name not in defaults]
    if unknown:
        raise TypeError(f"infer() got an unexpected keyword argument {unknown[0]!r}")
    return _judge(function, True, {"op": op, "dtype": dtype, **defaults, **arguments})
