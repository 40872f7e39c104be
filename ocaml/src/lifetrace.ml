(* The stubs are crates/ocaml-library. They never raise, call back or allocate in OCaml's heap; what may
   raise, the start of Gc.Memprof, is called from here. *)

external start_recording :
  output:string ->
  is_template:(int[@untagged]) ->
  context:string ->
  parameters:string ->
  rate:(float[@unboxed]) ->
  room:bytes ->
  room_bytes:(int[@untagged]) ->
  (int[@untagged]) = "lifetrace_no_bytecode" "lifetrace_start"

external stop_recording : unit -> unit = "lifetrace_stop"
external abandon_recording : unit -> unit = "lifetrace_abandon"

external is_active : unit -> (int[@untagged])
  = "lifetrace_no_bytecode" "lifetrace_is_active"

external forget_variable : string -> unit = "lifetrace_forget_variable"

(* A static block, in which the runtime finds closures. *)
type tracker

external tracker : unit -> tracker = "lifetrace_tracker"
external depth : unit -> (int[@untagged]) = "lifetrace_no_bytecode" "lifetrace_depth"

(* Gc.Memprof.start and stop. What start returns since 5.3 is of no use. *)
external start_memprof : float -> int -> tracker -> Obj.t = "caml_memprof_start"
external stop_memprof : unit -> unit = "caml_memprof_stop"

(* The number of the trace; 0 is none. *)
type tracer = int

let default_sampling_rate = 1e-6
let currently_tracing () = is_active () <> 0

(* Whether Memprof has been started here and not stopped, be it in a parent process. *)
let is_sampling = ref false
let last_tracer = ref 0

let stop_sampling () =
  if !is_sampling then begin
    is_sampling := false;
    (* The program may have stopped it itself. *)
    try stop_memprof () with Failure _ -> ()
  end

module External = struct
  type token = int

  external draw : (int[@untagged]) -> (int[@untagged])
    = "lifetrace_no_bytecode" "lifetrace_external_draw"
    [@@noalloc]

  external gap : unit -> (int[@untagged])
    = "lifetrace_no_bytecode" "lifetrace_external_gap"
    [@@noalloc]

  external announce :
    (int[@untagged]) -> (int[@untagged]) -> Printexc.raw_backtrace -> (int[@untagged])
    = "lifetrace_no_bytecode" "lifetrace_external_alloc"

  external free : (int[@untagged]) -> unit
    = "lifetrace_no_bytecode" "lifetrace_external_free"

  (* Words that pass before the next hit. *)
  let words_left = ref max_int
  let callstack_size = ref 0

  (* Its own frame, the first of the callstack, is left out by [announce]. *)
  let[@inline never] sample words samples =
    let token = announce words samples (Printexc.get_callstack !callstack_size) in
    if token < 0 then None else Some token

  let[@inline never] hit words =
    let samples = draw (-1 - !words_left) in
    words_left := gap ();
    sample words samples

  let[@inline never] alloc ~bytes =
    let left = !words_left in
    if left = max_int then None
    else begin
      let words = if bytes <= 0 then 0 else (bytes + 7) / 8 in
      words_left := left - words;
      if words > left then hit words else None
    end

  let stop () = words_left := max_int

  (* The stubs learn [sample]'s frame, to leave out its callstacks where Memprof samples them. *)
  let prepare () =
    callstack_size := depth () + 1;
    ignore (sample 0 0)

  let start () =
    ignore (draw (-1));
    words_left := gap ()
end

let stop () =
  External.stop ();
  if currently_tracing () then begin
    stop_sampling ();
    stop_recording ()
  end

let () = at_exit stop
let stop_tracing tracer = if tracer <> 0 && tracer = !last_tracer then stop ()

let start_sampling sampling_rate =
  (* Of a parent process that has forked this one. *)
  stop_sampling ();
  External.prepare ();
  match start_memprof sampling_rate (depth ()) (tracker ()) with
  | _ ->
    is_sampling := true;
    External.start ()
  | exception Failure reason ->
    abandon_recording ();
    failwith ("Lifetrace: Gc.Memprof is in use by the program: " ^ reason)

let check_rate rate =
  if not (0. < rate && rate <= 1.) then
    invalid_arg (Printf.sprintf "Lifetrace: the sampling rate %g is not between 0 and 1" rate)

let start ~if_started ~is_template ~context ~sampling_rate output =
  check_rate sampling_rate;
  if String.contains output '\000' then invalid_arg "Lifetrace: a zero byte in a file name";
  let room = Bytes.create 1024 in
  let result =
    start_recording ~output
      ~is_template:(Bool.to_int is_template)
      ~context:(Option.value context ~default:"")
      ~parameters:(Sys.runtime_parameters ()) ~rate:sampling_rate ~room
      ~room_bytes:(Bytes.length room)
  in
  match result, if_started with
  | 0, _ ->
    let tracer = !last_tracer + 1 in
    last_tracer := tracer;
    start_sampling sampling_rate;
    tracer
  | 1, _ -> 0
  | 2, `Ignore -> !last_tracer
  | 2, `Fail -> failwith "Lifetrace: there is a trace already"
  | length, _ ->
    invalid_arg (Printf.sprintf "Lifetrace: %s" (Bytes.sub_string room 0 (-length)))

let start_tracing ~context ~sampling_rate ~filename =
  start ~if_started:`Fail ~is_template:false ~context ~sampling_rate filename

let wish name =
  match Sys.getenv_opt name with
  | None | Some "" -> None
  | wish -> wish

let rate_of ~variable sampling_rate =
  match wish variable with
  | None -> Option.value sampling_rate ~default:default_sampling_rate
  | Some text ->
    (match float_of_string_opt text with
     | Some rate -> rate
     | None -> invalid_arg (Printf.sprintf "Lifetrace: %s=%s is no number" variable text))

external begin_snapshot :
  string -> (int[@untagged]) -> bytes -> (int[@untagged]) -> (int[@untagged])
  = "lifetrace_no_bytecode" "lifetrace_begin_snapshot"

external wait_for_snapshot : (int[@untagged]) -> unit
  = "lifetrace_no_bytecode" "lifetrace_wait_for_snapshot"

external snapshot_answer : (int[@untagged]) -> bytes -> (int[@untagged]) -> (int[@untagged])
  = "lifetrace_no_bytecode" "lifetrace_snapshot_answer"

external forget_snapshot : (int[@untagged]) -> unit
  = "lifetrace_no_bytecode" "lifetrace_forget_snapshot"

type summary = { path : string; blocks : int; bytes : int; pause : float }
type error = [ `Msg of string ]

let summary answer =
  match String.split_on_char '\000' answer with
  | [ path; blocks; bytes; nanoseconds ] ->
    let pause = float_of_string nanoseconds /. 1e9 in
    { path; blocks = int_of_string blocks; bytes = int_of_string bytes; pause }
  | _ -> assert false

(* Allocates each time, so that signals are handled. *)
let rec await_snapshot number =
  wait_for_snapshot number;
  let room = Bytes.create 8192 in
  match snapshot_answer number room (Bytes.length room) with
  | 0 -> await_snapshot number
  | length when length < 0 -> Error (`Msg (Bytes.sub_string room 0 (-length)))
  | length -> Ok (summary (Bytes.sub_string room 0 length))

let snapshot ?(force = false) path =
  if String.contains path '\000' then Error (`Msg "a zero byte in a file name")
  else begin
    let room = Bytes.create 8192 in
    let number = begin_snapshot path (Bool.to_int force) room (Bytes.length room) in
    if number < 0 then Error (`Msg (Bytes.sub_string room 0 (-number)))
    else
      (* A signal handler may raise. *)
      Fun.protect (fun () -> await_snapshot number) ~finally:(fun () -> forget_snapshot number)
  end

let trace_if_requested ?(if_started = `Ignore) ?context ?sampling_rate () =
  let trace variable ~is_template output =
    forget_variable variable;
    let sampling_rate = rate_of ~variable:(variable ^ "_RATE") sampling_rate in
    ignore (start ~if_started ~is_template ~context ~sampling_rate output : tracer)
  in
  match wish "LIFETRACE", wish "MEMTRACE" with
  | Some output, _ -> trace "LIFETRACE" ~is_template:true output
  | None, Some output -> trace "MEMTRACE" ~is_template:false output
  | None, None -> ()
