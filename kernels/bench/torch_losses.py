"""torch_losses.py LIBRARY [--quick]: cross-entropy with its gradient, ours against torch's eager pair, one thread, f32.

LIBRARY is libsoftcheck_cpu_kernels.so. Both take the mean loss of the rows and its gradient by the logits: torch by
F.cross_entropy and backward(), ours by softcheck_cross_entropy_mean and softcheck_cross_entropy_mean_backward. They
take turns in one process; each figure is the least processor time of the rounds. Printed: torch's time over ours.
Needs torch (Debian: python3-torch; PyPI: torch) and the package softcheck
(PYTHONPATH=python SOFTCHECK_LIBRARY=build/release/libsoftcheck.so in a checkout), which has the call's structures.
"""

import sys
import time

from turns import INT, Kernel, least_seconds, stop, tensor_of, torch_and

ROLE_LOGITS, ROLE_LABELS, ROLE_UPSTREAM = 0, 10, 12
OP_MEAN, OP_MEAN_BACKWARD = 18, 19


def compare(torch, library, rows, classes, rounds):
    """Prints a line: torch's seconds over ours for one shape, and how far apart the results are."""
    logits = torch.randn(rows, classes, generator=torch.Generator().manual_seed(1)) * 4
    labels = torch.randint(0, classes, (rows,), generator=torch.Generator().manual_seed(2))
    own_loss, own_gradient, upstream = torch.zeros(1), torch.zeros(rows, classes), torch.ones(1)
    x, y = tensor_of(logits), tensor_of(labels, INT)
    words = {"mean": 1, "ignore_index": -100}
    forward = Kernel(
        library, "softcheck_cross_entropy_mean", [x, y], [tensor_of(own_loss)], op=OP_MEAN, roles=(ROLE_LOGITS, ROLE_LABELS), **words)
    backward = Kernel(
        library, "softcheck_cross_entropy_mean_backward", [x, y, tensor_of(upstream)], [tensor_of(own_gradient)],
        op=OP_MEAN_BACKWARD, roles=(ROLE_LOGITS, ROLE_LABELS, ROLE_UPSTREAM), **words)
    leaf = logits.clone().requires_grad_()
    theirs = {}

    def eager():
        leaf.grad = None
        loss = torch.nn.functional.cross_entropy(leaf, labels)
        loss.backward()
        theirs["loss"] = float(loss.detach())

    def ours():
        forward()
        backward()

    own, eager_pair = least_seconds([ours, eager], rounds, time.process_time)
    apart = abs(float(own_loss) - theirs["loss"]), float((own_gradient - leaf.grad).abs().max())
    print(f"{rows:6} x {classes:6}  ours {1e3 * own:8.1f} ms  torch {1e3 * eager_pair:8.1f} ms  torch / ours {eager_pair / own:5.2f}"
          f"  apart: loss {apart[0]:.1e}, gradient {apart[1]:.1e}")


def main(arguments):
    quick = "--quick" in arguments
    arguments = [argument for argument in arguments if argument != "--quick"]
    if len(arguments) != 1:
        stop("need the path of libsoftcheck_cpu_kernels.so, and --quick for small shapes once")
    torch, library = torch_and(arguments[0])
    print(f"torch {torch.__version__}, one thread, f32: mean loss and its gradient by the logits")
    for rows, classes in ((4, 257),) if quick else ((512, 32000), (128, 128256), (4096, 1024)):
        compare(torch, library, rows, classes, rounds=1 if quick else 10)


if __name__ == "__main__":
    main(sys.argv[1:])
