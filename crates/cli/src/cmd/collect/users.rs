//! Whose processes are recorded, as typed.

use std::fs;

use lifetrace_recorder::Admits;

/// `own`, `all`, or users by name or number: `www-data,postgres,1000`.
pub(super) fn admits(text: &str) -> Result<Admits, String> {
    match text {
        "own" => Ok(Admits::Own),
        "all" => Ok(Admits::All),
        _ => {
            let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
            let users = text.split(',').map(|user| number(user.trim(), &known));
            users.collect::<Result<_, _>>().map(Admits::Users)
        }
    }
}

fn number(user: &str, known: &str) -> Result<u32, String> {
    let named = || {
        let line = known.lines().find(|line| line.split(':').next() == Some(user))?;
        line.split(':').nth(2)?.parse().ok()
    };
    let number = user.parse().ok().or_else(named).filter(|_| !user.is_empty());
    number.ok_or_else(|| {
        format!("there is no user '{user}' in /etc/passwd; own, all and numbers are known, too")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names_and_numbers() {
        let known = "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/var/www:/usr/sbin/nologin\n";
        assert_eq!(number("www-data", known), Ok(33));
        assert_eq!(number("1000", known), Ok(1000));
        assert!(number("www", known).is_err() && number("", known).is_err());
        assert_eq!(admits("all"), Ok(Admits::All));
        assert_eq!(admits("33, 70"), Ok(Admits::Users(vec![33, 70])));
    }
}
