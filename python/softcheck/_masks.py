"""Masks in the form in which a function takes them, and what a function knows without being passed it: FlexAttention's
mask_mod and score_mod."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Sequence

import numpy as np

from . import _arrays
from ._dtypes import OF_BITS
from ._library import UsageError, describe, shown

ADDED = ("-inf", "min")
"""The forms that are added to the scores."""


def _hidden_bits(dtype: str, form: str) -> int:
    """The bits of -inf or of the lowest number, of a format that NumPy lacks."""
    of = next(one for one in describe()["dtypes"] if one["name"] == dtype)
    end = 1 << of["bits"]
    if not of["infinity"]:
        return end - 2  # all ones is the NaN
    infinity = end - (1 << (of["precision"] - 1))
    return infinity if form == "-inf" else infinity - 1


def passed(mask: np.ndarray, form: str, dtype: str, arrays: str) -> Any:
    """The mask, True = visible, as the array or the function that a call gets. dtype is that of the call's arrays."""
    if form not in ADDED:
        return _arrays.from_bits(~mask if form == "hidden" else mask, "bool", arrays)
    kind = _arrays.bits_dtype(dtype)
    if dtype in OF_BITS:
        hidden = _hidden_bits(dtype, form)
    else:
        hidden = -np.inf if form == "-inf" else np.finfo(kind).min
    return _arrays.from_bits(np.where(mask, kind.type(0), kind.type(hidden)), dtype, arrays)


def require_form(form: Any, known: Sequence[str], dtype: str, takes_mask: bool) -> str:
    if form not in known:
        raise UsageError(f"masks: need one of {', '.join(known)}, got {shown(form)}")
    if form != "visible" and not takes_mask:
        raise UsageError(f"masks: need a function that takes a mask, got {form!r} for one that takes none")
    if form == "-inf" and dtype == "e4m3":
        raise UsageError("masks: need a dtype with an infinity for '-inf', got e4m3; 'min' is -448")
    return form


class Known:
    """What mask_mod and score_mod say of calls of given lengths: batch, heads, queries, keys.

    error   the first exception of one of them, with its name
    """

    def __init__(self, mask_mod: Callable[..., Any] | None, score_mod: Callable[..., Any] | None, dtype: str, arrays: str, device: str | None) -> None:
        self._mask_mod, self._score_mod, self._arrays, self._device = mask_mod, score_mod, arrays, device
        self._kind = np.dtype(np.float64 if dtype == "f64" else np.float32)
        self.error: tuple[str, BaseException] | None = None
        self.names = ("mask",) + (("bias",) if score_mod is not None else ())

    def mask(self, lengths: tuple[int, ...]) -> np.ndarray:
        seen = np.ones(lengths, bool) if self._mask_mod is None else self._over(self._mask_mod, lengths).astype(bool)
        return seen if self._score_mod is None else seen & (self._added(lengths) > -np.inf)

    def bias(self, lengths: tuple[int, ...]) -> np.ndarray:
        added = self._added(lengths)
        return np.where(added > -np.inf, added, 0)

    def _added(self, lengths: tuple[int, ...]) -> np.ndarray:
        """What score_mod adds to each score; -inf where it hides a key."""
        of_zero, *others = (self._over(self._score_mod, lengths, score).astype(float) for score in (0, 1, -3))
        room = 8 * np.finfo(self._kind).eps * (4 + np.abs(of_zero))
        for score, got in zip((1, -3), others):
            with np.errstate(invalid="ignore"):
                wrong = ~((np.abs(got - score - of_zero) <= room) | ((got == -np.inf) & (of_zero == -np.inf)))
            if wrong.any():
                at = np.unravel_index(wrong.argmax(), lengths)
                raise UsageError(
                    f"score_mod: need one that adds a number to every score, got {of_zero[at]:g} for a score of 0 and {got[at]:g} for {score} "
                    f"at b, h, q_idx, kv_idx = {', '.join(map(str, at))}; a softcap is the domain's word softcap"
                )
        return of_zero

    def _array(self, array: np.ndarray) -> Any:
        result = _arrays.from_bits(array, "f64" if array.dtype == np.float64 else "f32" if array.dtype == np.float32 else "i64", self._arrays)
        return result if self._device is None else result.to(self._device)

    def _over(self, function: Any, lengths: tuple[int, ...], score: float | None = None) -> np.ndarray:
        """The function's values: of arrays of indices, or one by one if it cannot take these."""
        indices = np.ogrid[tuple(slice(n) for n in lengths)]
        scores = [] if score is None else [self._array(np.full(lengths, score, self._kind))]
        try:
            return np.broadcast_to(self._values(function(*scores, *map(self._array, indices))), lengths)
        except Exception:  # it has branches, say; if the fault is another, the calls below have it as well
            one = [] if score is None else [self._array(np.array(score, self._kind))]
            values = [self._values(function(*one, *at)) for at in np.ndindex(*lengths)]
            return np.array(values).reshape(lengths)

    def _values(self, result: Any) -> np.ndarray:
        return np.asarray(result) if isinstance(result, (bool, int, float)) else _arrays.to_bits(result)[0]

    def filler(self, name: str, give_up: Callable[[], None]) -> Callable[..., int]:
        """The library's callback that fills an array with mask() or bias()."""

        def fill(_context: Any, given: Any, numbers: Any) -> int:
            lengths = tuple(given[d] for d in range(4))
            try:
                values = getattr(self, name)(lengths)
                kind = ctypes.c_uint8 if name == "mask" else ctypes.c_double
                np.ctypeslib.as_array(ctypes.cast(numbers, ctypes.POINTER(kind)), lengths)[...] = values
            except BaseException as error:  # noqa: BLE001: it must not cross into C
                self.error = self.error or ("mask_mod" if name == "mask" and self._mask_mod is not None else "score_mod", error)
                give_up()
            return 0

        return fill

    def raise_error(self) -> None:
        if self.error is None:
            return
        name, error = self.error
        if isinstance(error, UsageError):
            raise error
        of = "b, h, q_idx, kv_idx" if name == "mask_mod" else "score, b, h, q_idx, kv_idx"
        raise UsageError(f"{name}: need a function of ({of}), got one that raised {type(error).__name__}: {error}") from error
