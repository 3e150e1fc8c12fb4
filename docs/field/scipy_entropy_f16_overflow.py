"""scipy 1.17.1: stats.entropy of 65,520 equal float16 probabilities is 0: the sum that normalises them overflows.

class: wrong
kernels: stats.entropy of exp(x - max) float16
"""
import sys, mpmath, numpy, scipy, scipy.stats

numpy.seterr(all="ignore")
got = scipy.stats.entropy(numpy.ones(65520, numpy.float16))
exact = mpmath.log(65520)
print(f"stats.entropy(ones(65520, float16)) | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if not abs(float(got) - exact) < 0.1 else f"not there in scipy {scipy.__version__}")
