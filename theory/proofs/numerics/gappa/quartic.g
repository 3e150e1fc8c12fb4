# Horner's rule for the quartic of adaptive temperature (paper Fig. 4): |computed - exact| for every entropy H of the format
# in [0.5, 6]. The coefficients are stored in the format; the exact polynomial keeps the paper's.
@rnd = float<FORMAT, ne>;
H = rnd(any_H);
c4 = rnd(-0.037); c3 = rnd(0.481); c2 = rnd(-2.3); c1 = rnd(4.917); c0 = rnd(-1.791);
s3 = rnd(rnd(c4 * H) + c3);
s2 = rnd(rnd(s3 * H) + c2);
s1 = rnd(rnd(s2 * H) + c1);
p = rnd(rnd(s1 * H) + c0);
# The same steps without rounding.
e3 = -0.037 * H + 0.481;
e2 = e3 * H + -2.3;
e1 = e2 * H + 4.917;
exact = e1 * H + -1.791;

{ H in [0.5, 6] -> |p - exact| <= BOUND }

$ H in PIECES;
