(** * How far the polynomials of our exponentials are from e^r, before any rounding.

    Main results, relative to e^r on the reduced range
    - [filter_method_error]        the double filter's polynomial, |r| <= 0.34658: 2^-57 = u/16
    - [cpu_binary32_method_error]  the CPU kernels' binary32 polynomial, |r| <= ln(2)/2 (1 + 1e-4): 0.065 u, u = 2^-24
    - [cpu_binary64_method_error]  their binary64 polynomial: 0.0066 u, u = 2^-53

    The coefficients are the doubles and floats of numerics/filter/row_stages.cpp and kernels/arithmetic/exp_constants.hpp, exactly.
    Source: docs/tolerances/cascade.md, "The exponential of the filter"; kernels/README.md, "Why the contract holds". *)

From Coq Require Import Reals Lra.
From softcheck Require Import standard_interval.
From softcheck.floating_point Require Import relative_error.
Local Open Scope R_scope.

Definition filter_polynomial (r : R) : R :=
  1 + (r + r * r *
    ((((((((((7549159147475115 / 302231454903657293676544) * r
      + (5218248660866967 / 18889465931478580854784)) * r
      + (6506864198280713 / 2361183241434822606848)) * r
      + (7320113338580991 / 295147905179352825856)) * r
      + (1830034099611161 / 9223372036854775808)) * r
      + (3202559743756795 / 2305843009213693952)) * r
      + (2401919801312447 / 288230376151711744)) * r
      + (1501199875787907 / 36028797018963968)) * r
      + (6004799503160577 / 36028797018963968)) * r
      + (1 / 2))).

Definition cpu_binary32_polynomial (r : R) : R :=
  1 + (r + r * r *
    (((((11866649 / 8589934592) * r
      + (4492921 / 536870912)) * r
      + (11185273 / 268435456)) * r
      + (11184713 / 67108864)) * r
      + (8388607 / 16777216))).

Definition cpu_binary64_polynomial (r : R) : R :=
  1 + (r + r * r *
    (((((((((((2517785285112807 / 1208925819614629174706176) * r
      + (7589644462190199 / 302231454903657293676544)) * r
      + (2602740010365441 / 9444732965739290427392)) * r
      + (1626692030038875 / 590295810358705651712)) * r
      + (7320136426569689 / 295147905179352825856)) * r
      + (7320136557509789 / 36893488147419103232)) * r
      + (3202559735071269 / 2305843009213693952)) * r
      + (4803839602519139 / 576460752303423488)) * r
      + (6004799503160579 / 144115188075855872)) * r
      + (6004799503160667 / 36028797018963968)) * r
      + (1 / 2))).

(** Taylor models on pieces of the range: the proof is the computation. Degrees and precisions are the cheapest found. *)
Local Ltac certify r degree precision :=
  interval with (Tactic.i_bisect r, Tactic.i_taylor r, Tactic.i_degree degree, Tactic.i_prec precision).

Theorem filter_method_error r : Rabs r <= 34658 / 100000 -> Rabs (filter_polynomial r * exp (- r) - 1) <= / 2 ^ 57.
Proof. intros range. apply abs_between in range. unfold filter_polynomial. certify r 8%nat 68%positive. Qed.

(** ln(2)/2 (1 + 1e-4) < 0.346609. *)
Theorem cpu_binary32_method_error r :
  Rabs r <= 346609 / 1000000 -> Rabs (cpu_binary32_polynomial r * exp (- r) - 1) <= 65 / 1000 * / 2 ^ 24.
Proof. intros range. apply abs_between in range. unfold cpu_binary32_polynomial. certify r 8%nat 54%positive. Qed.

Theorem cpu_binary64_method_error r :
  Rabs r <= 346609 / 1000000 -> Rabs (cpu_binary64_polynomial r * exp (- r) - 1) <= 66 / 10000 * / 2 ^ 53.
Proof. intros range. apply abs_between in range. unfold cpu_binary64_polynomial. certify r 10%nat 72%positive. Qed.

