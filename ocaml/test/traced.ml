(* A program with the library linked in; the first argument says what to do. What it prints is compared
   with its traces by crates/cli/tests/end_to_end/ocaml_library.rs. *)

let kept : Obj.t list ref = ref []
let keep value = kept := Obj.repr value :: !kept

(* Small blocks, of which a tenth stays, and large ones. *)
let[@inline never] mixed rounds =
  for round = 1 to rounds do
    let pairs = List.init 20 (fun index -> (round, index)) in
    if round mod 10 = 0 then keep pairs;
    if round mod 100 = 0 then keep (Array.make 1000 round)
  done

(* No tail calls: these are to be seen in backtraces. *)
let[@inline never] first_work () = mixed 5_000; ()
let[@inline never] second_work () = mixed 7_000; ()
let[@inline never] untraced_work () = mixed 3_000; ()

let totals () =
  let before = Gc.quick_stat () and minor_before = Gc.minor_words () in
  mixed 100_000;
  let minor = Gc.minor_words () -. minor_before and after = Gc.quick_stat () in
  let promoted = after.promoted_words -. before.promoted_words in
  let major = after.major_words -. before.major_words -. promoted in
  Printf.printf "minor %.0f promoted %.0f major %.0f\n" minor promoted major

let start = Lifetrace.start_tracing ~context:(Some "in a test")

let restart rate first second =
  let tracer = start ~sampling_rate:rate ~filename:first in
  first_work ();
  assert (Lifetrace.currently_tracing ());
  Lifetrace.stop_tracing tracer;
  assert (not (Lifetrace.currently_tracing ()));
  untraced_work ();
  let second = start ~sampling_rate:rate ~filename:second in
  (* That one has ended already. *)
  Lifetrace.stop_tracing tracer;
  second_work ();
  Lifetrace.stop_tracing second;
  Lifetrace.stop_tracing second;
  Gc.full_major ()

(* What a line of /proc/self/status says. *)
let status format =
  let lines = open_in "/proc/self/status" in
  let rec find () =
    match Scanf.sscanf (input_line lines) format Fun.id with
    | number -> number
    | exception Scanf.Scan_failure _ -> find ()
  in
  Fun.protect find ~finally:(fun () -> close_in lines)

let descriptors () = Array.length (Sys.readdir "/proc/self/fd")

let again_and_again file =
  let before = descriptors (), status "Threads: %d" in
  for _ = 1 to 30 do
    let tracer = start ~sampling_rate:1. ~filename:file in
    mixed 50;
    Lifetrace.stop_tracing tracer
  done;
  (* Threads that have nothing to do any more may still be on their way out. *)
  while before <> (descriptors (), status "Threads: %d") do Unix.sleepf 0.01 done;
  Printf.printf "shared %d\n" (status "RssShmem: %d")

let[@inline never] buffers count =
  let buffer _ = Sys.opaque_identity (Lifetrace.External.alloc ~bytes:56) in
  Sys.opaque_identity (List.init count buffer)

let external_blocks () =
  let tokens = List.filter_map Fun.id (buffers 2_000) in
  List.iteri (fun i token -> if i mod 2 = 0 then Lifetrace.External.free token) tokens;
  Printf.printf "tokens %d\n" (List.length tokens)

let wait () =
  match snd (Unix.wait ()) with
  | Unix.WEXITED code -> code
  | Unix.WSIGNALED _ | Unix.WSTOPPED _ -> 255

let[@inline never] child_work () = mixed 10_000; ()

let fork_then child =
  first_work ();
  flush_all ();
  if Unix.fork () = 0 then child ()
  else begin
    let code = wait () in
    second_work ();
    Printf.printf "child %d\n" code
  end

let trace_of_child file () =
  child_work ();
  assert (not (Lifetrace.currently_tracing ()));
  let tracer = start ~sampling_rate:1e-2 ~filename:file in
  mixed 1_000;
  Lifetrace.stop_tracing tracer;
  exit 4

(* A signal is for the program: it interrupts what that is waiting in. *)
let signals () =
  let count = ref 0 in
  Sys.set_signal Sys.sigalrm (Signal_handle (fun _ -> incr count; mixed 1));
  let timer interval =
    ignore (Unix.setitimer Unix.ITIMER_REAL { it_interval = interval; it_value = interval })
  in
  timer 1e-3;
  let thread = Thread.create (fun () -> second_work ()) () in
  first_work ();
  Thread.join thread;
  let reading, _ = Unix.pipe () in
  let interrupted = ref 0 in
  while !interrupted < 20 do
    match Unix.read reading (Bytes.create 1) 0 1 with
    | _ -> assert false
    | exception Unix.Unix_error (Unix.EINTR, _, _) -> incr interrupted
  done;
  timer 0.;
  Printf.printf "signals %b\n" (!count >= 20)

let own_memprof file =
  ignore (Obj.repr (Gc.Memprof.start ~sampling_rate:1e-3 Gc.Memprof.null_tracker));
  (match start ~sampling_rate:1e-3 ~filename:file with
   | _ -> print_endline "started"
   | exception Failure reason -> print_endline reason);
  Gc.Memprof.stop ();
  Printf.printf "file %b\n" (Sys.file_exists file);
  let tracer = start ~sampling_rate:1e-3 ~filename:file in
  (* It is the program's right. *)
  Gc.Memprof.stop ();
  first_work ();
  Lifetrace.stop_tracing tracer

let tell_failure attempt =
  match attempt () with
  | () -> print_endline "no failure"
  | exception Invalid_argument reason -> print_endline ("invalid: " ^ reason)
  | exception Failure reason -> print_endline ("failure: " ^ reason)

let refusals existing =
  let with_rate sampling_rate () = ignore (start ~sampling_rate ~filename:existing) in
  List.iter (fun rate -> tell_failure (with_rate rate)) [ 0.; -3.; 42.; nan ];
  let into filename () = ignore (start ~sampling_rate:1e-3 ~filename) in
  tell_failure (into "/nowhere/trace.lt");
  tell_failure (into "/");
  let request variable value () =
    Unix.putenv variable value;
    Lifetrace.trace_if_requested ()
  in
  tell_failure (request "LIFETRACE" existing);
  tell_failure (request "LIFETRACE" "x.%q.lt");
  Unix.putenv "LIFETRACE_RATE" "potato";
  tell_failure (request "LIFETRACE" "x.lt");
  Unix.putenv "LIFETRACE_RATE" "1e-3";
  (* Nothing of all that stands in the way of a good one. *)
  tell_failure (request "MEMTRACE" existing);
  tell_failure (Lifetrace.trace_if_requested ~if_started:`Fail);
  tell_failure (into "other.lt");
  tell_failure (request "LIFETRACE" "ignored.lt")

(* As long as nothing else is. *)
let held_words = 37
let held : int array list ref = ref []
let[@inline never] hold count = List.init count (fun index -> Array.make held_words index)

let told = function
  | Ok { Lifetrace.path; blocks; bytes; pause } ->
    assert (blocks > 0 && bytes >= 16 * blocks && pause > 0.);
    Printf.printf "saved %s\n" (Filename.basename path)
  | Error (`Msg why) -> print_endline why

(* Until the one before, which nobody waits for any more, is taken. *)
let rec insist path =
  match Lifetrace.snapshot ~force:true path with
  | Error (`Msg why) when String.ends_with ~suffix:"is being taken already" why ->
    Unix.sleepf 0.005;
    insist path
  | result -> result

let interrupted path =
  Sys.set_signal Sys.sigalrm (Signal_handle (fun _ -> raise Exit));
  let once = { Unix.it_interval = 0.; it_value = 5e-4 } in
  ignore (Unix.setitimer Unix.ITIMER_REAL once);
  match ignore (Lifetrace.snapshot ~force:true path); Unix.sleep 1 with
  | () -> assert false
  | exception Exit -> ()

let beside_threads path =
  let is_over = ref false and rounds = ref 0 in
  let work () = while not !is_over do mixed 10; kept := []; incr rounds done in
  let waiting, wake = Unix.pipe () in
  let wait () = ignore (Unix.read waiting (Bytes.create 1) 0 1) in
  let ask index = insist (Printf.sprintf "%s.%d" path index) in
  let asked = Array.make 3 (Error (`Msg "not yet")) in
  let asking index = Thread.create (fun () -> asked.(index) <- ask index) () in
  let others = Thread.create wait () :: List.init 2 (fun _ -> Thread.create work ()) in
  List.iter Thread.join (List.init 3 asking);
  is_over := true;
  ignore (Unix.write wake (Bytes.create 1) 0 1);
  List.iter Thread.join others;
  assert (!rounds > 0);
  Array.iter told asked

let snapshots folder =
  let file = Filename.concat folder in
  let snapshot ?force name = told (Lifetrace.snapshot ?force (file name)) in
  snapshot "none.lth";
  let tracer = start ~sampling_rate:0.05 ~filename:(file "t.lt") in
  held := hold 2_000;
  ignore (Sys.opaque_identity (hold 100));
  snapshot "young.lth";
  Gc.full_major ();
  snapshot "old.lth";
  snapshot "old.lth";
  snapshot ~force:true "old.lth";
  snapshot "nowhere/old.lth";
  snapshot "zero\000.lth";
  interrupted (file "interrupted.lth");
  told (insist (file "after.lth"));
  beside_threads (file "threads");
  held := [];
  snapshot "released.lth";
  Lifetrace.stop_tracing tracer;
  snapshot "late.lth"

let environment () =
  let shown name = Option.value (Sys.getenv_opt name) ~default:"none" in
  Printf.printf "LIFETRACE %s MEMTRACE %s\n%!" (shown "LIFETRACE") (shown "MEMTRACE");
  ignore (Sys.command "echo \"${LIFETRACE-none} ${MEMTRACE-none} $(ulimit -n)\"")

(* The recorder writes what it has within two seconds. *)
let rec kill_when_written file =
  if (Unix.stat file).st_size > 3_000 then Unix.kill (Unix.getpid ()) Sys.sigkill
  else begin
    Unix.sleepf 0.02;
    kill_when_written file
  end

let () =
  Lifetrace.trace_if_requested ~context:"in a test" ();
  match List.tl (Array.to_list Sys.argv) with
  | [ "totals" ] -> totals ()
  | [ "restart"; rate; first; second ] -> restart (float_of_string rate) first second
  | [ "again"; file ] -> again_and_again file
  | [ "external" ] -> external_blocks ()
  | [ "raise" ] -> first_work (); raise Not_found
  | [ "exit"; code ] -> first_work (); exit (int_of_string code)
  | [ "kill"; file ] -> first_work (); kill_when_written file
  | [ "fork" ] -> fork_then (fun () -> child_work (); exit 3)
  | [ "fork"; file ] -> fork_then (trace_of_child file)
  | [ "signals" ] -> signals ()
  | [ "memprof"; file ] -> own_memprof file
  | [ "refusals"; existing ] -> refusals existing
  | [ "snapshots"; folder ] -> snapshots folder
  | [ "snapshot"; file ] -> told (Lifetrace.snapshot file)
  | [ "environment" ] -> environment ()
  | _ -> failwith "no such thing to do"
