//! Which files of a crate lead to which, and back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::files::Module;
use super::named::Route;

/// A re-export of a re-export, and so on: more often than that it is one of itself.
const MOST_EXPORTS: usize = 16;

/// Modules, and what they lead to.
#[derive(Debug)]
pub(super) struct Graph {
    edges: BTreeMap<String, BTreeSet<String>>,
}

/// Files each of which leads to all others, and those of them that it leads to at once.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Circle(BTreeMap<String, BTreeSet<String>>);

/// The modules of a crate by their paths.
struct Crate<'a>(BTreeMap<&'a [String], &'a Module>);

impl Graph {
    /// Of a crate's modules.
    pub(super) fn of(modules: &[Module]) -> Graph {
        let all = Crate(modules.iter().map(|module| (&module.path[..], module)).collect());
        let mut edges = BTreeMap::<String, BTreeSet<String>>::new();
        for module in modules {
            let from = file(module);
            let to = all.beneath(module).map(file).filter(|to| *to != from);
            edges.entry(from.clone()).or_default().extend(to);
        }
        Graph { edges }
    }

    /// Each with at least two files.
    pub(super) fn circles(&self) -> Vec<Circle> {
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            self.edges.keys().map(|file| (file, self.reached_from(file))).collect();
        let leads_back = |from, to| reached.get(to).is_some_and(|files| files.contains(from));
        let mut circles = BTreeSet::new();
        for (&file, files) in reached.iter().filter(|(file, files)| files.contains(*file)) {
            circles.insert(BTreeSet::from_iter(
                files.iter().copied().filter(|other| leads_back(file, *other)),
            ));
        }
        circles.iter().map(|files| self.circle(files)).collect()
    }

    fn circle(&self, files: &BTreeSet<&String>) -> Circle {
        let within = |file: &String| {
            let to = self.edges[file].iter().filter(|to| files.contains(to));
            (file.clone(), to.cloned().collect())
        };
        Circle(files.iter().map(|file| within(file)).collect())
    }

    /// Itself only if a circle leads there.
    fn reached_from(&self, file: &String) -> BTreeSet<&String> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&String> = self.edges[file].iter().collect();
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(&self.edges[next]);
            }
        }
        found
    }
}

impl Circle {
    pub(super) fn files(&self) -> BTreeSet<String> {
        self.0.keys().cloned().collect()
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "  {} files", self.0.len())?;
        self.0.iter().try_for_each(|(file, others)| {
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            writeln!(to, "    {file} -> {}", others.join(", "))
        })
    }
}

impl<'a> Crate<'a> {
    /// The modules that one names something of and that it is not a part of.
    fn beneath(&self, module: &'a Module) -> impl Iterator<Item = &'a Module> {
        let named = module.routes.iter().filter_map(|route| self.owner(module, route, 0));
        let all = module.globs.iter().filter_map(|route| self.module(module, route));
        named.chain(all).filter(|other| !module.path.starts_with(&other.path))
    }

    /// The module that has what a route in `module` leads to. `None` if it leads out of the crate, or to a module.
    fn owner(&self, module: &'a Module, route: &[String], exports: usize) -> Option<&'a Module> {
        match self.find(module, route, exports)? {
            (owner, Some(_)) => Some(owner),
            (_, None) => None,
        }
    }

    /// The module that a route leads to.
    fn module(&self, module: &'a Module, route: &[String]) -> Option<&'a Module> {
        self.find(module, route, 0).map(|(found, _)| found)
    }

    /// As far as a route leads through modules: the last of these, and the name in it, if one is left.
    fn find(
        &self,
        module: &'a Module,
        route: &[String],
        exports: usize,
    ) -> Option<(&'a Module, Option<String>)> {
        let (mut at, mut rest) = self.start(module, route)?;
        while let [name, further @ ..] = rest {
            let Some(inner) = self.inner(at, name) else {
                return self.named(at, name, further, exports);
            };
            (at, rest) = (inner, further);
        }
        Some((at, None))
    }

    /// A name that is no module's right there: it is brought there, or defined there.
    fn named(
        &self,
        at: &'a Module,
        name: &str,
        further: &[String],
        exports: usize,
    ) -> Option<(&'a Module, Option<String>)> {
        if exports < MOST_EXPORTS && !at.items.contains(name) {
            if let Some(route) = at.imports.get(name) {
                return self.find(at, &[route, further].concat(), exports + 1);
            }
            let all = at.globs.iter().filter_map(|route| self.module(at, route));
            let found = all.filter(|from| from.path != at.path).find_map(|from| {
                let (owner, name) = self.named(from, name, further, exports + 1)?;
                name.as_ref().is_none_or(|name| owner.items.contains(name)).then_some((owner, name))
            });
            return found.or(Some((at, Some(name.to_owned()))));
        }
        Some((at, Some(name.to_owned())))
    }

    /// Where a route begins, and what is left of it. `None`: it leads out of the crate.
    fn start<'r>(
        &self,
        module: &'a Module,
        route: &'r [String],
    ) -> Option<(&'a Module, &'r [String])> {
        let (first, rest) = route.split_first()?;
        match first.as_str() {
            "crate" => Some((self.0.get(&[][..])?, rest)),
            "self" => self.start_from(module, rest),
            "super" => self.start_from(self.outer(module)?, rest),
            name => {
                let is_here = self.inner(module, name).is_some()
                    || module.imports.get(name).is_some_and(|it| it != route)
                    || module.items.contains(name);
                is_here.then_some((module, route))
            }
        }
    }

    fn start_from<'r>(
        &self,
        module: &'a Module,
        rest: &'r [String],
    ) -> Option<(&'a Module, &'r [String])> {
        match rest.split_first() {
            Some((name, rest)) if name == "super" => self.start_from(self.outer(module)?, rest),
            _ => Some((module, rest)),
        }
    }

    fn outer(&self, module: &Module) -> Option<&'a Module> {
        let (_, outer) = module.path.split_last()?;
        self.0.get(outer).copied()
    }

    fn inner(&self, module: &Module, name: &str) -> Option<&'a Module> {
        let path: Route = [&module.path[..], &[name.to_owned()]].concat();
        self.0.get(&path[..]).copied()
    }
}

fn file(module: &Module) -> String {
    module.file.display().to_string()
}
