(* A loop that serves requests: parse a line, look a session up, compute an answer from a cache that forgets what was
   not used for long, catch what goes wrong, and print. Shallow backtraces; blocks of every age.
   Usage: server REQUESTS *)

(* A generator of numbers of its own, so that the work is the same everywhere. *)
let state = ref 1

let random bound =
  state := ((!state * 25_214_903_917) + 11) land 0xFFFF_FFFF_FFFF;
  !state lsr 16 mod bound

exception Refused of string

type session = { user : int; mutable requests : int; mutable history : string list }
type request = { path : string list; parameters : (string * string) list; session : int }

(* What was used least recently is forgotten first: numbers of uses in a queue, the latest of each in a table. *)
module Cache = struct
  type entry = { mutable used : int; answer : string }
  type t = { entries : (string, entry) Hashtbl.t; uses : (string * int) Queue.t; mutable clock : int; limit : int }

  let create limit = { entries = Hashtbl.create limit; uses = Queue.create (); clock = 0; limit }

  let use cache key entry =
    cache.clock <- cache.clock + 1;
    entry.used <- cache.clock;
    Queue.push (key, cache.clock) cache.uses

  let rec forget cache =
    if Hashtbl.length cache.entries > cache.limit then begin
      let key, moment = Queue.pop cache.uses in
      (match Hashtbl.find_opt cache.entries key with
      | Some entry when entry.used = moment -> Hashtbl.remove cache.entries key
      | _ -> ());
      forget cache
    end

  let find cache key make =
    match Hashtbl.find_opt cache.entries key with
    | Some entry ->
        use cache key entry;
        entry.answer
    | None ->
        let entry = { used = 0; answer = make () } in
        Hashtbl.add cache.entries key entry;
        use cache key entry;
        forget cache;
        entry.answer
end

let cache = Cache.create 2_000
let sessions : (int, session) Hashtbl.t = Hashtbl.create 1_000

let parse line =
  match String.split_on_char ' ' line with
  | [ "GET"; target; session ] -> (
      match String.split_on_char '?' target with
      | [ path ] -> { path = String.split_on_char '/' path; parameters = []; session = int_of_string session }
      | [ path; query ] ->
          let parameter text =
            match String.index_opt text '=' with
            | Some at -> (String.sub text 0 at, String.sub text (at + 1) (String.length text - at - 1))
            | None -> raise (Refused text)
          in
          let parameters = List.map parameter (String.split_on_char '&' query) in
          { path = String.split_on_char '/' path; parameters; session = int_of_string session }
      | _ -> raise (Refused target))
  | _ -> raise (Refused line)

let session_of request =
  match Hashtbl.find_opt sessions request.session with
  | Some session -> session
  | None ->
      let session = { user = request.session; requests = 0; history = [] } in
      Hashtbl.replace sessions request.session session;
      session

let render name rows =
  let page = Buffer.create 256 in
  Buffer.add_string page ("<h1>" ^ name ^ "</h1>");
  List.iter (fun (key, value) -> Printf.bprintf page "<li>%s=%d</li>" key value) rows;
  Buffer.contents page

let rec last = function [] -> "" | [ item ] -> item | _ :: rest -> last rest

let compute request =
  let name = last request.path in
  if String.length name > 6 then raise (Refused name);
  let rows = List.init 12 (fun row -> (name ^ string_of_int row, String.length name * row)) in
  render name (List.sort compare rows)

let remember session text =
  session.requests <- session.requests + 1;
  session.history <- text :: session.history;
  if session.requests mod 20 = 0 then session.history <- List.filteri (fun at _ -> at < 5) session.history;
  if session.requests mod 500 = 0 then Hashtbl.remove sessions session.user

let serve line =
  match
    let request = parse line in
    let session = session_of request in
    let key = String.concat "/" request.path in
    let answer = Cache.find cache key (fun () -> compute request) in
    remember session key;
    (answer, List.length request.parameters)
  with
  | answer, parameters -> String.length answer + parameters
  | exception Refused text -> String.length text

let line () =
  let page = if random 10 < 8 then random 500 else random 100_000 in
  if random 50 = 0 then "POST nothing"
  else Printf.sprintf "GET /site/%d/p%d?from=%d&to=%d %d" (page mod 7) page (random 100) (random 100) (random 3_000)

let () =
  let requests = int_of_string Sys.argv.(1) in
  let sum = ref 0 in
  for _ = 1 to requests do
    sum := !sum + serve (line ())
  done;
  Printf.printf "%d %d %d\n" !sum (Hashtbl.length sessions) (Hashtbl.length cache.entries)
