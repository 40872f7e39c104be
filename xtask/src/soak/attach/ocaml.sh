# A busy OCaml program that checks what it keeps.
cat > busy.ml <<'END'
let over = ref false
let () = Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> over := true))
let sum l = List.fold_left (+) 0 l
let () =
  print_endline "ready"; flush stdout;
  let kept = Array.make 100 [] in
  let i = ref 0 in
  while not !over do
    incr i;
    let l = List.init 200 (fun k -> k) in
    let b = Buffer.create 100 in
    List.iter (fun k -> Buffer.add_string b (string_of_int k)) l;
    if Buffer.length b <> 490 then (print_endline "wrong"; exit 1);
    kept.(!i mod 100) <- l;
    if kept.(!i * 7 mod 100) <> [] && sum kept.(!i * 7 mod 100) <> 19900 then (print_endline "wrong"; exit 1)
  done;
  print_endline "ok"
END
ocamlfind ocamlopt -package unix busy.ml -o busy > log 2>&1
./busy > output & pid=$!
until grep -q ready output; do sleep 0.1; done
echo "ready $pid"
cat > /dev/null
kill -USR1 $pid
wait $pid && [ "$(tail -1 output)" = ok ]
