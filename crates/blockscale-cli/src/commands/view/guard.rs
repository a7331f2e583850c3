//! Who is answered: the token, the host that a browser thinks it talks to, and where a request comes
//! from.

use std::io;
use std::net::IpAddr;

use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};

/// What a person has to know to be answered: 128 random bits.
#[derive(Clone, Debug)]
pub(crate) struct Token(String);

impl Token {
    /// One that nobody guesses.
    ///
    /// # Errors
    /// Where the system gives no random numbers.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `word` is the token, in a time that does not tell how much of it is right.
    fn is(&self, word: &str) -> bool {
        let differing = self.0.bytes().zip(word.bytes());
        let differing = differing.fold(0, |all, (a, b)| all | (a ^ b));
        self.0.len() == word.len() && differing == 0
    }

    /// What follows the token in the path of a URL: `` for `/TOKEN`, `/` for `/TOKEN/`.
    pub(crate) fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        let path = path.strip_prefix('/')?;
        let end = path.find('/').unwrap_or(path.len());
        let (word, rest) = path.split_at(end);
        self.is(word).then_some(rest)
    }
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A name that another site could have made lead here.
    Host,
    /// Another page's script.
    Origin,
}

impl Refusal {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Host => {
                "this server answers only under `localhost` or the address that it listens on"
            }
            Self::Origin => "this server answers only its own page",
        }
    }
}

/// Refuses requests that come by way of another site: its scripts, and names of its own that it lets
/// lead to this machine (DNS rebinding). `bind` is where the server listens.
///
/// The port is not looked at: behind an SSH tunnel it is another.
pub(crate) fn check(headers: &HeaderMap, bind: IpAddr) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().map_err(|_| Refusal::Host)?,
        _ => return Err(Refusal::Host),
    };
    if !is_own_host(host, bind) {
        return Err(Refusal::Host);
    }
    let own = format!("http://{host}");
    let is_own = |origin: &HeaderValue| origin.as_bytes().eq_ignore_ascii_case(own.as_bytes());
    if !headers.get_all(ORIGIN).iter().all(is_own) {
        return Err(Refusal::Origin);
    }
    // What browsers say of themselves; `none` is a person who typed the URL.
    let site = HeaderName::from_static("sec-fetch-site");
    let own_site = |site: &HeaderValue| site == "same-origin" || site == "none";
    // A link on another site may show the page itself, which then has that site's blessing for nothing.
    let mode = HeaderName::from_static("sec-fetch-mode");
    let is_navigation = headers.get(mode).is_some_and(|mode| mode == "navigate");
    match headers.get_all(site).iter().all(own_site) || is_navigation {
        true => Ok(()),
        false => Err(Refusal::Origin),
    }
}

/// Whether a value of `Host` names this machine by an address of its own, or as `localhost`.
fn is_own_host(host: &str, bind: IpAddr) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if is_port(port) => name,
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            Some(_) => return false,
            None => host,
        },
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match name.parse::<IpAddr>() {
        // Bound to every address, any of them is its own: an address can't be made to lead elsewhere.
        Ok(address) => address.is_loopback() || address == bind || bind.is_unspecified(),
        Err(_) => false,
    }
}

fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && (text.is_empty() || text.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: &str = "127.0.0.1";

    fn own(host: &str, bind: &str) -> bool {
        is_own_host(host, bind.parse().unwrap())
    }

    #[test]
    fn own_hosts_are_addresses_and_localhost_on_any_port() {
        for host in [
            "127.0.0.1:80",
            "localhost:9000",
            "LocalHost",
            "127.0.0.1",
            "[::1]:8",
            "127.0.0.2:1",
        ] {
            assert!(own(host, LOOPBACK), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            ":80",
            "[::1",
            "[::1]x",
            "[::1]:x",
            "127.0.0.1:80:80",
            "2130706433",
            "10.0.0.7:80",
            "localhost:80@evil.example",
            "a@localhost",
        ] {
            assert!(!own(host, LOOPBACK), "{host}");
        }
        assert!(own("10.0.0.7:80", "10.0.0.7") && !own("10.0.0.8:80", "10.0.0.7"));
        assert!(own("10.0.0.8:80", "0.0.0.0") && !own("evil.example:80", "0.0.0.0"));
    }

    fn checked(pairs: &[(&'static str, &'static str)]) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        for &(name, value) in pairs {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        check(&headers, LOOPBACK.parse().unwrap())
    }

    #[test]
    fn only_the_page_itself_may_ask() {
        let host = ("host", "127.0.0.1:5000");
        assert_eq!(checked(&[host]), Ok(()));
        assert_eq!(
            checked(&[host, ("origin", "http://127.0.0.1:5000")]),
            Ok(())
        );
        assert_eq!(checked(&[host, ("sec-fetch-site", "same-origin")]), Ok(()));
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:5000",
            "http://127.0.0.1:5001",
            "http://127.0.0.1",
            "",
        ] {
            let refused = checked(&[host, ("origin", origin)]);
            assert_eq!(refused, Err(Refusal::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site", ""] {
            assert_eq!(
                checked(&[host, ("sec-fetch-site", site)]),
                Err(Refusal::Origin)
            );
        }
        let link = [
            host,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
        ];
        assert_eq!(checked(&link), Ok(()));
    }

    #[test]
    fn a_request_names_its_host_once() {
        assert_eq!(checked(&[]), Err(Refusal::Host));
        let twice = [("host", "127.0.0.1"), ("host", "evil.example")];
        assert_eq!(checked(&twice), Err(Refusal::Host));
    }

    #[test]
    fn tokens_are_long_differ_and_are_told_apart_from_their_parts() {
        let [one, other] = [Token::random().unwrap(), Token::random().unwrap()];
        assert_eq!(one.as_str().len(), 32);
        assert_ne!(one.as_str(), other.as_str());
        let path = format!("/{}/assets/a.js", one.as_str());
        assert_eq!(one.strip(&path), Some("/assets/a.js"));
        assert_eq!(one.strip(&path[..33]), Some(""));
        for wrong in [
            "/",
            "",
            "//",
            &path[..32],
            &path[1..],
            &format!("/{}", other.as_str()),
        ] {
            assert_eq!(one.strip(wrong), None, "{wrong}");
        }
        assert_eq!(one.strip(&format!("/{}x/", one.as_str())), None);
    }
}
