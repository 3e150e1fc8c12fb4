"""sklearn 1.9.1: extmath.softmax of 65,520 equal float16 logits is 0 throughout: the sum overflows.

class: wrong
kernels: utils.extmath.softmax float16
"""
import sys, mpmath, numpy, sklearn
from sklearn.utils.extmath import softmax

numpy.seterr(all="ignore")
got = softmax(numpy.zeros((1, 65520), numpy.float16))[0, 0]
exact = mpmath.mpf(1) / 65520
print(f"softmax(zeros((1, 65520), float16))[0, 0] | {got} | {mpmath.nstr(exact, 8)}")
sys.exit(0 if not abs(float(got) / exact - 1) < 0.01 else f"not there in sklearn {sklearn.__version__}")
