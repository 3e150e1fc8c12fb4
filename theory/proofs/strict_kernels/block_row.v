(** * A row's statistics as the strict kernels compute them, bit by bit, and what they make of them.

    kernels/block/row_statistics.hpp, compensated_sum.hpp, softmax.hpp, log_softmax.hpp, entropy.hpp and logarithm.hpp
    for 128 threads that take four items at a time: every operation in its order, an executable function. kernels/strict/
    computes the same on vectors.

    A row is a list of numbers: masked items are -inf, as the kernels read them. Left out: varentropy's sum. *)

From Coq Require Import ZArith List Bool.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.strict_kernels Require Import machine_numbers.
Import ListNotations.

(** ** Compensated sums (compensated_sum.hpp) *)

Record compensated := { sum_value : f32; sum_rest : f32 }.
Definition no_sum : compensated := {| sum_value := zero; sum_rest := zero |}.

Definition plus_item (s : compensated) (x : f32) : compensated :=
  let sum := add (sum_value s) x in
  let taken := sub sum (sum_value s) in
  {| sum_value := sum;
     sum_rest := add (sum_rest s) (add (sub (sum_value s) (sub sum taken)) (sub x taken)) |}.

Definition plus_sum (s other : compensated) : compensated :=
  let both := plus_item s (sum_value other) in
  {| sum_value := sum_value both; sum_rest := add (sum_rest both) (sum_rest other) |}.

Definition times_parts (s : compensated) (factor : parts) : compensated :=
  let product := mul (sum_value s) (value factor) in
  let rounded := fused (sum_value s) (value factor) (neg product) in
  {| sum_value := product;
     sum_rest := fused (sum_rest s) (value factor) (fused (sum_value s) (rest factor) rounded) |}.

Definition total (s : compensated) : f32 := add (sum_value s) (sum_rest s).

(** ** The state of a thread (row_statistics.hpp): m, S - 1 and T *)

Record state := { maximum : f32; weights : compensated; deviations : compensated }.

Definition no_items : state := {| maximum := minus_infinity; weights := no_sum; deviations := no_sum |}.
Definition undefined_items : state := {| maximum := B754_nan; weights := no_sum; deviations := no_sum |}.
Definition defined (s : state) : bool := negb (is_nan (maximum s)).
Definition empty (s : state) : bool := same (maximum s) minus_infinity.

(** The same items relative to a maximum that is not among them. *)
Definition raise_maximum (s : state) (m scale : f32) : state :=
  if empty s then {| maximum := m; weights := weights s; deviations := deviations s |}
  else
    let z := mul (sub (maximum s) m) scale in
    let factor := exponential_parts z in
    if less zero (value factor) then
      let w := plus_item (weights s) one in
      {| maximum := m;
         weights := times_parts w factor;
         deviations := times_parts (plus_item (deviations s) (mul (neg z) (total w))) factor |}
    else {| maximum := m; weights := no_sum; deviations := no_sum |}.

Definition merged (scale : f32) (left right : state) : state :=
  if negb (defined left) || negb (defined right) then undefined_items
  else if empty right then left
  else
    let (high, low) := if less (maximum left) (maximum right) then (right, left) else (left, right) in
    if empty low then high
    else
      let raised := raise_maximum low (maximum high) scale in
      {| maximum := maximum high;
         weights := plus_sum (weights high) (weights raised);
         deviations := plus_sum (deviations high) (deviations raised) |}.

(** ** Four items that a thread reads together *)

Record group := { item_0 : f32; item_1 : f32; item_2 : f32; item_3 : f32 }.

Definition larger (x y : f32) : f32 := if less x y then y else x.
Definition largest_of (g : group) : f32 := larger (larger (item_0 g) (item_1 g)) (larger (item_2 g) (item_3 g)).
Definition all_defined (g : group) : bool :=
  less (item_0 g) plus_infinity && less (item_1 g) plus_infinity && less (item_2 g) plus_infinity &&
  less (item_3 g) plus_infinity.

(** The first item that is the new maximum, which is left out of the sums. *)
Definition left_out (g : group) (m : f32) : option nat :=
  if same (item_0 g) m then Some 0%nat
  else if same (item_1 g) m then Some 1%nat
  else if same (item_2 g) m then Some 2%nat
  else if same (item_3 g) m then Some 3%nat
  else None.

(** w and w D of an item. *)
Definition weight_of (m scale : f32) (out : bool) (x : f32) : f32 * f32 :=
  let z := mul (sub x m) scale in
  let w := if out then zero else exponential z in
  (w, mul w (if less zero w then neg z else zero)).

Definition is_out (out : option nat) (i : nat) : bool :=
  match out with Some k => Nat.eqb k i | None => false end.

(** The items at an already raised maximum, added in halves. *)
Definition add_weights (s : state) (g : group) (scale : f32) (out : option nat) : state :=
  let m := maximum s in
  let (w0, d0) := weight_of m scale (is_out out 0) (item_0 g) in
  let (w1, d1) := weight_of m scale (is_out out 1) (item_1 g) in
  let (w2, d2) := weight_of m scale (is_out out 2) (item_2 g) in
  let (w3, d3) := weight_of m scale (is_out out 3) (item_3 g) in
  {| maximum := m;
     weights := plus_item (weights s) (add (add w0 w1) (add w2 w3));
     deviations := plus_item (deviations s) (add (add d0 d1) (add d2 d3)) |}.

Definition add_group (scale : f32) (s : state) (g : group) : state :=
  if negb (defined s) || negb (all_defined g) then undefined_items
  else
    let largest := largest_of g in
    if same largest minus_infinity then s
    else if less (maximum s) largest
    then add_weights (raise_maximum s largest scale) g scale (left_out g largest)
    else add_weights s g scale None.

(** ** A row: groups go to 128 threads in turn, whose states are merged in pairs, then fours, ... *)

Definition threads : nat := 128.

Fixpoint groups_of (row : list f32) : list group :=
  match row with
  | [] => []
  | [a] => [{| item_0 := a; item_1 := minus_infinity; item_2 := minus_infinity; item_3 := minus_infinity |}]
  | [a; b] => [{| item_0 := a; item_1 := b; item_2 := minus_infinity; item_3 := minus_infinity |}]
  | [a; b; c] => [{| item_0 := a; item_1 := b; item_2 := c; item_3 := minus_infinity |}]
  | a :: b :: c :: d :: rest => {| item_0 := a; item_1 := b; item_2 := c; item_3 := d |} :: groups_of rest
  end.

(** The threads that have had their group of this round, the last one first; and those that wait for theirs. *)
Definition dealt (scale : f32) (hands : list state * list state) (g : group) : list state * list state :=
  match hands with
  | (had, waiting) =>
      match waiting with
      | s :: others => (add_group scale s g :: had, others)
      | [] =>
          match rev had with
          | s :: others => ([add_group scale s g], others)
          | [] => hands
          end
      end
  end.

Fixpoint pairs_merged (scale : f32) (states : list state) : list state :=
  match states with
  | first :: second :: others => merged scale first second :: pairs_merged scale others
  | _ => states
  end.

Fixpoint tree_merged (scale : f32) (levels : nat) (states : list state) : list state :=
  match levels with
  | O => states
  | S fewer => tree_merged scale fewer (pairs_merged scale states)
  end.

Definition statistics (scale : f32) (row : list f32) : state :=
  let (had, waiting) := fold_left (dealt scale) (groups_of row) ([], repeat no_items threads) in
  hd no_items (tree_merged scale 7 (rev had ++ waiting)).

(** ** The results *)

(** 1 / theta, rounded to f32. *)
Definition scale_of (theta : f64) : f32 := narrowed (quotient_64 one_64 theta).

Definition softmax_factor (all : state) : f32 := quotient one (add one (total (weights all))).

Definition coefficient_of (scale m factor x : f32) : f32 :=
  mul (mul (scaled_exponential (mul (sub x m) scale)) factor) exp_unscale.

Definition strict_softmax (scale : f32) (row : list f32) : list f32 :=
  let all := statistics scale row in
  if less minus_infinity (maximum all)
  then map (coefficient_of scale (maximum all) (softmax_factor all)) row
  else map (fun _ => B754_nan) row.

(** ** ln (1 + s) in double (logarithm.hpp) *)

(** 1/(2 i + 1) + t (1/(2 i + 3) + ... ), i from this one to 11. *)
Fixpoint atanh_series (i terms : nat) (t : f64) : f64 :=
  let coefficient := quotient_64 one_64 (dyadic_64 (2 * Z.of_nat i + 1) 0) in
  match terms with
  | O => coefficient
  | S fewer => fused_64 (atanh_series (S i) fewer t) t coefficient
  end.

(** 2 atanh z: odd, its first term apart. *)
Definition twice_atanh (z : f64) : f64 :=
  let t := mul_64 z z in
  let twice := mul_64 (dyadic_64 2 0) z in
  fused_64 (mul_64 twice t) (atanh_series 1 10 t) twice.

Definition logarithm_of_one_plus (s : f64) : f64 :=
  if less_64 s (dyadic_64 1 (-2)) then twice_atanh (quotient_64 s (add_64 (dyadic_64 2 0) s))
  else
    let x := add_64 one_64 s in
    let high := if less_64 one_64 s then s else one_64 in
    let low := if less_64 one_64 s then one_64 else s in
    let rest := sub_64 low (sub_64 x high) in
    let bits := word_of_f64 x in
    let k := ((bits - 0x3fe6a09e667f3bcd) / 2 ^ 52)%Z in
    let m := f64_of_word (bits - k * 2 ^ 52)%Z in
    let of_m := twice_atanh (quotient_64 (sub_64 m one_64) (add_64 m one_64)) in
    fused_64 (dyadic_64 k 0) (dyadic_64 0x162e42fefa39ef (-53)) (add_64 of_m (quotient_64 rest x)).

Definition in_double (s : compensated) : f64 := add_64 (widened (sum_value s)) (widened (sum_rest s)).

Definition logarithm_of_sum (all : state) : f64 :=
  let w := in_double (weights all) in
  logarithm_of_one_plus (if less_64 (dyadic_64 0 0) w then w else dyadic_64 0 0).

Definition strict_logsumexp (theta : f64) (row : list f32) : f32 :=
  let all := statistics (scale_of theta) row in
  if negb (defined all) then B754_nan
  else
    let m := widened (maximum all) in
    let q := quotient_64 m theta in
    if negb (is_finite q) then narrowed q
    else narrowed (add_64 q (add_64 (logarithm_of_sum all) (quotient_64 (fused_64 (neg_64 q) theta m) theta))).

Definition strict_entropy (scale : f32) (row : list f32) : f32 :=
  let all := statistics scale row in
  if negb (defined all) || empty all then B754_nan
  else
    narrowed (add_64 (logarithm_of_sum all)
                (quotient_64 (in_double (deviations all)) (add_64 one_64 (in_double (weights all))))).
