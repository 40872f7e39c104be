(* List.map over long lists, which recurses once per element: what a program does that maps lists of thousands of
   elements by the standard library of OCaml 4. Backtraces of some thousand frames. Usage: deep ROUNDS *)

let length = 9_000

let round number =
  let numbers = List.init length (fun item -> (item * 2_654_435_761) lxor number) in
  let pairs = List.map (fun item -> (item lsr 7, number)) numbers in
  List.fold_left (fun sum (item, _) -> sum + item) 0 pairs

let () =
  let rounds = int_of_string Sys.argv.(1) in
  let sum = ref 0 in
  for number = 1 to rounds do
    sum := !sum + round number
  done;
  Printf.printf "%d\n" !sum
