(** * The numbers of contracts, as a table that a test compares with numerics/rounding's.

    [table] is what proptests/tests/proofs/formulas.sh prints into proptests/tests/numerics/contract_words.tsv: each word in
    every format of input, output and accumulator, each height for rows of 0 to 2^40 items. Nothing is proved of the printing. *)

From Coq Require Import ZArith NArith String List.
From softcheck.numerics Require Import formula.
From softcheck.contract Require Import summation contract_words rescalings.
Import ListNotations.
Local Open Scope string_scope.

Definition tab : string := String (Ascii.ascii_of_nat 9) "".
Definition row_of (cells : list string) : string := String.concat tab cells.

Definition number_text (x : dyadic) : string :=
  if Z.eqb (fst x) 0 then "0" else decimal (fst x) ++ "p" ++ decimal (snd x).
(** As a contract has it: a decimal number, exactly. *)
Definition decimal_text (x : dyadic) : string :=
  if Z.leb 0 (snd x) then decimal (fst x * 2 ^ snd x)%Z
  else decimal (fst x * 5 ^ (- snd x))%Z ++ "e" ++ decimal (snd x).

Definition format_text (f : word_format) : string :=
  match f with f64 => "f64" | f32 => "f32" | f16 => "f16" | bf16 => "bf16" | e4m3 => "e4m3" | e5m2 => "e5m2" end.
Definition sum_text (w : summation) : string :=
  match w with
  | sequential => "sequential" | tree_of_pairs => "tree"
  | lanes K => "lanes:" ++ decimal (Z.of_N K) | blocks K => "blocks:" ++ decimal (Z.of_N K)
  end.
Definition word_text (w : word) : string :=
  match w with
  | acc f => "acc=" ++ format_text f
  | exp_ulps k => "exp=" ++ decimal_text k ++ "ulp"
  | exp_errors e a => "exp=E:" ++ decimal_text e ++ ",A:" ++ decimal_text a
  | sum s => "sum=" ++ sum_text s
  | subnormal s => "subnormal=" ++ match s with flushed => "flushed" | kept => "kept" end
  | theta t => "theta=" ++ match t with fused => "fused" | before => "before" end
  | tanh_ulps k => "tanh=" ++ decimal_text k ++ "ulp"
  | weights f => "weights=" ++ format_text f | total f => "total=" ++ format_text f
  | scores f => "scores=" ++ format_text f | values f => "values=" ++ format_text f
  | products f => "products=" ++ format_text f | ds f => "ds=" ++ format_text f
  | without_numbers text => text
  end.

(** ** Numbers: a column each *)

Definition both (name : string) (stored : dyadic * dyadic) : list (string * string) :=
  [(name ++ "_roundoff", number_text (fst stored)); (name ++ "_floor", number_text (snd stored))].

Definition columns (c : contract) (t : dyadic) : list (string * string) :=
  ([("roundoff", number_text (roundoff c)); ("exp_error", number_text (exp_error c)); ("log_error", number_text (log_error c));
    ("tanh_units", number_text (tanh_units c)); ("sum_floor", number_text (sum_floor c));
    ("product_floor", number_text (product_floor c)); ("exp_floor", number_text (exp_floor c));
    ("cutoff_bits", decimal (cutoff_bits c));
    ("reading_roundoff", number_text (reading_roundoff c)); ("reading_floor", number_text (reading_floor c));
    ("argument_roundings", number_text (argument_roundings c t)); ("extra_roundoff", number_text (extra_roundoff c t));
    ("scaling_roundings", number_text (scaling_roundings c t));
    ("step_over_theta", number_text (step_over_theta c t)); ("step", number_text (step c t));
    ("conversion_roundoff", number_text (conversion_roundoff c t));
    ("conversion_over_theta", number_text (conversion_over_theta c));
    ("conversion_loss", number_text (conversion_loss c t));
    ("maximum_moves", if is_divided_first c t then "1" else "0")]
   ++ both "output" (stored_output c) ++ both "weights" (stored_weights c) ++ both "total" (stored_total c)
   ++ both "scores" (stored_scores c) ++ both "values" (stored_values c) ++ both "products" (stored_products c)
   ++ both "ds" (stored_gradients c))%list.

Definition contract_row (c : contract) (t : dyadic) : string :=
  row_of (["contract"; format_text (input c); format_text (output c); String.concat " " (map word_text (words c));
           number_text t] ++ map snd (columns c t))%list.

(** ** The grid *)

Definition all_formats : list word_format := [f64; f32; f16; bf16; e4m3; e5m2].
Definition accumulators : list word_format := [f64; f32; f16; bf16].
Definition both_subnormals : list word := [subnormal flushed; subnormal kept].
(** f32 does not have 0.7. *)
Definition temperatures : list dyadic := [(1, 0); (1, -1); (3, 0); (6305039478318694, -53)]%Z.
Definition exponentials : list word :=
  [exp_ulps (1, 0); exp_ulps (1, -1); exp_ulps (3, 0); exp_errors (50, 0) (3, 0); exp_errors (0, 0) (0, 0);
   exp_errors (3, -2) (5, -1)]%Z.
Definition one : dyadic := (1, 0)%Z.

(** What is read depends on the input and the accumulator, what is written on the output and the accumulator. *)
Definition formats_and_f32 : list (word_format * word_format) :=
  (map (fun i => (i, f32)) all_formats ++ map (fun o => (f16, o)) all_formats)%list.
Definition by_format : list string :=
  flat_map (fun p => let (i, o) := p : word_format * word_format in
    contract_row {| input := i; output := o; words := [] |} one
    :: flat_map (fun a => map (fun s => contract_row {| input := i; output := o; words := [acc a; s] |} one) both_subnormals)
         accumulators) formats_and_f32.
Definition by_temperature : list string :=
  flat_map (fun i => flat_map (fun a => flat_map (fun s => flat_map (fun use => map (fun t =>
    contract_row {| input := i; output := f32; words := [acc a; s; theta use] |} t) temperatures)
    [fused; before]) both_subnormals) accumulators) [f32; bf16].
Definition by_exponential : list string :=
  flat_map (fun a => flat_map (fun s => flat_map (fun e => map (fun t =>
    contract_row {| input := f32; output := f32; words := [acc a; e; s] |} t) [(3, 0)%Z])
    exponentials) both_subnormals) accumulators.
Definition stored_words (f : word_format) : list word := [weights f; total f; scores f; values f; products f; ds f].
Definition by_storage : list string :=
  (flat_map (fun f => flat_map (fun s => map (fun w => contract_row {| input := f32; output := f32; words := [w; s] |} one)
    (stored_words f)) both_subnormals) accumulators ++
  flat_map (fun a => flat_map (fun f => map (fun s =>
    contract_row {| input := f32; output := f32; words := [acc a; weights f; s] |} one) both_subnormals) accumulators) accumulators)%list.
Definition by_other : list string :=
  map (fun w => contract_row {| input := f32; output := f32; words := [w] |} one)
    ([tanh_ulps (0, 0); tanh_ulps (3, -1); tanh_ulps (4096, 0); subnormal kept; theta before; exp_ulps (2, 0); sum (lanes 8)]%Z
     ++ map without_numbers
       ["masked=zero"; "masked=nan"; "masked=uniform"; "entropy=any"; "entropy=exact"; "entropy=paper"; "lse=centred";
        "lse=uncentred"; "entropy_from=deviations"; "entropy_from=logits"; "entropy_from=coefficients"; "scale=whole";
        "scale=split"; "scale=stored"; "ties=any"; "ties=lowest"; "infinity=any"; "infinity=limit"])%list.

Definition sums : list summation :=
  ([sequential; tree_of_pairs] ++ flat_map (fun K => [lanes K; blocks K])
     [1; 2; 3; 4; 5; 7; 8; 16; 31; 32; 64; 100; 128; 512; 1024; 65536; 4294967296])%N%list.
Definition sizes : list N :=
  (map N.of_nat (seq 0 41) ++ [63; 64; 65; 100; 127; 128; 129; 255; 256; 257; 511; 512; 513; 1000; 1023; 1024; 1025; 4095; 4096;
   4097; 65535; 65536; 65537; 1000000; 1048576; 1048577; 4294967295; 4294967296; 4294967297; 1099511627776])%N%list.
Definition natural (n : N) : string := decimal (Z.of_N n).
Definition heights : list string :=
  row_of (["sum"; "0"] ++ map natural sizes)%list ::
  map (fun w => row_of (["height"; ("sum=" ++ sum_text w)%string] ++ map (fun n => natural (summation_height w n)) sizes)%list) sums.

(** ** Rescalings: of rows of integers, - where one is masked *)

Definition logits : list (list (option Z)) :=
  let some := map Some in
  [[]; [None]; some [5]; some [5; 5; 5]; some [1; 2; 3; 4; 5; 6; 7]; some [7; 6; 5; 4; 3; 2; 1]; some [0; 3; -2; 3; 9; 9; 1; 10];
   [None; Some 2; None; Some 1; Some 2; Some (-4); None]; some [4; 1; 3; 1; 2; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0; 0];
   some [1; 2; 3; 4; 5; 6; 7; 8; 9; 10; 11; 12; 13; 14; 15; 16; 17; 18; 19; 20; 21; 22; 23; 24; 25; 26; 27; 28; 29; 30; 31; 32; 33]]%Z.
Definition logit_text (x : option Z) : string := match x with Some v => decimal v | None => "-" end.
Definition rising : list string :=
  flat_map (fun w => map (fun row =>
    row_of ["rescalings"; ("sum=" ++ sum_text w)%string; natural (rescalings w row); String.concat " " (map logit_text row)]) logits)
    ([sequential; tree_of_pairs; lanes 1; lanes 3; lanes 8; blocks 1; blocks 2; blocks 8])%N.

Definition title : string :=
  row_of (["names"; "input"; "output"; "words"; "theta"] ++ map fst (columns {| input := f32; output := f32; words := [] |} one))%list.
Definition table : list string := title :: (by_format ++ by_temperature ++ by_exponential ++ by_storage ++ by_other ++ heights ++ rising)%list.
