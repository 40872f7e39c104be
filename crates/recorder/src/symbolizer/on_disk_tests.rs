//! Names from files of programs that do not run, wherever they lie.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSegment, ObjectSymbol};

use super::on_disk::{MappedPlace, SymbolsOnDisk, Unfound, Unnamed};

const SOURCE: &str = "\
__attribute__((noinline)) int outer(volatile int *p) { return *p + 1; }
int main(void) { volatile int i = 0; return outer(&i); }
";

/// Where it says that `outer` is.
struct Program {
    folder: tempfile::TempDir,
    place: MappedPlace,
    build_id: Vec<u8>,
}

impl Program {
    fn new(options: &[&str]) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("a.c"), folder.path().join("program"));
        std::fs::write(&source, SOURCE).unwrap();
        run(Command::new("gcc").args(options).arg("-o").arg(&program).arg(&source));
        let bytes = std::fs::read(&program).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let address = object.symbols().find(|it| it.name() == Ok("outer")).unwrap().address();
        let offset = object.segments().find_map(|it| {
            let inside = address.checked_sub(it.address())?;
            (inside < it.file_range().1).then_some(it.file_range().0 + inside)
        });
        // As if it had been loaded there; what is not position-independent is where it says.
        let is_fixed = object.kind() == object::ObjectKind::Executable;
        let start = if is_fixed { 0x40_0000 } else { 0x5500_0000_0000 };
        let place = MappedPlace {
            offset: offset.unwrap(),
            address: if is_fixed { address } else { start + address },
            is_stated: false,
            start: Some(start),
        };
        let build_id = object.build_id().unwrap().unwrap_or_default().to_vec();
        Program { folder, place, build_id }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    /// The name of `outer`, as looked for in `folder`, where it is said to be at `path`.
    fn name(&self, path: &Path, folder: Option<&Path>) -> Result<String, String> {
        let symbols =
            SymbolsOnDisk::start(folder.map(Path::to_owned).into_iter().collect()).unwrap();
        let file = symbols.find(path, &self.build_id).map_err(|error| format!("{error:?}"))?;
        let found = symbols.locations(&file, self.place).map_err(|error| format!("{error:?}"))?;
        Ok(found[0].defname.to_string())
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn objcopy(from: &Path, to: &Path, option: &str) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    run(Command::new("objcopy").arg(option).arg(from).arg(to));
}

const KINDS: [&[&str]; 3] = [&["-g"], &["-g", "-no-pie"], &["-g", "-static-pie"]];

#[test]
fn what_is_where_it_was_is_named() {
    for options in KINDS {
        let program = Program::new(options);
        assert_eq!(program.name(&program.path(), None).unwrap(), "outer", "{options:?}");
    }
}

#[test]
fn a_folder_may_have_the_file_or_its_debug_information() {
    for options in KINDS {
        let program = Program::new(options);
        let (first, rest) = program.build_id.split_first().unwrap();
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = tempfile::tempdir().unwrap();
        let gone = Path::new("/gone/program");
        assert_eq!(program.name(gone, Some(folder.path())), Err("Nowhere".to_owned()));
        for (within, option) in [
            ("program".to_owned(), "--strip-debug"),
            ("gone/program".to_owned(), "--strip-debug"),
            ("program.debug".to_owned(), "--only-keep-debug"),
            (format!(".build-id/{first:02x}/{rest}.debug"), "--only-keep-debug"),
            (format!("{first:02x}{rest}/debuginfo"), "--only-keep-debug"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            objcopy(&program.path(), &folder.path().join(&within), option);
            let name = program.name(gone, Some(folder.path()));
            assert_eq!(name, Ok("outer".to_owned()), "{options:?} {within}");
        }
    }
}

#[test]
fn another_file_of_that_name_is_not_believed() {
    let (program, other) = (Program::new(&["-g"]), Program::new(&["-O2"]));
    assert_eq!(program.name(&other.path(), None), Err(format!("{:?}", Unfound::OtherBuild)));
    let text = program.folder.path().join("a.c");
    assert_eq!(program.name(&text, None), Err(format!("{:?}", Unfound::Nowhere)));
}

#[test]
fn without_a_build_id_the_name_has_to_do_and_the_place_must_be_in_it() {
    let program = Program { build_id: Vec::new(), ..Program::new(&[]) };
    assert_eq!(program.name(&program.path(), None).unwrap(), "outer");
    let far = MappedPlace { offset: 1 << 30, ..program.place };
    let outside = Program { place: far, ..program };
    assert_eq!(outside.name(&outside.path(), None), Err(format!("{:?}", Unnamed::Outside)));
}

#[test]
fn an_address_may_be_the_one_that_the_file_states() {
    // Code lies elsewhere in the file than in memory.
    for options in [&["-no-pie"][..], &["-Wl,--section-start=.text=0x123450"]] {
        let program = Program::new(options);
        let MappedPlace { offset, address, start, .. } = program.place;
        let address = if options[0] == "-no-pie" { address } else { address - start.unwrap() };
        assert_ne!(offset, address);
        let place = MappedPlace { offset: address, address, is_stated: true, start: Some(0) };
        let program = Program { place, ..program };
        assert_eq!(program.name(&program.path(), None).unwrap(), "outer", "{options:?}");
        let place = MappedPlace { address: 1 << 40, ..place };
        let outside = Program { place, ..program };
        assert_eq!(outside.name(&outside.path(), None), Err(format!("{:?}", Unnamed::Outside)));
    }
}

#[test]
fn a_stripped_file_has_no_symbol() {
    let program = Program::new(&[]);
    objcopy(&program.path(), &program.path(), "--strip-all");
    let name = program.name(&program.path(), None);
    assert_eq!(name, Err(format!("{:?}", Unnamed::NoSymbol)));
}
