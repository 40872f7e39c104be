//! Names of functions in a drawing, where `inferno` cuts off their ends: they lose their middle instead, in
//! the drawing and in its script, which does it anew for each size.

use std::borrow::Cow;

use lifetrace_report::shorten_function;

const SCRIPT: &str = include_str!("names.js");
const END_OF_SCRIPT: &str = "]]></script>";
const CUT: &str = "..";

/// The characters that XML has other names for. The last is what the others begin with.
const ENTITIES: [(&str, &str); 5] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];

/// The drawing with names that keep their ends.
pub fn with_ends(svg: &str) -> String {
    let mut frames = svg.split("<title>");
    let head = frames.next().unwrap_or_default();
    let head = match head.rfind(END_OF_SCRIPT) {
        Some(end) => Cow::from(format!("{}\n{SCRIPT}{}", &head[..end], &head[end..])),
        None => Cow::from(head),
    };
    frames.fold(head.into_owned(), |drawing, frame| {
        drawing + "<title>" + &with_end(frame).unwrap_or_else(|| frame.to_owned())
    })
}

/// A frame, from its title on; nothing if its name is whole.
fn with_end(frame: &str) -> Option<String> {
    let (title, rest) = frame.split_once("</title>")?;
    let name = unescaped(title.rsplit_once(" (")?.0);
    let begin = frame.len() - rest.len() + rest.find("<text ")?;
    let begin = begin + frame[begin..].find('>')? + 1;
    let end = begin + frame[begin..].find("</text>")?;
    let shown = unescaped(&frame[begin..end]);
    if !shown.ends_with(CUT) || shown == name {
        return None;
    }
    let shown = escaped(&shorten_function(&name, shown.chars().count()));
    Some(format!("{}{shown}{}", &frame[..begin], &frame[end..]))
}

fn unescaped(text: &str) -> String {
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, it)| text.replace(entity, it))
}

fn escaped(text: &str) -> String {
    ENTITIES.iter().rev().fold(text.to_owned(), |text, (entity, it)| text.replace(it, entity))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, shown: &str) -> String {
        format!("<g><title>{name} (7 bytes, 1%)</title><rect/><text x=\"1%\">{shown}</text></g>")
    }

    #[test]
    fn names_keep_their_ends() {
        for (name, shown, expected) in [
            (
                "alloc::collections::btree::map::insert",
                "alloc::collections..",
                "alloc::coll…::insert",
            ),
            ("main", "main", "main"),
            ("main", "", ""),
            ("std::vec&lt;int&gt;::push", "std::vec&lt;i..", "std…::push"),
            ("f &amp; g", "f..", "f…g"),
        ] {
            let drawing = with_ends(&frame(name, shown));
            assert_eq!(drawing, frame(name, expected));
        }
    }

    #[test]
    fn the_script_is_the_last() {
        let drawing = with_ends("<script><![CDATA[a]]></script><text/>");
        assert!(
            drawing.starts_with("<script><![CDATA[a\n//")
                && drawing.ends_with("]]></script><text/>")
        );
        assert!(!SCRIPT.contains("]]>"));
    }
}
