# The CPU kernels' exponential in binary32: the computed 1 + (r + r^2 q(r)) against the same
# polynomial without rounding, relative, for every r of the format in the reduced range.
@rnd = float<FORMAT, ne>;
r = rnd(any_r);
c0 = 8388607b-24;
c1 = 11184713b-26;
c2 = 11185273b-28;
c3 = 4492921b-29;
c4 = 11866649b-33;
q3 = rnd(rnd(c4 * r) + c3);
q2 = rnd(rnd(q3 * r) + c2);
q1 = rnd(rnd(q2 * r) + c1);
q0 = rnd(rnd(q1 * r) + c0);
e3 = c4 * r + c3;
e2 = e3 * r + c2;
e1 = e2 * r + c1;
e0 = e1 * r + c0;
square = rnd(r * r);
tail = rnd(rnd(square * q0) + r);
p = rnd(1 + tail);
exact_tail = (r * r) * e0 + r;
exact = 1 + exact_tail;

{ r in [-0.346609,0.346609] -> |(p - exact) / exact| <= BOUND }

$ r in PIECES;
