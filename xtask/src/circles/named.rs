//! What code names by paths.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ItemUse, Macro, MetaList, UseTree, Visibility};

/// The names of a path, from the outermost inwards.
pub(super) type Route = Vec<String>;

/// What a module names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// By `use`, with the name that it has here.
    pub(super) imports: BTreeMap<String, Route>,
    /// All of it.
    pub(super) globs: Vec<Route>,
    /// All paths.
    pub(super) routes: BTreeSet<Route>,
}

/// Collects what items name.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// What they are called, for whoever visits to say.
    pub(super) items: BTreeSet<String>,
    pub(super) named: Named,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Route = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if path.leading_colon.is_none() && names.len() > 1 {
            self.named.routes.insert(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.named.import(Route::new(), &item.tree);
        }
    }

    /// What a macro is given is mostly code, but need not be.
    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_path(&called.path);
        self.named.look_through(called.tokens.clone());
    }

    fn visit_meta_list(&mut self, list: &'ast MetaList) {
        self.named.look_through(list.tokens.clone());
    }

    /// Who may name something is no name of anything.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

impl Named {
    fn import(&mut self, mut before: Route, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.import(before, &path.tree);
            }
            UseTree::Name(name) => self.import_as(before, name.ident.to_string(), None),
            UseTree::Rename(renamed) => {
                self.import_as(before, renamed.ident.to_string(), Some(renamed.rename.to_string()));
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.import(before.clone(), tree));
            }
            UseTree::Glob(_) => self.globs.push(before),
        }
    }

    fn import_as(&mut self, mut route: Route, name: String, renamed: Option<String>) {
        if name != "self" {
            route.push(name);
        }
        if let Some(name) = renamed.or_else(|| route.last().cloned()) {
            self.imports.insert(name, route.clone());
        }
        self.routes.insert(route);
    }

    /// Finds names with `::` between them.
    fn look_through(&mut self, tokens: TokenStream) {
        let (mut route, mut colons) = (Route::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end(&mut route);
                    }
                    route.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.end(&mut route);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.look_through(group.stream());
                    }
                }
            }
        }
        self.end(&mut route);
    }

    fn end(&mut self, route: &mut Route) {
        let route = std::mem::take(route);
        if route.len() > 1 {
            self.routes.insert(route);
        }
    }
}
