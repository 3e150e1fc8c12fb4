From softcheck Require Import adaptive_temperature.
From printed Require Import printing.

Definition constant (name : string) (z : Z) := line ("inline constexpr long long " ++ name ++ " = " ++ decimal z ++ ";").

Definition header := joined [
  preamble "the numbers of adaptive temperature, as Coq" ""; lines ["#include <array>"; ""]; opened "softcheck::theorems";
  line "/// In thousandths, from H^0 on.";
  line ("inline constexpr std::array<long long, " ++ decimal (Z.of_nat (List.length quartic_thousandths)) ++
        "> quartic_thousandths{" ++ String.concat ", " (map decimal quartic_thousandths) ++ "};");
  line "/// Digits behind the decimal point: 5, 5, 5, 18, 18, 14, 14.";
  constant "largest_beta_digits" largest_beta_hundred_thousandths;
  constant "inactive_from_digits" inactive_from_hundred_thousandths;
  constant "lipschitz_digits" lipschitz_hundred_thousandths;
  constant "first_root_digits" first_root_digits;
  constant "last_root_digits" last_root_digits;
  constant "top_digits" top_digits;
  constant "maximum_digits" maximum_digits;
  line ""; closed "softcheck::theorems"].
Eval vm_compute in header.
