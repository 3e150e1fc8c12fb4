# The CPU kernels' exponential in binary64: the computed 1 + (r + r^2 q(r)) against the same
# polynomial without rounding, relative, for every r of the format in the reduced range.
@rnd = float<FORMAT, ne>;
r = rnd(any_r);
c0 = 1b-1;
c1 = 6004799503160667b-55;
c2 = 6004799503160579b-57;
c3 = 4803839602519139b-59;
c4 = 3202559735071269b-61;
c5 = 7320136557509789b-65;
c6 = 7320136426569689b-68;
c7 = 1626692030038875b-69;
c8 = 2602740010365441b-73;
c9 = 7589644462190199b-78;
c10 = 2517785285112807b-80;
q9 = rnd(rnd(c10 * r) + c9);
q8 = rnd(rnd(q9 * r) + c8);
q7 = rnd(rnd(q8 * r) + c7);
q6 = rnd(rnd(q7 * r) + c6);
q5 = rnd(rnd(q6 * r) + c5);
q4 = rnd(rnd(q5 * r) + c4);
q3 = rnd(rnd(q4 * r) + c3);
q2 = rnd(rnd(q3 * r) + c2);
q1 = rnd(rnd(q2 * r) + c1);
q0 = rnd(rnd(q1 * r) + c0);
e9 = c10 * r + c9;
e8 = e9 * r + c8;
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

{ r in [-0.346609,0.346609] -> |(p - exact) / exact| <= BOUND }

$ r in PIECES;
