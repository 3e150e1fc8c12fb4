"""A Pallas kernel, interpreted on the CPU, judged by softcheck; and one with a planted bug: pads that score 0.

    python python/examples/pallas_softmax.py
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

import softcheck

LANES = 128


def _rows(x_ref, out_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


@functools.partial(jax.jit, static_argnames="pad")
def _padded(x, pad):
    """Rows of whole lanes; what fills them counts as a logit of `pad`."""
    rows, n = x.shape
    if rows == 0 or n == 0:
        return x
    wide = jnp.pad(x, ((0, 0), (0, -n % LANES)), constant_values=pad)
    block = pl.BlockSpec((1, wide.shape[1]), lambda row: (row, 0))
    kernel = pl.pallas_call(
        _rows,
        out_shape=jax.ShapeDtypeStruct(wide.shape, x.dtype),
        grid=(rows,),
        in_specs=[block],
        out_specs=block,
        interpret=True,
    )
    return kernel(wide)[:, :n]


def softmax(x):
    return _padded(x, -float("inf"))


def softmax_with_pads_of_zero(x):
    return _padded(x, 0.0)


def judge(function, **arguments):
    return softcheck.check(function, arrays="jax", contract="exp=2ulp sum=tree", **arguments)


if __name__ == "__main__":
    for function in (softmax, softmax_with_pads_of_zero):
        print(function.__name__, judge(function).summary)
