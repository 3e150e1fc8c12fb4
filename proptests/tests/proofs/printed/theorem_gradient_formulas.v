From printed Require Import printing.
From softcheck.numerics Require Import gradient_formulas.

Definition quantities := [roundoff; exp_error; sum_floor; product_floor; exp_floor; reading_unit; reading_loss;
  product_unit; product_loss; output_roundoff; output_floor; height; terms; magnitude; mean_magnitude;
  largest_coefficient; largest_upstream; coefficient; upstream; gradient_magnitude; argument_log; power; argument].
Definition every_quantity_is_there : forall q, In q quantities.
Proof. destruct q; cbn; tauto. Qed.

Definition header := joined [
  preamble "the right-hand sides of the theorems about" "gradients, as Coq "; opened "softcheck::theorems::gradients";
  numbers name "What the formulas speak of: theory/proofs/numerics/gradient_formulas.v." quantities [];
  class name "B12 and B13." "GradientBounds" all_formulas;
  closed "softcheck::theorems::gradients"].
Eval vm_compute in header.
