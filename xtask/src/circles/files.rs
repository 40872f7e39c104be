//! The modules of a crate, as its files have them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use quote::ToTokens;
use syn::visit::Visit;
use syn::{Attribute, Item, ItemMod, Meta};

use super::named::{Named, Names, Route};

/// A module: what it has, and what it names.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// From the crate's root on, which has none.
    pub(super) path: Route,
    /// From the workspace's folder on, as long as it lies there.
    pub(super) file: PathBuf,
    /// What is defined in it.
    pub(super) items: BTreeSet<String>,
    /// What it has by `use`: the name, and the path behind it.
    pub(super) imports: BTreeMap<String, Route>,
    /// Modules of which it has all by `use`.
    pub(super) globs: Vec<Route>,
    /// Paths that it names.
    pub(super) routes: BTreeSet<Route>,
}

/// Those of the crate that begins with this file, but for tests.
///
/// # Errors
/// If a file cannot be read, or is not Rust.
pub(super) fn modules(root: &Path) -> Result<Vec<Module>> {
    let mut modules = Vec::new();
    read(root, Route::new(), &mut modules)?;
    Ok(modules)
}

/// The module that is this file, and those beneath it.
fn read(file: &Path, path: Route, modules: &mut Vec<Module>) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let parsed =
        syn::parse_file(&text).with_context(|| format!("{} is not Rust", file.display()))?;
    add(file, path, &parsed.items, modules)
}

fn add(file: &Path, path: Route, items: &[Item], modules: &mut Vec<Module>) -> Result<()> {
    let mut names = Names::default();
    for item in items.iter().filter(|item| !is_test(attributes(item))) {
        match item {
            Item::Mod(module) => add_inner(file, &path, module, modules)?,
            _ => names.visit_item(item),
        }
        names.items.extend(name(item));
    }
    let Names { items, named: Named { imports, globs, routes } } = names;
    modules.push(Module { path, file: from_root(file), items, imports, globs, routes });
    Ok(())
}

/// A module within another, in the same file or in one of its own.
fn add_inner(
    file: &Path,
    outer: &[String],
    module: &ItemMod,
    modules: &mut Vec<Module>,
) -> Result<()> {
    let name = module.ident.to_string();
    let path = [outer, std::slice::from_ref(&name)].concat();
    match &module.content {
        Some((_, items)) => add(file, path, items, modules),
        None => {
            let mut files = module.attrs.iter().filter_map(|it| file_named(file, it)).peekable();
            if files.peek().is_none() {
                return read(&file_of(file, &name), path, modules);
            }
            files.try_for_each(|file| read(&file, path.clone(), modules))
        }
    }
}

/// What `#[path = "..."]` says, be it for some processors only.
fn file_named(outer: &Path, attribute: &Attribute) -> Option<PathBuf> {
    let text = attribute.meta.to_token_stream().to_string();
    let (_, behind) = text.split_once("path = \"")?;
    let (file, _) = behind.split_once('"')?;
    Some(outer.with_file_name(file))
}

/// Where a module lies that is declared in `outer`.
fn file_of(outer: &Path, name: &str) -> PathBuf {
    let is_folders = ["lib.rs", "main.rs", "mod.rs"].iter().any(|end| outer.ends_with(end));
    let folder = if is_folders { outer.with_file_name("") } else { outer.with_extension("") };
    let file = folder.join(format!("{name}.rs"));
    if file.exists() { file } else { folder.join(name).join("mod.rs") }
}

fn from_root(file: &Path) -> PathBuf {
    file.strip_prefix(crate::shell::root()).unwrap_or(file).to_owned()
}

/// Whether only tests have it.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string().replace(' ', "");
            condition == "test" || condition.starts_with("all(test,")
        }
        meta => meta.path().is_ident("test"),
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
