# Horner's rule for the quartic of adaptive temperature (paper Fig. 4) in binary32, a fused multiply-add a step:
# |computed - exact| for every entropy H of the format in [0.5, 6]. The coefficients are stored in the format; the exact
# polynomial keeps the paper's.
@rnd = float<ieee_32, ne>;
H = rnd(any_H);
c4 = rnd(-0.037); c3 = rnd(0.481); c2 = rnd(-2.3); c1 = rnd(4.917); c0 = rnd(-1.791);
s3 = rnd(c4 * H + c3);
s2 = rnd(s3 * H + c2);
s1 = rnd(s2 * H + c1);
p = rnd(s1 * H + c0);
# The same steps without rounding.
e3 = -0.037 * H + 0.481;
e2 = e3 * H + -2.3;
e1 = e2 * H + 4.917;
exact = e1 * H + -1.791;

{ H in [0.5, 6] -> |p - exact| <= 599e-8 }

$ H in 24;
