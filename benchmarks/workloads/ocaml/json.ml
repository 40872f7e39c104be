(* A deeply nested JSON document, most of which lies at its bottom, is made, printed, parsed, changed and measured by
   functions that recurse through it: backtraces of some 700 frames. Usage: json ROUNDS *)

type json =
  | Null
  | Number of int
  | String of string
  | List of json list
  | Object of (string * json) list

(* So many levels, of four to eight frames each. *)
let depth = 145

(* So many objects at the bottom. *)
let bottom = 400

let leaf seed number =
  Object [ ("key", String (string_of_int number)); ("value", List [ Number (seed + number); Null ]) ]

let rec make level seed =
  if level = 0 then List (List.init bottom (leaf seed))
  else
    Object
      [
        ("id", Number (seed + level));
        ("name", String ("level " ^ string_of_int level));
        ("items", List (make_items level seed));
        ("tail", Null);
      ]

and make_items level seed =
  let child = make (level - 1) (seed + 1) in
  [ String (string_of_int seed); child; Number (seed * level) ]

let rec print buffer = function
  | Null -> Buffer.add_string buffer "null"
  | Number number -> Buffer.add_string buffer (string_of_int number)
  | String text -> print_text buffer text
  | List items -> print_all buffer '[' ']' print items
  | Object fields -> print_all buffer '{' '}' print_field fields

and print_text buffer text =
  Buffer.add_char buffer '"';
  Buffer.add_string buffer text;
  Buffer.add_char buffer '"'

and print_field buffer (name, value) =
  print_text buffer name;
  Buffer.add_char buffer ':';
  print buffer value;
  ()

and print_all : 'a. Buffer.t -> char -> char -> (Buffer.t -> 'a -> unit) -> 'a list -> unit =
 fun buffer first last print items ->
  Buffer.add_char buffer first;
  List.iteri
    (fun at item ->
      if at > 0 then Buffer.add_char buffer ',';
      print buffer item)
    items;
  Buffer.add_char buffer last

type source = { text : string; mutable at : int }

let current source = source.text.[source.at]
let step source = source.at <- source.at + 1

let expect source char =
  if current source <> char then failwith (Printf.sprintf "at %d: no %c" source.at char);
  step source

let rec parse source =
  match current source with
  | 'n' ->
      source.at <- source.at + 4;
      Null
  | '"' -> String (parse_text source)
  | '[' ->
      let items = parse_all source '[' ']' parse in
      List items
  | '{' ->
      let fields = parse_all source '{' '}' parse_field in
      Object fields
  | _ -> Number (parse_number source)

and parse_text source =
  expect source '"';
  let first = source.at in
  while current source <> '"' do
    step source
  done;
  let text = String.sub source.text first (source.at - first) in
  step source;
  text

and parse_number source =
  let first = source.at in
  while match current source with '-' | '0' .. '9' -> true | _ -> false do
    step source
  done;
  int_of_string (String.sub source.text first (source.at - first))

and parse_field source =
  let name = parse_text source in
  expect source ':';
  let value = parse source in
  (name, value)

and parse_all : 'a. source -> char -> char -> (source -> 'a) -> 'a list =
 fun source first last parse ->
  expect source first;
  let rec rest items =
    let item = parse source in
    let items = item :: items in
    if current source = ',' then begin
      step source;
      rest items
    end
    else begin
      expect source last;
      List.rev items
    end
  in
  rest []

let rec change = function
  | Null -> Null
  | Number number -> Number (number + 1)
  | String text -> String (String.uppercase_ascii text)
  | List items -> List (List.map change items)
  | Object fields -> Object (List.map (fun (name, value) -> (name, change value)) fields)

let rec size = function
  | Null | Number _ | String _ -> 1
  | List items -> List.fold_left (fun sum item -> sum + size item) 1 items
  | Object fields -> List.fold_left (fun sum (_, value) -> sum + size value) 1 fields

let round number =
  let document = make depth number in
  let buffer = Buffer.create 1_000 in
  print buffer document;
  let parsed = parse { text = Buffer.contents buffer; at = 0 } in
  if parsed <> document then failwith "what was printed is not what was parsed";
  size (change parsed) + Buffer.length buffer

let () =
  let sum = ref 0 in
  for number = 1 to int_of_string Sys.argv.(1) do
    sum := !sum + round number
  done;
  Printf.printf "%d\n" !sum
