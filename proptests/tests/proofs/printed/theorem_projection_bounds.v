From printed Require Import printing.
From softcheck.numerics Require Import projection_formulas.
From softcheck.numerics Require root_formulas.
Module Root := root_formulas.

Definition quantities := [roundoff; sum_floor; product_floor; read_roundoff; read_loss; output_roundoff; output_floor;
  maximum_magnitude; height; count; deviation; total; value; top; moved; mean_deviation].
Definition of_roots := [Root.roundoff; Root.sum_floor; Root.product_floor; Root.read_roundoff; Root.read_loss;
  Root.output_roundoff; Root.output_floor; Root.maximum_magnitude; Root.height; Root.half_deviation; Root.mean;
  Root.mean_square; Root.width; Root.spread; Root.shift; Root.root; Root.difference; Root.top_error; Root.error].
Definition every_quantity_is_there : (forall q, In q quantities) /\ (forall q, In q of_roots).
Proof. split; destruct q; cbn; tauto. Qed.
Definition every_formula_grows :
  (forallb grows (deviation_formulas ++ support_formulas ++ element_formulas)
   && forallb grows (Root.half_deviation_formulas ++ Root.own_formulas ++ Root.radicand_formulas ++ Root.root_formulas
                     ++ Root.difference_formulas ++ Root.coefficient_formulas))%bool = true := eq_refl.

Definition after_a_deviation := class_after name "DeviationBounds" deviation_formulas.
Definition after_half := class_after Root.name "HalfDeviationBounds" Root.half_deviation_formulas.

Definition header := joined [
  preamble "the right-hand sides of the theorems about" "projections, as Coq ";
  opened "softcheck::numerics::formulas::projection";
  numbers name "What the formulas speak of: theory/proofs/numerics/projection_formulas.v." quantities [];
  class name "A deviation, as it is read and subtracted." "DeviationBounds" deviation_formulas;
  after_a_deviation "B20: which items belong to the support." "SupportBounds" support_formulas;
  after_a_deviation "B20: a coefficient." "ElementBounds" element_formulas;
  room "roots" [
    numbers Root.name "What the formulas of B21 speak of: theory/proofs/numerics/root_formulas.v." of_roots [];
    square;
    class Root.name "Half of a deviation." "HalfDeviationBounds" Root.half_deviation_formulas;
    after_half "" "OwnBounds" Root.own_formulas;
    after_half "B21: the radicand of a prefix, and its root; between the two is a square root." "RadicandBounds"
      Root.radicand_formulas;
    after_half "" "RootBounds" Root.root_formulas;
    after_half "B21: the root of a coefficient, and its square." "DifferenceBounds" Root.difference_formulas;
    after_half "" "CoefficientBounds" Root.coefficient_formulas];
  closed "softcheck::numerics::formulas::projection"].
Eval vm_compute in header.
