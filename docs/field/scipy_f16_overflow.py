"""scipy 1.17.1: softmax, log_softmax and logsumexp of 65,520 equal float16 logits: the sum overflows.

class: wrong
kernels: special.softmax float16; special.log_softmax float16; special.logsumexp float16
"""
import sys, mpmath, numpy, scipy
from scipy.special import log_softmax, logsumexp, softmax

numpy.seterr(all="ignore")
x = numpy.zeros(65520, numpy.float16)
log = mpmath.log(65520)
rows = [("softmax", softmax(x)[0], mpmath.mpf(1) / 65520), ("log_softmax", log_softmax(x)[0], -log), ("logsumexp", logsumexp(x), log)]
for name, got, exact in rows:
    print(f"{name}(zeros(65520, float16)) | {got} | {mpmath.nstr(exact, 8)}")
there = any(not abs(float(got) / exact - 1) < 0.01 for _, got, exact in rows)
sys.exit(0 if there else f"not there in scipy {scipy.__version__}")
