//! What matters of a page: where its links lead, and what its headings are called in addresses.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link or a picture.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as it is written.
    pub target: String,
    /// Where the whole link is in the page.
    pub place: Range<usize>,
}

pub fn links(page: &str) -> Vec<Link> {
    let events = Parser::new_ext(page, Options::ENABLE_TABLES).into_offset_iter();
    let link = |(event, place)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(Link { target: dest_url.into_string(), place })
        }
        _ => None,
    };
    events.filter_map(link).collect()
}

/// The names of headings as addresses have them, in the repository and in the book: lower case, blanks as hyphens, nothing
/// of other signs, and a number behind what was there before.
pub fn anchors(page: &str) -> Vec<String> {
    let (mut anchors, mut met, mut heading) = (Vec::new(), BTreeMap::new(), None::<String>);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let times = met.entry(anchor.clone()).and_modify(|times| *times += 1).or_insert(0);
                anchors.push(if *times == 0 { anchor } else { format!("{anchor}-{times}") });
            }
            _ => {}
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let signs = heading.trim().chars().filter_map(|sign| match sign {
        ' ' => Some('-'),
        '-' | '_' => Some(sign),
        _ if sign.is_alphanumeric() => Some(sign),
        _ => None,
    });
    signs.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_where_they_are_links() {
        let page = "a [link](to.md#here), `[none](x.md)`\n\n```\n[none](y.md)\n```\n![a picture](p.png)\n\n| [in](t.md) |\n|---|\n";
        let found: Vec<_> = links(page).into_iter().map(|link| link.target).collect();
        assert_eq!(found, ["to.md#here", "p.png", "t.md"]);
        assert_eq!(&page[links(page)[0].place.clone()], "[link](to.md#here)");
    }

    #[test]
    fn headings_are_called_as_browsers_find_them() {
        let page = "# One: `two`\n\n## What's new, and _old_?\n\n## Again\n\n## Again\n";
        assert_eq!(anchors(page), ["one-two", "whats-new-and-old", "again", "again-1"]);
    }
}
