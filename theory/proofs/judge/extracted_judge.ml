(* extracted_judge < QUESTIONS: a line each,

     contract NAME VALUE ...              every number of the contract by its name, and its word sum=: sequential, tree,
                                          lanes:K or blocks:K
     row BITS THETA LOGIT ...             in the row's order, "masked" for a masked item; BITS is the intervals' precision
     coefficient LOGIT OUTPUT ...         of the item at that logit
     logsumexp OUTPUT ...
     entropy OUTPUT ...

   Numbers are hexadecimal floats, K is decimal. Each of the last three is answered by a line of as many words as it has
   outputs: "violated", which is a theorem, or "not_violated", which is not. Whatever cannot be read ends the program. *)

module Judge = Judge_of_values

let malformed what = failwith ("extracted_judge: " ^ what)

(* Exactly, in lowest terms: equal numbers are equal pairs. *)
let dyadic_of text =
  let value =
    match float_of_string_opt text with
    | Some value when Float.is_finite value && String.contains text 'x' -> value
    | _ -> malformed ("need a finite hexadecimal float, got '" ^ text ^ "'")
  in
  if value = 0. then (Z.zero, Z.zero)
  else
    let fraction, exponent = Float.frexp value in
    let mantissa = Z.of_float (Float.ldexp fraction 53) in
    let zeros = Z.trailing_zeros mantissa in
    (Z.shift_right mantissa zeros, Z.of_int (exponent - 53 + zeros))

let sum_of text =
  let size text =
    match int_of_string_opt text with
    | Some size when size >= 1 -> Z.of_int size
    | _ -> malformed ("need a count of at least 1, got '" ^ text ^ "'")
  in
  match String.split_on_char ':' text with
  | [ "sequential" ] -> Judge.Sequential
  | [ "tree" ] -> Judge.Tree_of_pairs
  | [ "lanes"; lanes ] -> Judge.Lanes (size lanes)
  | [ "blocks"; items ] -> Judge.Blocks (size items)
  | _ -> malformed ("no such sum: '" ^ text ^ "'")

let rec pairs_of = function
  | [] -> []
  | name :: value :: rest -> (name, value) :: pairs_of rest
  | [ name ] -> malformed ("no value of '" ^ name ^ "'")

let names = 17

let contract_of words =
  let pairs = pairs_of words in
  let text name =
    match List.filter (fun (other, _) -> other = name) pairs with
    | [ (_, value) ] -> value
    | _ -> malformed ("need '" ^ name ^ "' of a contract once")
  in
  let number name = dyadic_of (text name) in
  if List.length pairs <> names then malformed "a contract has other numbers than these";
  let numbers = {
    Judge.accumulator_roundoff = number "accumulator_roundoff";
    exponential_error = number "exponential_error";
    logarithm_error = number "logarithm_error";
    argument_roundings = number "argument_roundings";
    argument_extra = number "argument_extra";
    difference_loss = number "difference_loss";
    sum_loss = number "sum_loss";
    product_loss = number "product_loss";
    exponential_loss = number "exponential_loss";
    last_argument = number "last_argument";
    conversion_error = number "conversion_error";
    scaling_error = number "scaling_error";
    reciprocal_loss = number "reciprocal_loss";
    result_roundoff = number "result_roundoff";
    result_loss = number "result_loss";
    smallest_number = number "smallest_number";
    (* The judge puts the word's in their place. *)
    most_additions = Z.zero;
    most_rescalings = Z.zero;
  } in
  (numbers, sum_of (text "sum"))

type row = {
  coefficient : (Z.t * Z.t) -> (Z.t * Z.t) -> Judge.verdict;
  logsumexp : (Z.t * Z.t) -> Judge.verdict;
  entropy : (Z.t * Z.t) -> Judge.verdict;
}

(* What a row has in common for all its values is computed when the first of them is asked for. *)
let row_of (numbers, sum) bits theta logits =
  let precision = Judge.precision_of_bits (Z.of_string bits) in
  let theta = dyadic_of theta in
  let items = List.map (function "masked" -> None | logit -> Some (dyadic_of logit)) logits in
  let coefficient = lazy (Judge.declared_coefficient numbers sum theta items precision) in
  let logsumexp = lazy (Judge.declared_logsumexp numbers sum theta items precision) in
  let entropy = lazy (Judge.declared_entropy numbers sum theta items precision) in
  {
    coefficient = (fun item output -> Lazy.force coefficient item output);
    logsumexp = (fun output -> Lazy.force logsumexp output);
    entropy = (fun output -> Lazy.force entropy output);
  }

let word_of = function Judge.Violated -> "violated" | Judge.Not_violated -> "not_violated"

let answer verdict outputs =
  if outputs = [] then malformed "no output to judge";
  print_endline (String.concat " " (List.map (fun output -> word_of (verdict (dyadic_of output))) outputs))

let () =
  let contract = ref None and row = ref None in
  let the_row () = match !row with Some row -> row | None -> malformed "no row before the first output" in
  try
    while true do
      match String.split_on_char ' ' (input_line stdin) with
      | "contract" :: words ->
          contract := Some (contract_of words);
          row := None
      | "row" :: bits :: theta :: logits -> (
          match !contract with
          | Some contract -> row := Some (row_of contract bits theta logits)
          | None -> malformed "no contract before the first row")
      | "coefficient" :: logit :: outputs -> answer ((the_row ()).coefficient (dyadic_of logit)) outputs
      | "logsumexp" :: outputs -> answer (the_row ()).logsumexp outputs
      | "entropy" :: outputs -> answer (the_row ()).entropy outputs
      | line -> malformed ("no such question: '" ^ String.concat " " line ^ "'")
    done
  with
  | End_of_file -> ()
  | Failure text | Invalid_argument text ->
      prerr_endline text;
      exit 3
