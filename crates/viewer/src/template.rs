//! The application: a page without data, in which places for it are marked. viewer/build.mjs makes it.

use crate::policy::Policy;

const BUILT: &str = include_str!("../assets/viewer.html");

/// Where the data goes.
const PAGE: &str = "<!--lifetrace:page-->";
/// Where the policy goes.
const POLICY: &str = "<!--lifetrace:policy-->";

/// Before the hash of a script that another one unpacks.
const UNPACKED: &str = "<!--lifetrace:script ";

/// A page without data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template<'a> {
    /// Up to the data, the policy included.
    before: String,
    after: &'a str,
    policy: Policy,
}

/// An application that pages cannot be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenTemplate(&'static str);

impl std::fmt::Display for BrokenTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the viewer's application does not have {} once", self.0)
    }
}

impl std::error::Error for BrokenTemplate {}

impl Template<'static> {
    /// The one that was built in.
    ///
    /// # Errors
    /// If it was built wrongly.
    pub fn built_in() -> Result<Self, BrokenTemplate> {
        Self::of(BUILT)
    }
}

impl<'a> Template<'a> {
    /// Of such a text.
    ///
    /// # Errors
    /// If it does not have each mark once, the policy's first.
    pub fn of(text: &'a str) -> Result<Self, BrokenTemplate> {
        let scripts = between(text, "<script>", "</script>");
        let unpacked = between(text, UNPACKED, "-->");
        let policy = Policy::of(scripts, unpacked, between(text, "<style>", "</style>"));
        let (head, rest) = split(text, POLICY)?;
        let (before, after) = split(rest, PAGE)?;
        let meta = format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">",
            policy.as_str()
        );
        Ok(Self { before: [head, &meta, before].concat(), after, policy })
    }

    /// What the page may do.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What comes before the data, and what after it.
    pub fn parts(&self) -> [&str; 2] {
        [&self.before, self.after]
    }
}

fn split<'a>(text: &'a str, mark: &'static str) -> Result<(&'a str, &'a str), BrokenTemplate> {
    let parts = text.split_once(mark).filter(|(_, rest)| !rest.contains(mark));
    parts.ok_or(BrokenTemplate(mark))
}

/// All that is between these. (Tags without attributes: others are no scripts, but data.)
fn between<'a>(text: &'a str, begin: &str, end: &str) -> impl Iterator<Item = &'a str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(begin)?;
        let (content, after) = after.split_once(end)?;
        rest = after;
        Some(content)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_application_that_is_built_in_is_whole() {
        let template = Template::built_in().unwrap();
        assert!(template.policy().as_str().contains("script-src 'sha256-"));
        assert!(BUILT.len() < 300_000, "{} bytes", BUILT.len());
    }

    #[test]
    fn each_mark_is_there_once() {
        let of = |marks: &[&str]| Template::of(&marks.concat()).map(|it| it.parts().map(str::len));
        assert!(of(&[POLICY, PAGE]).is_ok());
        assert_eq!(of(&[POLICY]), Err(BrokenTemplate(PAGE)));
        assert_eq!(of(&[PAGE, POLICY]), Err(BrokenTemplate(PAGE)));
        assert_eq!(of(&[POLICY, PAGE, POLICY]), Err(BrokenTemplate(POLICY)));
    }

    #[test]
    fn what_is_unpacked_may_run() {
        let hash = format!("sha256-{}=", "a+/7".repeat(10) + "bcc");
        let of = |hash: &str| {
            let text = format!("{UNPACKED}{hash}-->{POLICY}{PAGE}<script>x</script>");
            Template::of(&text).unwrap().policy().as_str().to_owned()
        };
        assert!(of(&hash).contains(&format!(" '{hash}'; style-src")), "{}", of(&hash));
        for other in ["unsafe-inline", "sha256-x' 'unsafe-eval", "https://example.org", ""] {
            assert!(!of(other).contains(&format!("'{other}'")), "{other}");
        }
    }

    #[test]
    fn all_scripts_and_styles_are_known() {
        let text =
            "<style>a</style><script>b</script><script type=\"x\">c</script><script>d</script>";
        let all = |begin, end| between(text, begin, end).collect::<Vec<_>>();
        assert_eq!(all("<script>", "</script>"), ["b", "d"]);
        assert_eq!(all("<style>", "</style>"), ["a"]);
    }
}
