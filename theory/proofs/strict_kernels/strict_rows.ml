(* strict_rows < QUESTIONS: a line each, answered by a line of words of 32 bits:

     softmax THETA LOGIT ...
     tree_softmax THETA LOGIT ...
     tree_logsumexp THETA LOGIT ...
     tree_entropy THETA LOGIT ...
     logsumexp THETA LOGIT ...
     entropy THETA LOGIT ...

   THETA is the word of a double, a logit that of an f32, as they lie in memory: hexadecimal, without a prefix, of all their
   digits. A masked item is -inf. Whatever cannot be read ends the program. *)

module Model = Strict_kernels

let malformed what = failwith ("strict_rows: " ^ what)

let word_of digits text =
  let hexadecimal = function '0' .. '9' | 'a' .. 'f' -> true | _ -> false in
  if String.length text = digits && String.for_all hexadecimal text then Z.of_string_base 16 text
  else malformed (Printf.sprintf "need %d hexadecimal digits, got '%s'" digits text)

let answered_by model theta logits = model (word_of 16 theta) (List.map (word_of 8) logits)
let one model theta row = [ model theta row ]
let print words = print_endline (String.concat " " (List.map (Z.format "%08x") words))

let () =
  try
    while true do
      match String.split_on_char ' ' (input_line stdin) with
      | "softmax" :: theta :: logits -> print (answered_by Model.softmax_words theta logits)
      | "tree_softmax" :: theta :: logits -> print (answered_by Model.tree_softmax_words theta logits)
      | "tree_logsumexp" :: theta :: logits -> print (answered_by (one Model.tree_logsumexp_word) theta logits)
      | "tree_entropy" :: theta :: logits -> print (answered_by (one Model.tree_entropy_word) theta logits)
      | "logsumexp" :: theta :: logits -> print (answered_by (one Model.logsumexp_word) theta logits)
      | "entropy" :: theta :: logits -> print (answered_by (one Model.entropy_word) theta logits)
      | line -> malformed ("no such question: '" ^ String.concat " " line ^ "'")
    done
  with
  | End_of_file -> ()
  | Failure text | Invalid_argument text ->
      prerr_endline text;
      exit 3
