(* Before the program: has the runtime sample at the rate SAMPLING_RATE, and do nothing with a sample. It walks no
   stack and follows no block, so what is left is what any client of its sampler has to pay. *)

let () =
  match Sys.getenv_opt "SAMPLING_RATE" with
  | None -> ()
  | Some rate ->
      let sampling_rate = float_of_string rate in
      ignore (Gc.Memprof.start ~sampling_rate ~callstack_size:0 Gc.Memprof.null_tracker)
