(* strict_rows < QUESTIONS: a line each, answered by a line of words:

     softmax THETA LOGIT ...
     logsumexp THETA LOGIT ...
     entropy THETA LOGIT ...
     logarithm S ...
     compensated Z ITEM ...

   THETA and S are words of doubles, all others those of f32, as they lie in memory: hexadecimal, without a prefix, of all
   their digits. A masked item is -inf. logarithm is ln (1 + S) in double. compensated is value and rest of the items' sum
   plus e^Z times it. Whatever cannot be read ends the program. *)

module Model = Strict_kernels

let malformed what = failwith ("strict_rows: " ^ what)

let word_of digits text =
  let hexadecimal = function '0' .. '9' | 'a' .. 'f' -> true | _ -> false in
  if String.length text = digits && String.for_all hexadecimal text then Z.of_string_base 16 text
  else malformed (Printf.sprintf "need %d hexadecimal digits, got '%s'" digits text)

let single = word_of 8
let double = word_of 16
let row model theta logits = model (double theta) (List.map single logits)
let print format words = print_endline (String.concat " " (List.map (Z.format format) words))

let () =
  try
    while true do
      match String.split_on_char ' ' (input_line stdin) with
      | "softmax" :: theta :: logits -> print "%08x" (row Model.tree_softmax_words theta logits)
      | "logsumexp" :: theta :: logits -> print "%08x" [ row Model.tree_logsumexp_word theta logits ]
      | "entropy" :: theta :: logits -> print "%08x" [ row Model.tree_entropy_word theta logits ]
      | "logarithm" :: sums -> print "%016x" (List.map (fun s -> Model.logarithm_word (double s)) sums)
      | "compensated" :: z :: items -> print "%08x" (Model.compensated_words (single z) (List.map single items))
      | line -> malformed ("no such question: '" ^ String.concat " " line ^ "'")
    done
  with
  | End_of_file -> ()
  | Failure text | Invalid_argument text ->
      prerr_endline text;
      exit 3
