# The double filter's exponential: the computed 1 + (r + r^2 q(r)) against the same
# polynomial without rounding, relative, for every r of the format in the reduced range.
@rnd = float<FORMAT, ne>;
r = rnd(any_r);
c0 = 1b-1;
c1 = 6004799503160577b-55;
c2 = 1501199875787907b-55;
c3 = 2401919801312447b-58;
c4 = 3202559743756795b-61;
c5 = 1830034099611161b-63;
c6 = 7320113338580991b-68;
c7 = 6506864198280713b-71;
c8 = 5218248660866967b-74;
c9 = 7549159147475115b-78;
q8 = rnd(rnd(c9 * r) + c8);
q7 = rnd(rnd(q8 * r) + c7);
q6 = rnd(rnd(q7 * r) + c6);
q5 = rnd(rnd(q6 * r) + c5);
q4 = rnd(rnd(q5 * r) + c4);
q3 = rnd(rnd(q4 * r) + c3);
q2 = rnd(rnd(q3 * r) + c2);
q1 = rnd(rnd(q2 * r) + c1);
q0 = rnd(rnd(q1 * r) + c0);
e8 = c9 * r + c8;
e7 = e8 * r + c7;
e6 = e7 * r + c6;
e5 = e6 * r + c5;
e4 = e5 * r + c4;
e3 = e4 * r + c3;
e2 = e3 * r + c2;
e1 = e2 * r + c1;
e0 = e1 * r + c0;
square = rnd(r * r);
tail = rnd(rnd(square * q0) + r);
p = rnd(1 + tail);
exact_tail = (r * r) * e0 + r;
exact = 1 + exact_tail;

{ r in [-0.34658,0.34658] -> |(p - exact) / exact| <= BOUND }

$ r in PIECES;
