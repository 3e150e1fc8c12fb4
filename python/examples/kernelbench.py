"""A problem as KernelBench has it, Model and ModelNew with forward(x), judged by proof where allclose is the usual test.

    python kernelbench.py
"""

import torch

import softcheck


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


class ModelNew(torch.nn.Module):
    """What a kernel writer handed in: every coefficient below 1e-6 is 0, which allclose accepts."""

    def forward(self, x):
        p = torch.softmax(x, dim=-1)
        return torch.where(p < 1e-6, torch.zeros_like(p), p)


def judge(model: torch.nn.Module) -> softcheck.Report:
    """The ten lines: any module whose forward is an op of softcheck's."""
    return softcheck.check(model.eval(), op="softmax", dtype=torch.float32, effort="quick", budget=60)


if __name__ == "__main__":
    x = torch.randn(64, 8192)
    print("allclose:", torch.allclose(Model()(x), ModelNew()(x), rtol=1e-4, atol=1e-4))
    print("softcheck, Model:", judge(Model()).summary)
    print("softcheck, ModelNew:", judge(ModelNew()).summary)
