(** Traces of where memory was allocated, whether it was promoted and when it died, made from inside a
    program.

    The interface is Memtrace's: [Memtrace.trace_if_requested ()] becomes [Lifetrace.trace_if_requested ()].
    What is sampled, and what it costs, is what [lifetrace record] has for programs that it starts; this
    library is for static executables, and for programs that decide themselves when to be traced. *)

(** Starts a trace, which goes on until the process exits, if an environment variable asks for one:

    - [LIFETRACE=path]: a trace of that name. [%p] in it stands for the process id, [%e] for the program's
      name, [%%] for a percent sign. It is in Memtrace's format if it ends in [.ctf], else in Lifetrace's
      own. A file that exists is not overwritten.
    - [MEMTRACE=path], if there is no [LIFETRACE]: as Memtrace has it. This very file is overwritten, and is
      in Memtrace's format unless it ends in [.lt].

    The variable is then removed from the environment: programs that this one starts are not traced.

    [context] is any text that helps to identify the trace. [sampling_rate] is the probability that an
    allocated word is sampled, in (0, 1]; [LIFETRACE_RATE], or [MEMTRACE_RATE] with [MEMTRACE], has
    precedence over it. Where there is none it is {!default_sampling_rate}.

    If a trace has been started already, this is ignored, or a [Failure] with [~if_started:`Fail]. In a
    process that [lifetrace record] records it does nothing: that goes on.

    @raise Invalid_argument
      if a rate is no number in (0, 1], the trace cannot be written, or this version of OCaml has no
      [Gc.Memprof].
    @raise Failure if the program has started [Gc.Memprof] itself. *)
val trace_if_requested :
  ?if_started:[ `Fail | `Ignore ] ->
  ?context:string ->
  ?sampling_rate:float ->
  unit ->
  unit

(** A trace that was started. *)
type tracer

(** Starts a trace in this very file, which is overwritten. It is in Lifetrace's format if its name ends in
    [.lt], else in Memtrace's. In a process that [lifetrace record] records, nothing is started.

    @raise Invalid_argument as {!trace_if_requested}.
    @raise Failure as {!trace_if_requested}, and if a trace has been started already. *)
val start_tracing :
  context:string option -> sampling_rate:float -> filename:string -> tracer

(** Ends a trace: the file is complete when this returns. A trace that has ended already stays as it is. *)
val stop_tracing : tracer -> unit

(** Whether there is a trace of this process that was started here. *)
val currently_tracing : unit -> bool

(** A snapshot that was taken: the file, the number of blocks and what they take, and for how many seconds
    the program stood still. *)
type summary = { path : string; blocks : int; bytes : int; pause : float }

(** Why there is none, for people. *)
type error = [ `Msg of string ]

(** [snapshot path] writes a snapshot of the heap to that file, for [lifetrace heap]: each block that lives,
    how large it is, what it refers to, and what holds it. No collection is needed. A forked child reads the
    heap; this returns when the file is complete, and other threads go on meanwhile.

    It needs a trace: it is the recorder of that which writes the file. Blocks that were sampled are in it
    with their backtraces, if the trace is in Lifetrace's own format. In a process that [lifetrace record]
    records, [lifetrace snapshot] takes snapshots.

    A file that exists is overwritten with [~force:true] only. Exceptions are those of the program's signal
    handlers alone. *)
val snapshot : ?force:bool -> string -> (summary, error) result

(** 1e-6: one word of a million. *)
val default_sampling_rate : float

(** Memory outside OCaml's heap, in the same trace. *)
module External : sig
  (** A sampled block. *)
  type token [@@immediate]

  (** [alloc ~bytes] reports that so many bytes have been allocated. While a trace is being made, a few
      calls return a token, which is to be given to {!free} when the memory is freed. *)
  val alloc : bytes:int -> token option

  (** The memory of a token is free again. *)
  val free : token -> unit
end
