"""The field report: judges the softmax and attention kernels of the libraries that are installed.

    python -m softcheck.field                       all libraries found; docs/field.md is made again
    python -m softcheck.field torch scipy --budget 20
"""
