(* List.map over short lists, which recurses once per element: backtraces of as many frames, and nothing that lives
   long. An element costs some arithmetic, as it does where lists are for something. Usage: listmap ROUNDS *)

let length = 200

let rec scramble times number =
  if times = 0 then number else scramble (times - 1) (((number * 2_654_435_761) lxor (number lsr 13)) land 0xFFFF_FFFF)

let round number =
  let numbers = List.init length (fun item -> item + number) in
  let scrambled = List.map (fun item -> scramble 8 item) numbers in
  let pairs = List.map (fun item -> (scramble 8 item, number)) scrambled in
  let texts = if number land 15 = 0 then List.map (fun (item, _) -> string_of_int item) pairs else [] in
  List.fold_left (fun sum (item, _) -> sum + item) (List.length texts) pairs

let () =
  let rounds = int_of_string Sys.argv.(1) in
  let sum = ref 0 in
  for number = 1 to rounds do
    sum := !sum + round number
  done;
  Printf.printf "%d\n" !sum
