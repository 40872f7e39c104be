//! Functions of real libraries, moved; and programs with allocators.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use iced_x86::{Decoder, DecoderOptions, Instruction, OpKind};
use lifetrace_transport::patch::{JUMP, Patch, Shape};

use super::families::ALL_OF_MAPPINGS;
use super::found::{self, Found, Kind};
use super::imports::Imports;
use super::mover::{self, Function, Stuck};
use super::symbols::{Image, each_function};

/// Where code is moved to in these tests, within reach of the lowest gigabyte.
const ISLAND: u64 = 0x6000_0000;

fn decode(code: &[u8], address: u64) -> Vec<Instruction> {
    Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter().collect()
}

/// All but its place, and the form of a distance, is the same.
fn does_the_same(before: &Instruction, after: &Instruction) -> bool {
    let is_branch = |it: &Instruction| it.op_count() > 0 && it.op0_kind() == OpKind::NearBranch64;
    if is_branch(before) {
        return is_branch(after)
            && before.mnemonic() == after.mnemonic()
            && before.near_branch64() == after.near_branch64();
    }
    if before.is_ip_rel_memory_operand() {
        return after.is_ip_rel_memory_operand()
            && before.code() == after.code()
            && before.ip_rel_memory_address() == after.ip_rel_memory_address()
            && before.op0_register() == after.op0_register()
            && before.op1_register() == after.op1_register();
    }
    before.eq_all_bits(after) || before == after
}

/// Checks what a function has become against what it was.
fn check_moved(function: Function<'_>, patch: &Patch) {
    let name = format!("{:#x}: {patch:?}", function.address);
    let kept = (patch.address - function.address) as usize;
    let length = usize::from(patch.length);
    assert!(length >= JUMP && patch.original() == &function.code[kept..kept + length], "{name}");
    let (code, moved) = patch.code_at(ISLAND).unwrap();
    let mut after = decode(&code[..moved], ISLAND);
    if kept > 0 {
        assert_eq!(&function.code[..4], &code[..4], "{name}");
        after.remove(0);
    }
    let before = decode(&function.code[kept..kept + length], patch.address);
    let ends = |it: &Instruction| {
        use iced_x86::FlowControl::{IndirectBranch, Return, UnconditionalBranch};
        matches!(it.flow_control(), IndirectBranch | Return | UnconditionalBranch)
    };
    let last = before.iter().position(ends).map_or(before.len(), |at| at + 1);
    for (before, after) in before[..last].iter().zip(&after) {
        assert!(does_the_same(before, after), "{before:?} became {after:?}; {name}");
    }
    match after.get(last) {
        Some(back) => {
            assert!(!before[..last].iter().any(ends), "{name}");
            assert_eq!(back.near_branch64(), patch.address + length as u64, "{name}");
            assert_eq!(after.len(), last + 1, "{name}");
        }
        None => assert!(before[..last].last().is_some_and(ends), "{name}"),
    }
}

/// Moves every function of a library; returns how many could be and how many could not.
fn move_all(path: &Path) -> (usize, usize) {
    let file = File::open(path).unwrap();
    let image = Image::open(&file).unwrap();
    let mut functions = Vec::new();
    each_function(&file, |_, symbol| functions.push((symbol.address, symbol.size)));
    functions.sort_unstable();
    functions.dedup();
    let (mut done, mut stuck) = (0, 0);
    for (address, size) in functions {
        let code = image.read(&file, address, size as usize + 24);
        let function = Function { address, code: &code, length: (size as usize).min(code.len()) };
        match mover::patch(function) {
            Ok(patch) => {
                check_moved(function, &patch);
                done += 1;
            }
            Err(_) => stuck += 1,
        }
    }
    (done, stuck)
}

/// A library that a program of these tests has loaded.
fn library(name: &str) -> Option<PathBuf> {
    let folders = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

#[test]
fn every_function_of_the_c_library_does_the_same_elsewhere() {
    let Some(path) = library("libc.so.6") else { return };
    let (done, stuck) = move_all(&path);
    assert!(done > 1500 && done > 3 * stuck, "{done} moved, {stuck} not");
}

#[test]
fn functions_for_mappings_of_the_c_library() {
    let Some(path) = library("libc.so.6") else { return };
    let found = found::find(&File::open(path).unwrap(), Kind::Library);
    for shape in ALL_OF_MAPPINGS {
        assert_eq!(found.mappings.iter().filter(|it| it.shape == shape).count(), 1, "{shape:?}");
    }
    assert!(found.mappings.len() <= ALL_OF_MAPPINGS.len() + 1 && found.prctl.is_some());
}

#[test]
fn every_function_of_the_c_plus_plus_library_does_the_same_elsewhere() {
    let Some(path) = library("libstdc++.so.6") else { return };
    let (done, stuck) = move_all(&path);
    assert!(done > 3000 && done > 2 * stuck, "{done} moved, {stuck} not");
}

fn moved(code: &[u8], length: usize) -> Result<Patch, Stuck> {
    let mut padded = code.to_vec();
    padded.resize(64, 0x06);
    mover::patch(Function { address: 0x1000, code: &padded, length })
}

#[test]
fn what_cannot_be_moved_is_left() {
    // push rax; call; pop rcx; ret
    let call = [0x50, 0xe8, 1, 0, 0, 0, 0x59, 0xc3];
    assert_eq!(moved(&call, 8), Err(Stuck::Instruction));
    // test; je to itself; ...
    let back = [0x48, 0x85, 0xff, 0x90, 0x90, 0x90, 0x75, 0xfb, 0xc3];
    assert_eq!(moved(&back, 9), Err(Stuck::Target));
    // A jump to where it begins.
    let again = [0x48, 0x85, 0xff, 0x90, 0x90, 0x90, 0x75, 0xf8, 0xc3];
    assert_eq!(moved(&again, 9), Err(Stuck::Target));
    // xor eax, eax; ret; another function
    assert_eq!(moved(&[0x31, 0xc0, 0xc3, 0x55, 0x53], 3), Err(Stuck::Short));
    let whole = Function { address: 0x1000, code: &[0x31, 0xc0], length: 2 };
    assert!(mover::patch(whole).is_err());
    // jrcxz
    assert_eq!(moved(&[0xe3, 0x10, 0x90, 0x90, 0x90, 0xc3], 6), Err(Stuck::Instruction));
    // ud2; nothing
    assert_eq!(moved(&[0x0f, 0x0b, 0x90, 0x90, 0x90, 0xc3], 6), Err(Stuck::Instruction));
    assert_eq!(moved(&[], 0), Err(Stuck::Instruction));
}

#[test]
fn short_functions_before_padding_can_be_moved() {
    // xor eax, eax; ret; int3 ...
    let patch = moved(&[0x31, 0xc0, 0xc3, 0xcc, 0xcc, 0xcc], 3).unwrap();
    assert_eq!((patch.length, patch.moved_length), (5, 3));
    // jmp short
    let patch = moved(&[0xeb, 0x40, 0x90, 0x90, 0x90], 2).unwrap();
    assert_eq!((patch.length, patch.moved_length, patch.fixups[0].target), (5, 5, 0x1042));
}

#[test]
fn the_mark_of_tracked_branches_stays() {
    let code = [0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53, 0x90, 0xc3];
    let patch = moved(&code, 11).unwrap();
    assert_eq!((patch.address, patch.length), (0x1004, 5));
    assert_eq!(&patch.moved[..9], &code[..9]);
}

/// Compiles a program, and looks for its allocator.
fn found(source: &str, arguments: &[&str]) -> Found {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("a");
    compile(source, &program, arguments);
    found::find(&File::open(&program).unwrap(), Kind::Program)
}

fn compile(source: &str, output: &Path, arguments: &[&str]) {
    let file = output.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-fno-builtin", "-w", "-o"]).arg(output).arg(&file).args(arguments);
    assert!(compiler.status().unwrap().success());
}

const OWN: &str = "static char pool[1 << 20]; static long used;
    __attribute__((noinline)) void *malloc(unsigned long size) { return pool + __sync_fetch_and_add(&used, size + 16); }
    void free(void *block) { __sync_fetch_and_add(&used, block != 0); }
    void *calloc(unsigned long count, unsigned long size) {
        return size && count > (1 << 30) / size ? 0 : malloc(count * size); }
    int main(void) { free(calloc(1, (unsigned long)malloc(3))); }";

#[test]
fn a_program_that_defines_malloc() {
    for arguments in [&[][..], &["-no-pie"], &["-fcf-protection=full"]] {
        let found = found(OWN, arguments);
        let of = |shape| found.patches.iter().find(move |it| it.shape == shape);
        assert!(!found.is_stuck() && found.patches.len() == 3, "{arguments:?}: {found:?}");
        assert!(of(Shape::AllocateArray).unwrap().nests && of(Shape::Allocate).unwrap().nests);
        assert!(of(Shape::Free).is_some());
    }
}

/// The names that other files may ask for are left when a program is stripped.
#[test]
fn a_stripped_program_tells_what_it_exports() {
    assert_eq!(found(OWN, &["-s", "-rdynamic"]).patches.len(), 3);
    let hidden = OWN.replace("malloc(", "mi_malloc(").replace("free(", "mi_free(");
    assert_eq!(found(&hidden, &[]).patches.len(), 2);
    let stripped = found(&hidden, &["-s"]);
    assert!(stripped.patches.is_empty() && !stripped.is_stuck());
}

/// What calls another function on one of several ways only has to be hooked itself.
#[test]
fn what_may_be_built_on_another_is_not_taken_to_be() {
    let source = OWN.replace(
        "return size && count > (1 << 30) / size ? 0 : malloc(count * size);",
        "return malloc(count * size);",
    );
    let straight = found(&source, &[]);
    assert!(!straight.is_stuck() && straight.patches.len() == 2, "{straight:?}");
    let forked = OWN.to_owned()
        + "__asm__(\".globl memalign\\n.type memalign,@function\\n\"
        \"memalign: test %edi,%edi\\njne 1f\\ncall malloc\\n1: ret\\n.size memalign,.-memalign\");";
    let forked = found(&forked, &[]);
    assert_eq!(forked.stuck, [Box::from(&b"memalign"[..])].into());
}

#[test]
fn a_program_without_an_allocator_has_none() {
    let plain = "void *malloc(unsigned long); void free(void *);
        static void mi_free(void *block) { free(block); }
        int main(void) { mi_free(malloc(7)); }";
    let found = found(plain, &[]);
    assert!(found.patches.is_empty() && !found.is_stuck(), "{found:?}");
}

/// Half of an allocator would look like one that leaks.
#[test]
fn what_cannot_be_heard_as_a_whole_is_not_heard() {
    let half = OWN.replace("void free(void *block) {", "void xfree(void *block) {").replace(
        "    int main(void) { free(",
        "    __asm__(\".globl free\\n.type free,@function\\nfree: call xfree\\nret\\n.size free,.-free\"); void free(void *);\n    int main(void) { free(",
    );
    let found = found(&half, &[]);
    assert!(found.patches.is_empty() && found.is_stuck(), "{found:?}");
}

/// What others call by their own names; C's names tell nothing.
#[test]
fn what_files_want_of_one_another() {
    let source = OWN.replace("malloc(", "mi_malloc(").replace("free(", "mi_free(")
        + "void *tc_realloc(void *, unsigned long), *realloc(void *, unsigned long);
        void *use(void *block) { return tc_realloc(realloc(block, 1), 2); }";
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("a.so");
    compile(&source, &library, &["-shared", "-fPIC"]);
    let imports = Imports::of(&File::open(&library).unwrap());
    let names = |names: &[&str]| names.iter().map(|name| Box::from(name.as_bytes())).collect();
    assert_eq!(imports.wanted, names(&["tc_realloc"]));
    assert_eq!(imports.offered, names(&["mi_malloc", "mi_free"]));
    assert!(!imports.wants_own_heap);
}

/// In a library each function is called by way of a jump through memory, as another file might have one of that
/// name.
#[test]
fn libraries_call_their_own_functions() {
    let source = "static char pool[1 << 20]; static long used;
        void *mi_malloc(unsigned long size) { return pool + __sync_fetch_and_add(&used, size + 16); }
        void mi_free(void *block) { __sync_fetch_and_add(&used, block != 0); }
        void *mi_calloc(unsigned long count, unsigned long size) {
            return size && count > (1 << 30) / size ? 0 : mi_malloc(count * size); }
        void *mi_zalloc(unsigned long size) { return mi_malloc(size); }
        __asm__(\".globl mi_memalign\\n.type mi_memalign,@function\\nmi_memalign: push %rsi\\n\"
        \"pop %rdi\\ncall mi_malloc@PLT\\nret\\n.size mi_memalign,.-mi_memalign\");";
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("a.so");
    compile(source, &library, &["-shared", "-fPIC", "-O1"]);
    let found = found::find(&File::open(&library).unwrap(), Kind::Program);
    assert!(!found.is_stuck(), "{found:?}");
    let of = |shape| found.patches.iter().find(move |it| it.shape == shape);
    // The two that call at once are observed by way of that.
    assert_eq!(found.patches.len(), 3, "{found:?}");
    assert!(of(Shape::AllocateArray).unwrap().nests && !of(Shape::Allocate).unwrap().nests);
}
