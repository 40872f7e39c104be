//! Names for places in the code of which a file tells addresses only.
//!
//! Who finds them is not known here: an importer asks a [`Resolver`], once for each place.

use std::collections::BTreeMap;

use lifetrace_trace::event::Location;

/// An address in a file that the program had mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot<'a> {
    /// Where the file was.
    pub path: &'a str,
    /// Empty if the profile does not tell it.
    pub build_id: &'a [u8],
    /// From the beginning of the file.
    pub offset: u64,
    /// In the process.
    pub address: u64,
    /// Whether the address is the one that the file states, wherever the process had it.
    pub is_stated: bool,
    /// Where the process had the beginning of the file, if that is known.
    pub start: Option<u64>,
}

/// Why a place has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nameless {
    /// There is no such file.
    NoFile,
    /// The file there is another.
    OtherFile,
    /// The file has no code there, so it is another.
    Outside,
    /// The file has no symbol there.
    NoSymbol,
    /// In no file, as the profile has it.
    NoMapping,
}

/// Finds names.
pub trait Resolver {
    /// The functions at a place, the outermost first and what is inlined after it.
    ///
    /// # Errors
    /// If there are none.
    fn resolve(&mut self, spot: Spot<'_>) -> Result<Vec<Location>, Nameless>;
}

/// Why, and which file.
type Reason = (Nameless, String, Vec<u8>);

/// Asks for names, and keeps account of it.
pub(crate) struct Naming<'r> {
    resolver: &'r mut dyn Resolver,
    nameless: BTreeMap<Reason, u64>,
    /// Places that the file itself names, or that were resolved.
    named: u64,
    /// Those that were resolved by a file of which only the path is known.
    by_path: u64,
}

/// So many files without names are told one by one.
const MOST_TOLD: usize = 8;

impl<'r> Naming<'r> {
    pub fn new(resolver: &'r mut dyn Resolver) -> Self {
        Self { resolver, nameless: BTreeMap::new(), named: 0, by_path: 0 }
    }

    /// Notes that the file itself has a name.
    pub fn is_told(&mut self) {
        self.named += 1;
    }

    /// The functions at a place; nothing if they cannot be found.
    pub fn of(&mut self, spot: Option<Spot<'_>>) -> Option<Vec<Location>> {
        let Some(spot) = spot.filter(|spot| !spot.path.is_empty()) else {
            *self.nameless.entry((Nameless::NoMapping, String::new(), Vec::new())).or_default() +=
                1;
            return None;
        };
        match self.resolver.resolve(spot) {
            Ok(locations) => {
                self.named += 1;
                self.by_path += u64::from(spot.build_id.is_empty());
                Some(locations)
            }
            Err(why) => {
                let reason = (why, spot.path.to_owned(), spot.build_id.to_vec());
                *self.nameless.entry(reason).or_default() += 1;
                None
            }
        }
    }

    /// How many places have no names, if any: for a label.
    pub fn shortfall(&self) -> Option<String> {
        let count: u64 = self.nameless.values().sum();
        let all = super::count(count + self.named);
        let counted = super::count(count);
        (count > 0)
            .then(|| format!("{counted} of {all} places in the code have no names, but addresses"))
    }

    /// All that is to be said of names.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.by_path > 0 {
            remarks.push(format!(
                "{} places are named by files that lie where the program's lay: this format has no \
                 build ids, so a file that was replaced since gives wrong names",
                super::count(self.by_path)
            ));
        }
        remarks.extend(self.shortfall().map(|shortfall| shortfall + &self.reasons()));
        remarks
    }

    /// File by file, those with most places first.
    fn reasons(&self) -> String {
        let mut reasons: Vec<_> = self.nameless.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let mut text: String = reasons
            .iter()
            .take(MOST_TOLD)
            .map(|(reason, count)| format!("\n  {} in {}", super::count(**count), said(reason)))
            .collect();
        if reasons.len() > MOST_TOLD {
            text += &format!("\n  and in {} more files", reasons.len() - MOST_TOLD);
        }
        if reasons.iter().any(|((why, ..), _)| *why != Nameless::NoMapping) {
            text += "\n  where such files, or their debug information, are in a folder: --symbols FOLDER";
        }
        text
    }
}

fn said((why, path, build_id): &Reason) -> String {
    let hexadecimal: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = match build_id.is_empty() {
        true => path.clone(),
        false => format!("{path} (build id {hexadecimal})"),
    };
    match why {
        Nameless::NoFile => format!("{file}, which was not found"),
        Nameless::OtherFile => format!("{file}: the files of that name have other build ids"),
        Nameless::Outside => format!("{file}: the file there has no code at these places"),
        Nameless::NoSymbol => format!("{file}, which has no symbols there"),
        Nameless::NoMapping => "no file that the profile tells of".to_owned(),
    }
}

/// What an address is called that has no name: by the file and the place in it, if they are known.
pub fn address(path: &str, place: u64) -> Location {
    let base = path.rsplit('/').next().unwrap_or_default();
    let separator = if base.is_empty() { "" } else { "+" };
    let defname = format!("{base}{separator}{place:#x}").into();
    Location { filename: path.into(), line: 0, start_char: 0, end_char: 0, defname }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Even;

    impl Resolver for Even {
        fn resolve(&mut self, spot: Spot<'_>) -> Result<Vec<Location>, Nameless> {
            match spot.offset % 2 {
                0 => Ok(vec![address("f", 1)]),
                _ => Err(Nameless::OtherFile),
            }
        }
    }

    fn spot<'a>(path: &'a str, build_id: &'a [u8], offset: u64) -> Option<Spot<'a>> {
        Some(Spot { path, build_id, offset, address: 0, is_stated: false, start: None })
    }

    #[test]
    fn what_has_no_name_is_told_by_files() {
        let mut even = Even;
        let mut naming = Naming::new(&mut even);
        assert!(naming.remarks().is_empty() && naming.shortfall().is_none());
        assert!(naming.of(spot("/bin/x", b"\xab\x01", 2)).is_some());
        assert!(naming.remarks().is_empty());
        assert!(naming.of(spot("/bin/x", b"\xab\x01", 3)).is_none());
        assert!(naming.of(None).is_none());
        naming.is_told();
        assert_eq!(
            naming.shortfall().unwrap(),
            "2 of 4 places in the code have no names, but addresses"
        );
        let said = naming.remarks().join("|");
        assert!(said.contains("1 in /bin/x (build id ab01): the files of that name"), "{said}");
        assert!(said.contains("1 in no file") && said.ends_with("--symbols FOLDER"), "{said}");
    }

    #[test]
    fn names_by_paths_alone_are_not_sure() {
        let mut even = Even;
        let mut naming = Naming::new(&mut even);
        assert!(naming.of(spot("/bin/x", b"", 2)).is_some());
        let said = naming.remarks().join("|");
        assert!(said.starts_with("1 places are named by files that lie where"), "{said}");
    }

    #[test]
    fn without_names_there_are_addresses() {
        assert_eq!(&*address("/usr/lib/libx.so", 0x1f).defname, "libx.so+0x1f");
        assert_eq!(&*address("", 0x1f).defname, "0x1f");
    }
}
