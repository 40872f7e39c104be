(* A heap of so many blocks, about, for snapshots. Says that it is made, and waits for a line.

   [made] is a list, a tree and a table, in the order in which they were made: what refers to each other lies together.
   [mixed] is a table of records that refer to each other at random: hardly anything does. *)
type tree = Leaf | Node of tree * int * tree
type record = { name : string; mutable other : record option; numbers : int list; score : float }

let rec tree depth = if depth = 0 then Leaf else Node (tree (depth - 1), depth, tree (depth - 1))
let rec log2 number = if number <= 1 then 0 else 1 + log2 (number / 2)

let made blocks =
  let third = blocks / 3 in
  let table = Hashtbl.create 16 in
  for number = 1 to third / 2 do Hashtbl.replace table number (string_of_int number) done;
  Obj.repr (List.init third Fun.id, tree (log2 (third + 1)), table)

let mix all =
  for at = Array.length all - 1 downto 1 do
    let other = Random.int (at + 1) in
    let it = all.(at) in
    all.(at) <- all.(other);
    all.(other) <- it
  done

let mixed blocks =
  let table = Hashtbl.create 16 in
  let make number =
    let numbers = [ number; number + 1; number + 2 ] and score = float_of_int number in
    { name = string_of_int number; other = None; numbers; score }
  in
  let all = Array.init (blocks / 8) make in
  mix all;
  let refer it =
    it.other <- Some all.(Random.int (Array.length all));
    Hashtbl.replace table it.name it
  in
  Array.iter refer all;
  Obj.repr table

let () =
  let make = match Sys.argv.(1) with "made" -> made | _ -> mixed in
  let kept = make (int_of_string Sys.argv.(2)) in
  Gc.full_major ();
  print_endline "made";
  ignore (input_line stdin);
  ignore (Sys.opaque_identity kept)
