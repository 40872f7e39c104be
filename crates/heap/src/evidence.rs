//! How it is known which type a block is of, for documents and pages.

use lifetrace_human as human;
use lifetrace_snapshot::graph::BlockId;
use serde::Serialize;

use crate::declared::{Evidence, Known, Verdict, Verdicts};

/// How it is known which type a block is of.
#[derive(Debug, Serialize)]
pub(crate) struct Told {
    /// Nothing where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Evidence>,
    /// How many types look so, where several do.
    #[serde(skip_serializing_if = "Option::is_none")]
    types_fit: Option<u32>,
    is_contradicted: bool,
    /// What its fields are called, in their order, where they have names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    declared: Known,
}

impl Told {
    /// Nothing if no type is known that looks so.
    pub(crate) fn of(verdicts: &Verdicts, id: BlockId) -> Option<Told> {
        let mut told = Told {
            r#type: None,
            by: None,
            types_fit: None,
            is_contradicted: false,
            fields: Vec::new(),
            declared: verdicts.known.clone(),
        };
        match verdicts.verdict(id) {
            Verdict::Unknown => return None,
            Verdict::Several(count) => told.types_fit = Some(count),
            Verdict::Contradicted => told.is_contradicted = true,
            Verdict::Array => {
                (told.r#type, told.by) = (Some("array".to_owned()), Some(Evidence::Holder));
            }
            Verdict::One(layout, by) => {
                let layout = verdicts.layout(layout);
                (told.r#type, told.by) = (Some(layout.name.clone()), Some(by));
                let has_names = layout.names.iter().any(|it| !it.is_empty());
                told.fields = if has_names { layout.names.clone() } else { Vec::new() };
            }
        }
        Some(told)
    }

    /// In a sentence or two.
    pub(crate) fn text(&self) -> String {
        let [files, forms] =
            [self.declared.files, self.declared.forms].map(|it| human::count(it as f64));
        let among = format!("of {forms} sorts of blocks in {files} .cmt files");
        let name = human::printable(self.r#type.as_deref().unwrap_or_default());
        let mut text = match (self.by, self.types_fit) {
            (Some(Evidence::Shape), _) => format!(
                "By its shape it is: {name}. No other {among} has this tag, this size and such fields."
            ),
            (Some(Evidence::Holder), _) => format!(
                "By what refers to it, it is: {name}. The field that leads to it is declared to be so."
            ),
            (None, Some(count)) => format!(
                "{} {among} look like it: which it is cannot be told.",
                human::count(count.into())
            ),
            (None, None) => format!(
                "Only one {among} looks like it, but such blocks are held by what is declared to hold another."
            ),
        };
        if !self.fields.is_empty() {
            let fields: Vec<String> =
                self.fields.iter().map(|it| human::printable(it).into_owned()).collect();
            text += &format!(" Its fields: {}.", fields.join(", "));
        }
        text
    }
}
