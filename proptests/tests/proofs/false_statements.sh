#!/bin/sh
# false_statements.sh PROOFS BUILD: statements of the project, each made false in one place, whose proofs no longer go
# through: they say no more than is true. The unaltered file must compile, and no altered one may fail by its syntax.
set -eu
proofs=$1
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "Skipped: two minutes; run with SOFTCHECK_EFFORT=deep"; exit 77; }
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/altered"
build=$(cd "$2" && pwd)
compiles() { (cd "$work/altered" && coqc -q -Q "$build" softcheck -w none "$1") >"$work/log" 2>&1; }
false_statement() { # FILE FROM TO: FROM stands once in the file
  mkdir -p "$work/altered/$(dirname "$1")"
  awk -v from="$2" -v to="$3" '
    { at = index($0, from) }
    at { $0 = substr($0, 1, at - 1) to substr($0, at + length(from)); found++ }
    { print }
    END { exit found != 1 }' "$proofs/$1" >"$work/altered/$1" || { echo "$1 does not have this once: $2"; exit 1; }
  if compiles "$1"; then echo "$1 still compiles with: $3"; exit 1; fi
  if grep -q 'Syntax error' "$work/log"; then cat "$work/log"; exit 1; fi
  echo "$1 must not compile: $3"
}
mkdir "$work/altered/judge" "$work/altered/numerics" "$work/altered/strict_kernels" "$work/altered/contract"
for file in normalised_vectors norm_ellipsoid rotary_positions attention_variants theorem_2_2 box_form judge/enclosed_row \
  judge/kept_contract judge/enclosed_bounds judge/judge judge/declared_contract numerics/b9_sharpened numerics/masked_row numerics/tree_heights \
  numerics/reduction numerics/exact_score numerics/b6d_coefficients strict_kernels/strict_deviations \
  strict_kernels/strict_mean strict_kernels/strict_entropy strict_kernels/strict_sums strict_kernels/strict_softmax \
  contract/summation contract/rescalings contract/contract_words numerics/output_formulas numerics/b7_far_items \
  numerics/b9_threshold numerics/b9_stored_values numerics/uncentred_formulas numerics/attention_formulas numerics/coefficient_formulas numerics/own_exponential numerics/b15_cross_entropy_gradient \
  numerics/b6d_underflow numerics/b6d_log_softmax numerics/b6d_computed_softmax numerics/log_softmax_formulas numerics/wider_statistics \
  numerics/wider_entropies numerics/b9_widened numerics/b9_sharpened_row numerics/b9_widened_entropies numerics/b9_split_scale numerics/split_score_formulas; do
  cp "$proofs/$file.v" "$work/altered/$file.v"
  compiles "$file.v" || { cat "$work/log"; exit 1; }
done
false_statement normalised_vectors.v 'c v ^ 2 <= lambda * dot rows v v.' 'c v ^ 2 <= 2 * lambda * dot rows v v.'
false_statement norm_ellipsoid.v '2 * s * sqrt (r_k * lambda)' '1 * s * sqrt (r_k * lambda)'
false_statement norm_ellipsoid.v '(1 + / t) * r_k * norm d_k' '(/ t) * r_k * norm d_k'
false_statement norm_ellipsoid.v '* (sigma_A * sqrt r_q + norm width a) * sigma_B * sqrt r_k.' '* (sigma_A * sqrt r_q) * sigma_B * sqrt r_k.'
false_statement rotary_positions.v '-> w (fst p) = w (snd p).' '-> w (fst p) <= w (snd p).'
false_statement rotary_positions.v '(forall u, form u <= norm n' '(forall u, form u <= 2 * norm n'
false_statement rotary_positions.v '(2 * (s * sqrt lambda)) (map' '(1 * (s * sqrt lambda)) (map'
false_statement rotary_positions.v '(p : nat * nat) : R := Rmax' '(p : nat * nat) : R := Rmin'
false_statement attention_variants.v 'softcap c y) <= 2 * softcap' 'softcap c y) <= softcap'
false_statement attention_variants.v '(Rmax hi sink - Rmin lo sink) <=' '(hi - lo) <='
false_statement attention_variants.v '(length logits <= W)%nat' '(length logits <= S W)%nat'
false_statement theorem_2_2.v '-> in_ball d (INR d) (f x).' '-> in_ball d (INR d / 2) (f x).'
# The judge: another weight beyond the cut-off, a kernel of more rescalings, a rounding less of the quotient, an accusation
# of what lies within, a sum that may lose everything.
false_statement judge/enclosed_row.v 'I.bnd (number (0, 0)%Z) (number (1, 0)%Z).' 'I.bnd (number (1, 0)%Z) (number (1, 0)%Z).'
false_statement judge/kept_contract.v '/\\ (j <= N.to_nat (most_rescalings c))%nat.' '/\\ (N.to_nat (most_rescalings c) <= j)%nat.'
false_statement judge/enclosed_bounds.v '(#division_roundings [*] its_unit s' '(#1 [*] its_unit s'
false_statement judge/judge.v 'less p allowed (I.abs' 'less p (integer p 0) (I.abs'
false_statement judge/judge.v 'less p (its_lost_sum r) (integer p 1).' 'less p (integer p 0) (its_lost_sum r).'
# Its counts: one of the different logits too many left out, an order that is not reversed, additions of the visible items'
# height alone, a kernel that rescales where its maximum does not rise.
false_statement judge/declared_contract.v 'number_of (runs_of visible_dyadics) - 1)' 'number_of (runs_of visible_dyadics) - 2)'
false_statement judge/declared_contract.v '(records_after None 0 (rev_append row []))' '(records_after None 0 row)'
false_statement judge/declared_contract.v 'N.min (summation_height w (number_of items)) (number_of visible_dyadics - 1)' \
  'N.min (summation_height w (number_of visible_dyadics)) (number_of visible_dyadics - 1)'
false_statement judge/declared_contract.v 'integer_row t -> (j <= rises fresh t)%nat ->' 'integer_row t -> (rises fresh t <= j)%nat ->'
# A width that is the box's upper end, the lower end in its place; an error of beta that no key feels, or not their sum.
false_statement box_form.v 'magnitude (matrix_box width (product inner (transpose K) Q) B) c * (high B c - low B c)' \
  'magnitude (matrix_box width (product inner (transpose K) Q) B) c * high B c'
false_statement box_form.v 'high := fun i => sum (map (fun j => Rmax' 'high := fun i => sum (map (fun j => Rmin'
false_statement numerics/b9_sharpened.v '(t * (1 + tau) + tau) * (m - score a + 2 * largest).' '(t * (1 + tau)) * (m - score a + 2 * largest).'
false_statement numerics/b9_sharpened.v 'normaliser_log keys m error largest + tau * mean.' 'normaliser_log keys m error largest.'
# An item as far down as D_0 alone; scores' errors that no deviation feels, a chord of a smaller log error, an addition that loses
# nothing; sums of values that are stored once less than they are, or whose quotient is not; formulas with a term less.
false_statement numerics/b7_far_items.v 'far_cutoff : R := (1 + t) * (exp_cutoff M + c0).' 'far_cutoff : R := exp_cutoff M + c0.'
false_statement numerics/b9_threshold.v 'own_log : R := b + 2 * rate * largest + quotient_unit M r.' 'own_log : R := b + quotient_unit M r.'
false_statement numerics/b9_threshold.v 'widest_log : R := own_log + largest.' 'widest_log : R := own_log.'
false_statement numerics/b9_threshold.v 'lost_addend : R := product_floor M + sum_floor M +' 'lost_addend : R := product_floor M +'
false_statement numerics/b9_stored_values.v '(INR h + INR j + 3) * lambda_v.' '(INR h + INR j + 2) * lambda_v.'
false_statement numerics/b9_stored_values.v '(4 + INR j) * floor_v.' '(1 + INR j) * floor_v.'
false_statement numerics/b9_stored_values.v 'stored_quotient_loss : R := product_floor M * exp lambda_v + floor_v.' 'stored_quotient_loss : R := product_floor M.'
false_statement numerics/attention_formulas.v 'Of product_floor * Exp (Of sums_unit) + Of sums_floor' 'Of product_floor * Exp (Of sums_unit)'
false_statement numerics/uncentred_formulas.v 'Of maximum_magnitude + Of conversion +' 'Of maximum_magnitude +'
false_statement numerics/attention_formulas.v '(Of values_height + one) * Of unit' 'Of values_height * Of unit'
false_statement numerics/own_exponential.v '+ 2 * t * D + ratio_log' '+ t * D + ratio_log'
false_statement numerics/own_exponential.v '- (lambdaE * (1 + log_error M) * (1 + roundoff M) * (1 + u_out)) <= H.' \
  '- (lambdaE * (1 + roundoff M) * (1 + u_out)) <= H.'
false_statement numerics/own_exponential.v 'p - 1 <= exp (excess_log out 0 j 0) - 1.' 'p - 1 <= exp (excess_log out 0 0 0) - 1.'
false_statement numerics/own_exponential.v 'p <= lambdaE * (1 + log_error M) * (1 + roundoff M) * (1 + u_out).' \
  'p <= lambdaE * (1 + roundoff M) * (1 + u_out).'
false_statement numerics/own_exponential.v '(2 * d + u * (1 + d)) * Rabs m) * (1 + u) * (1 + u_out).' '(d + u * (1 + d)) * Rabs m) * (1 + u) * (1 + u_out).'
# A divisor that does not divide what the product before it has lost.
false_statement numerics/b15_cross_entropy_gradient.v '(up * lost) + wm * (exp lambda / Rabs d + 1) in' '(up * lost) + wm * 2 in'
false_statement numerics/coefficient_formulas.v 'Number 2 * Of unit' 'Number 1 * Of unit'
# A coefficient that loses something without its logarithm's size, and without the logarithm's own error; a deviation that no lost
# coefficient feels; the same of the formulas.
false_statement numerics/b6d_underflow.v 'f * logarithm_size * (1 + El) + (exp C + f) * wm) * exp lambda + wm.' 'f * (1 + El) + (exp C + f) * wm) * exp lambda + wm.'
false_statement numerics/b6d_underflow.v 'f * logarithm_size * (1 + El) + (exp C + f) * wm) * exp lambda + wm.' 'f * logarithm_size + (exp C + f) * wm) * exp lambda + wm.'
false_statement numerics/b6d_log_softmax.v 'f * (K * (1 + s) + ln S + b) * exp lambda + wm.' 'f * (ln S + b) * exp lambda + wm.'
false_statement numerics/b6d_log_softmax.v 'f * (K * (1 + s) + ln S + b) * exp lambda + wm.' 'f * (K * (1 + s) + b) * exp lambda + wm.'
false_statement numerics/coefficient_formulas.v 'Of smallest_log + (kept_log_f' 'Of log_sum + (kept_log_f'
false_statement numerics/log_softmax_formulas.v 'Of cutoff * (one + Of logarithm_slope) + Of log_sum' 'Of cutoff * one + Of log_sum'
# Logarithms that the kernel's own argument does not feel, or the sum; an entropy of the row without its deviations, a beta that
# moves none.
false_statement numerics/b6d_computed_softmax.v 'logarithm_log : R := b + 2 * t * b.' 'logarithm_log : R := b + t * b.'
false_statement numerics/b6d_computed_softmax.v 'direct_log M kappa h j + (logarithm_log + shift' 'direct_log M kappa h j + (shift'
false_statement numerics/log_softmax_formulas.v '(Of sigma_0 + logarithm_log_f)' '(Of sigma_0)'
false_statement numerics/wider_entropies.v '    | Direct.entropy => wide_log_sum w + wide_mean w' '    | Direct.entropy => wide_log_sum w'
false_statement numerics/b9_widened_entropies.v '<= entropy_moved keys m error largest + tau * widest_square scores.' '<= entropy_moved keys m error largest.'
# Statistics that are not those of the row as computed; a beta that errs which moves no entropy, or no maximum; a root that is
# rounded once, a factor that loses nothing.
false_statement numerics/wider_statistics.v 'entropy_magnitude => wide_log_sum w + wide_mean w' 'entropy_magnitude => wide_log_sum w'
false_statement numerics/b9_widened.v 'wide_maximum := Rabs m + largest;' 'wide_maximum := Rabs m;'
false_statement numerics/b9_sharpened_row.v 'wide_mean := (1 + tau) * mean;' 'wide_mean := mean;'
false_statement numerics/b9_sharpened_row.v '(entropy_moved keys m error largest + tau * widest_square scores).' '(entropy_moved keys m error largest).'
false_statement numerics/b9_split_scale.v '(d + 4 + 2 * r) * lambda' '(d + 3 + 2 * r) * lambda'
false_statement numerics/b9_split_scale.v 'F * (Rabs root * sum' '0 * (Rabs root * sum'
false_statement numerics/split_score_formulas.v '+ Number 2 * Of factor_unit' '+ Number 1 * Of factor_unit'
# A masked item of weight 1, a sum of which nothing visible takes the place; a total of the weights that is off by twice as much,
# T / S within less than half a rounding of the sum.
false_statement numerics/masked_row.v 'Some v => exp v | None => 0 end.' 'Some v => exp v | None => 1 end.'
false_statement numerics/masked_row.v '-> s = s2) -> (visible_items l2' '-> s = s1) -> (visible_items l2'
false_statement strict_kernels/strict_deviations.v '(total - s) <= nearest_unit * s.' '(total - s) <= 2 * nearest_unit * s.'
false_statement strict_kernels/strict_mean.v '6 / 10 * u32 * Rabs ((x + d) / s)' '4 / 10 * u32 * Rabs ((x + d) / s)'
# Trees: one of fewer additions than items less one, a part of a roundoff that is not counted, a compensated addition that errs by
# less than it does. A contract of the strict kernels that grants one roundoff less, or two for the merges.
false_statement numerics/tree_heights.v 'g <= size l - 1 /\\ l <> []' 'g <= size l - 2 /\\ l <> []'
false_statement numerics/reduction.v 'sum_state (l1 ++ l2) r s (k + Rmax h1 h2)' 'sum_state (l1 ++ l2) r s (0 + Rmax h1 h2)'
false_statement strict_kernels/strict_sums.v '+ 32 * half_quantum -> sum_within M (/ 12) z s.' '+ 32 * half_quantum -> sum_within M (/ 17) z s.'
false_statement strict_kernels/strict_softmax.v 'Nat.min (rounds_of items + 8) (visible - 1).' 'Nat.min (rounds_of items + 2) (visible - 1).'
false_statement strict_kernels/strict_entropy.v 'Notation additions := (granted_height (length row) (length logits)).' \
  'Notation additions := (granted_height (length row) (length logits) - 1)%nat.'
# Sums of products twice as large as the format's numbers; a term of B6d without its product's rounding.
false_statement numerics/exact_score.v 'Rabs x <= two_to (g + prec F) -> rnd x = x.' 'Rabs x <= two_to (g + prec F + 1) -> rnd x = x.'
false_statement numerics/b6d_coefficients.v 'exp (C + lambda + t * d) * (l + log_error_of d l).' 'exp (C + t * d) * (l + log_error_of d l).'
# The words of a contract: a lane of an addition less, a rescaling less, a format within a narrower one, a number of twice the
# bits; and the output's rounding left out of B5.
false_statement contract/summation.v 'ceil_divide n K - 1 + N.log2_up K' 'ceil_divide n K - 2 + N.log2_up K'
false_statement contract/rescalings.v 'N.of_nat (different_logits items - 1)' 'N.of_nat (different_logits items - 2)'
false_statement contract/contract_words.v '(emin (format_of outer) <=? emin (format_of inner))' 'true'
false_statement contract/contract_words.v '(Zpos m <? 2 ^ prec (format_of f))' '(Zpos m <? 4 ^ prec (format_of f))'
false_statement numerics/output_formulas.v '(then_rounded logsumexp_rounding_f (Of logsumexp_magnitude) (Of output_roundoff))' 'logsumexp_rounding_f'
