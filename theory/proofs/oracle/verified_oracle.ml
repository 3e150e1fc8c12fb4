(* verified_oracle < ROWS: a line "BITS LOGIT ...", the logits hex floats, is answered by the proved enclosures of the row:
   "logsumexp LOWER UPPER", "entropy LOWER UPPER" and, item by item, "coefficient LOWER UPPER", then "end". The bounds are
   exact: hexadecimal integers times powers of two. *)

module Oracle = Interval_oracle

let dyadic_of_float x =
  if not (Float.is_finite x) then invalid_arg "verified_oracle: need finite logits";
  let mantissa, exponent = Float.frexp x in
  (Z.of_float (Float.ldexp mantissa 53), Z.of_int (exponent - 53))

let text_of (mantissa, exponent) =
  (if Z.sign mantissa < 0 then "-" else "") ^ "0x" ^ Z.format "%x" (Z.abs mantissa) ^ "p" ^ Z.to_string exponent

let print name enclosure =
  match Oracle.bounds enclosure with
  | Some (lower, upper) -> Printf.printf "%s %s %s\n" name (text_of lower) (text_of upper)
  | None -> Printf.printf "%s unbounded\n" name

let answer line =
  match String.split_on_char ' ' (String.trim line) with
  | bits :: (_ :: _ as words) ->
      let floats = List.map float_of_string words in
      let logits = List.map dyadic_of_float floats in
      (* Any reference point is proved right; the largest logit gives the narrowest enclosures. *)
      let reference = dyadic_of_float (List.fold_left Float.max neg_infinity floats) in
      let precision = Oracle.precision_of_bits (Z.of_string bits) in
      print "logsumexp" (Oracle.logsumexp precision reference logits);
      print "entropy" (Oracle.row_entropy precision reference logits);
      List.iter (print "coefficient") (Oracle.coefficients precision reference logits);
      print_endline "end"
  | _ -> invalid_arg ("verified_oracle: need a precision and at least one logit, got '" ^ line ^ "'")

let () =
  try
    while true do
      answer (input_line stdin)
    done
  with
  | End_of_file -> ()
  | Invalid_argument text | Failure text ->
      prerr_endline text;
      exit 3
