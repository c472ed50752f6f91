//! Takes secrets out of text that leaves the host: exports and logs.
//!
//! What looks like a key, a token, a cookie or a private key is replaced by [`REDACTED`]. It goes by looks, so it
//! is a net and not a promise. JSON stays JSON: nothing that is taken out reaches over the end of a string.
//!
//! The one rule it keeps: linear time, whatever the text. Every token's pattern runs to the end of the letters
//! that could belong to it, so that nothing is read twice.

mod hints;
mod key_body;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use key_body::KeyBody;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Where a word of ASCII letters begins: what may be a letter elsewhere would be looked up letter by letter, at a
/// hundredth of the speed. In JSON a line break is a `\n`, and its `n` is not a part of the word behind it; nor is the
/// end of what sets a terminal's colour, as it is or as JSON and shells write it, or of an escape in an address.
const EDGE: &str = concat!(
    r"(?:\\(?:[bfnrt]|u[0-9a-fA-F]{4})|(?-u:\b)",
    r"|(?:\x1b|\\+(?:u001[bB]|x1[bB]|033|e))(?:\[[0-9:;?]*[A-Za-z]|\([0-9A-Z])",
    r"|%(?:25)*[0-9A-Fa-f]{2})"
);
/// A quotation mark, which in JSON, and in JSON in JSON, has backslashes before it.
const QUOTE: &str = r#"(?:\\*["'])?"#;
/// The same where there must be one.
const MARK: &str = r#"\\*["']"#;

/// How a private key begins.
const KEY: &str = "-----BEGIN ";

/// What secrets look like. A group at the beginning or the end stays, so that one still sees what was there.
const LOOKS: &[&str] = &[
    // A private key, to its end, or to the end of the string or text that holds its beginning; the rest is looked for.
    concat!(
        r#"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^"']*?"#,
        r#"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(\\*["'])|\z)"#
    ),
    // Keys of Anthropic, and of others who name theirs alike.
    r"(EDGE)sk-[A-Za-z0-9_-]{16,}",
    // GitHub, GitLab, npm, Slack, Google, Stripe, Hugging Face, DigitalOcean.
    concat!(
        r"(EDGE)(?:gh[pousr]_|github_pat_|glpat-|npm_|xox[abeprs]-|xapp-[0-9]-|AIza|ya29\.|[rs]k_(?:live|test)_",
        r"|whsec_|hf_|dop_v1_)[A-Za-z0-9_-]{16,}"
    ),
    // AWS.
    r"(EDGE)(?:AKIA|ASIA)[A-Z0-9]{16,}",
    concat!(
        r"(EDGE(?:aws|Aws|AWS)(?i:_?(?:secret_?access_?key|session_?token)QUOTE[ \t]*[:=][ \t]*QUOTE))",
        r"[A-Za-z0-9/+=]{16,}"
    ),
    // JSON Web Tokens.
    r"(EDGE)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    // Headers, also as fields of JSON.
    concat!(
        r"(?i:(EDGE(?:proxy-)?authorizationQUOTE[ \t]*[:=][ \t]*QUOTE(?:[a-z]{1,16}[ \t]{1,4})?)",
        r"[A-Za-z0-9._~+/=-]{8,})"
    ),
    r"([Bb]earer[ \t]{1,4})[A-Za-z0-9._~+/=-]{20,}",
    concat!(
        r"(?i:(EDGE(?:x-api-key|x-auth-token|private-token|anthropic_api_key)QUOTE[ \t]*[:=][ \t]*QUOTE)",
        r"[A-Za-z0-9._~+/=-]{8,})"
    ),
    r"(?i:(EDGEapi-keyQUOTE[ \t]*[:=][ \t]*QUOTE)[A-Za-z0-9._~+/=-]{16,})",
    // The environment, as a shell writes it and as JSON does. Who writes code has blanks around the sign, or no quotes.
    concat!(
        r"((?:_|EDGE(?:PG)?)(?:TOKEN|API_KEY|SECRET(?:_KEY)?|PASSWORD)(?:=QUOTE|MARK[ \t]*[:=][ \t]*MARK))",
        r#"[A-Za-z0-9][^\s\x00-\x1f\\"'`<>(){}\[\];,|&$]{7,}"#
    ),
    concat!(
        r"(EDGE(?:ANTHROPIC_AUTH|CLAUDE_CODE_OAUTH)_TOKENQUOTE[ \t]*[:=][ \t]*QUOTE)",
        r"[A-Za-z0-9._~+/=-]{8,}"
    ),
    // Addresses: of those who were let in, and our own links that let somebody in.
    r"([?&#]access_token=)[A-Za-z0-9._~+/=%-]{8,}",
    r"(#ticket=)[A-Za-z0-9_-]{16,}",
    r#"(?i:(EDGE(?:set-)?cookieQUOTE:[ \t]*QUOTE)[^\s\\"';=]+=[^\r\n\\"']*)"#,
    // A password in an address, or a token in the place of a name.
    r#"(://[^\s/@:\\"']*:)[^\s/@\\"']+(@)"#,
    r"(://)[A-Za-z0-9_-]{20,}(@)",
];

static LOOK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let parts = [("EDGE", EDGE), ("QUOTE", QUOTE), ("MARK", MARK)];
    let looks = parts.iter().fold(LOOKS.join("|"), |looks, (name, part)| looks.replace(name, part));
    Regex::new(&looks).ok()
});

/// Text with secrets taken out; the same text, not a copy, if none were seen, and only then.
pub fn redact(text: &str) -> Cow<'_, str> {
    LineByLine::default().redact(text)
}

/// Texts that follow each other, as lines do: a private key may begin in one of them and go on in the next.
#[derive(Debug, Default)]
pub struct LineByLine {
    key: KeyBody,
}

impl LineByLine {
    /// The next text with secrets taken out; the same text, not a copy, if none were seen, and only then.
    pub fn redact<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        if self.goes_on() || is_suspect(text.as_bytes()) {
            self.looked_through(text)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Whether a secret goes on in what follows, which must be looked through whatever it is.
    pub(crate) fn goes_on(&self) -> bool {
        self.key.goes_on()
    }

    /// Whole lines, each with its newline, with secrets taken out of every one; the same lines, not a copy, if none were
    /// seen. Many lines at once are looked at much faster than each by itself.
    pub(crate) fn redact_lines<'a>(&mut self, lines: &'a [u8]) -> Cow<'a, [u8]> {
        let is_end = |byte: &u8| *byte == b'\n';
        let mut hints = hints::Hints::of(lines);
        let mut cleaned = Vec::new();
        // Where the first line begins that was not looked at.
        let mut next = 0;
        while next < lines.len() {
            let begin = if self.goes_on() {
                next
            } else {
                // The lines of others were looked through already.
                let Some(hint) = hints.find(|hint| *hint >= next) else { break };
                lines[next..hint].iter().rposition(is_end).map_or(next, |end| next + end + 1)
            };
            let end = lines[begin..].iter().position(is_end).map_or(lines.len(), |end| begin + end);
            cleaned.extend_from_slice(&lines[next..begin]);
            let line = String::from_utf8_lossy(&lines[begin..end]);
            cleaned.extend_from_slice(self.looked_through(&line).as_bytes());
            next = lines.len().min(end + 1);
            cleaned.extend_from_slice(&lines[end..next]);
        }
        if next == 0 {
            return Cow::Borrowed(lines);
        }
        cleaned.extend_from_slice(&lines[next..]);
        Cow::Owned(cleaned)
    }

    fn looked_through<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        // A test reads the patterns; should they ever fail here, nothing leaves rather than everything.
        let Some(look) = LOOK.as_ref() else { return Cow::Owned(REDACTED.to_owned()) };
        let mut cleaned = String::new();
        let mut kept = 0;
        let mut take_out = |secret: Range<usize>| {
            cleaned.push_str(&text[kept..secret.start]);
            cleaned.push_str(REDACTED);
            kept = secret.end;
        };
        let mut next = 0;
        for found in look.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            self.key.look(text, next..whole.start(), &mut take_out);
            next = whole.end();
            let mut groups = found.iter().skip(1).flatten();
            let before = groups.clone().find(|group| group.start() == whole.start());
            let after = groups.find(|group| group.end() == whole.end());
            take_out(
                before.map_or(whole.start(), |group| group.end())..after.map_or(next, |group| group.start()),
            );
            if whole.as_str().starts_with(KEY) {
                self.key.found(whole.as_str());
            }
        }
        self.key.look(text, next..text.len(), &mut take_out);
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        cleaned.push_str(&text[kept..]);
        Cow::Owned(cleaned)
    }
}

/// Whether there may be a secret in a text.
pub(crate) fn is_suspect(text: &[u8]) -> bool {
    hints::Hints::of(text).next().is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn looked_through(text: &str) -> Cow<'_, str> {
        LineByLine::default().looked_through(text)
    }

    fn redact_lines(lines: &[u8]) -> Cow<'_, [u8]> {
        LineByLine::default().redact_lines(lines)
    }

    /// Built from pieces, so that nothing in this file looks like a secret to others.
    fn secrets() -> Vec<String> {
        let letters = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1b";
        let long = format!("{letters}{letters}");
        [
            format!("sk-ant-{}", "api03-") + &long + "-_AA",
            "ghp_".to_owned() + &long,
            "github_pat_".to_owned() + &long,
            "glpat-".to_owned() + letters,
            "AKIA".to_owned() + "IOSFODNN7EXAMPLE",
            "ya29.".to_owned() + letters,
            "dop_v1_".to_owned() + "0123456789abcdef0123456789abcdef",
            "xapp-1-".to_owned() + letters,
            "eyJ".to_owned() + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        ]
        .into()
    }

    #[test]
    fn every_kind_of_secret_is_taken_out() {
        for secret in secrets() {
            let json =
                serde_json::json!({ "a": format!("b\n{secret}\nc\u{1b}{secret}\t"), secret.clone(): secret });
            let json = json.to_string();
            assert_eq!(redact(&json), json.replace(&secret, REDACTED));
            // Colours, as they are, in JSON, and in JSON in JSON; and addresses, also one in another.
            let coloured =
                format!("a\u{1b}[1;32m{secret}\u{1b}[0m b\u{1b}[m{secret}\u{1b}(B{secret}\u{1b}[K");
            let (json, upper) = (serde_json::json!({ "a": coloured }).to_string(), r"\u001B[38:5:1m");
            let json_in_json = serde_json::json!({ "a": json }).to_string();
            for text in [
                secret.clone(),
                format!("key={secret}, rest"),
                format!("\"{secret}\""),
                format!("a\n{secret}\nb"),
                coloured,
                json,
                json_in_json,
                format!("{upper}{secret}\\{upper}{secret}"),
                format!(r"printf '\033[32m{secret}\033[0m'; echo -e '\e[32m{secret}\x1b[m{secret}'"),
                format!("GET /a?q=b%20{secret}%20c%3D{secret}%26key%3d{secret}%2520{secret}"),
            ] {
                let redacted = redact(&text);
                assert!(!redacted.contains(&secret[4..12]), "{redacted}");
                assert_eq!(redacted, text.replace(&secret, REDACTED));
            }
        }
    }

    #[test]
    fn what_tells_that_there_was_a_secret_stays() {
        for (text, expected) in [
            ("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted]"),
            ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
            (r#"{"authorization":"Bearer abc.def-123"}"#, r#"{"authorization":"Bearer [redacted]"}"#),
            (r#"{"a":"{\"x-api-key\": \"abcdefgh\"}"}"#, r#"{"a":"{\"x-api-key\": \"[redacted]\"}"}"#),
            ("curl -H 'x-api-key: abcdefgh' u", "curl -H 'x-api-key: [redacted]' u"),
            (r#""a\nAuthorization: Bearer abc.def-123""#, r#""a\nAuthorization: Bearer [redacted]""#),
            (r#""authorization: \nauthorization: \n""#, r#""authorization: \nauthorization: \n""#),
            ("Cookie: session=abc; x=y\nnext", "Cookie: [redacted]\nnext"),
            ("Set-Cookie: a=b; HttpOnly", "Set-Cookie: [redacted]"),
            ("postgres://me:secret@host/db", "postgres://me:[redacted]@host/db"),
            ("aws_secret_access_key = abcdefghijklmnop/+", "aws_secret_access_key = [redacted]"),
            ("bearer 0123456789abcdefghij", "bearer [redacted]"),
            ("ANTHROPIC_AUTH_TOKEN=abc.def-123 claude", "ANTHROPIC_AUTH_TOKEN=[redacted] claude"),
            (r#"{"ANTHROPIC_AUTH_TOKEN": "abc.def-123"}"#, r#"{"ANTHROPIC_AUTH_TOKEN": "[redacted]"}"#),
            ("  ANTHROPIC_AUTH_TOKEN: abc.def-123", "  ANTHROPIC_AUTH_TOKEN: [redacted]"),
            ("export CLAUDE_CODE_OAUTH_TOKEN='abcd1234'", "export CLAUDE_CODE_OAUTH_TOKEN='[redacted]'"),
            (r#"{\"env\":{\"MY_API_KEY\":\"abcd1234\"}}"#, r#"{\"env\":{\"MY_API_KEY\":\"[redacted]\"}}"#),
            ("A_CLIENT_SECRET=abcd1234;next", "A_CLIENT_SECRET=[redacted];next"),
            (r#"DB_PASSWORD="hunter2!#x""#, r#"DB_PASSWORD="[redacted]""#),
            ("API_KEY=abcd1234 run", "API_KEY=[redacted] run"),
            ("TOKEN='abcd1234'", "TOKEN='[redacted]'"),
            (r#"{"SECRET": "abcd1234"}"#, r#"{"SECRET": "[redacted]"}"#),
            ("a\nPASSWORD=hunter2!\nb", "a\nPASSWORD=[redacted]\nb"),
            (r#""a\nPASSWORD=hunter2!\nb""#, r#""a\nPASSWORD=[redacted]\nb""#),
            ("\u{1b}[32mPASSWORD=hunter2!\u{1b}[0m", "\u{1b}[32mPASSWORD=[redacted]\u{1b}[0m"),
            (
                "SECRET_KEY=abcd1234 DJANGO_SECRET_KEY=abcd1234",
                "SECRET_KEY=[redacted] DJANGO_SECRET_KEY=[redacted]",
            ),
            ("env PGPASSWORD=hunter2! psql", "env PGPASSWORD=[redacted] psql"),
            (r#""a\nDB_PASSWORD=hunter2!\nb""#, r#""a\nDB_PASSWORD=[redacted]\nb""#),
            ("api-key: 0123456789abcdef", "api-key: [redacted]"),
            ("-H 'X-Goog-Api-Key: 0123456789abcdef'", "-H 'X-Goog-Api-Key: [redacted]'"),
            ("GET /a?b=c&access_token=abcd%201234&d=e", "GET /a?b=c&access_token=[redacted]&d=e"),
            ("https://abcdefghij0123456789@host/a", "https://[redacted]@host/a"),
            (
                "open http://host/base/#ticket=abcdefghij0123456789",
                "open http://host/base/#ticket=[redacted]",
            ),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn a_private_key_is_taken_out_whole_also_when_its_end_is_missing() {
        let (begin, end) = ("-----BEGIN RSA PRIVATE", "-----END RSA PRIVATE");
        let block = format!("{begin} KEY-----\nMIIE\nabc=\n{end} KEY-----");
        assert_eq!(redact(&format!("a\n{block}\nb")), "a\n[redacted]\nb");
        assert_eq!(redact(&format!("a\n{begin} KEY-----\nMIIE")), "a\n[redacted]");
        let json = serde_json::json!({ "a": format!("{begin} KEY-----\nMIIE\\"), "b": 1 }).to_string();
        let redacted: serde_json::Value = serde_json::from_str(&redact(&json)).unwrap();
        assert_eq!(redacted["b"], 1);
        assert!(!redacted["a"].as_str().unwrap().contains("MIIE"));
    }

    #[test]
    fn every_part_of_the_looks_has_its_hint() {
        let letters = "Ab3dEf6hIj9lMn2pQr5t";
        for prefix in [
            "sk-",
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "npm_",
            "xoxa-",
            "xoxs-",
            "AIza",
            "rk_live_",
            "sk_test_",
            "whsec_",
            "hf_",
            "aws_secret_access_key=",
            "AWS_SESSION_TOKEN: ",
            "proxy-Authorization: ",
            "Bearer ",
            "bearer ",
            "X-Api-Key: ",
            "x-auth-token=",
            "PRIVATE-TOKEN: ",
            "Anthropic_API_Key=",
            "Set-Cookie: a=",
            "x://u:",
            "xapp-1-",
            "ya29.",
            "dop_v1_",
            "Aws_Secret_Access_Key=",
            "api-key: ",
            "X-Goog-API-KEY=",
            "ANTHROPIC_AUTH_TOKEN: ",
            "CLAUDE_CODE_OAUTH_TOKEN=",
            "A_TOKEN=",
            "A_API_KEY=",
            "A_SECRET=",
            "A_PASSWORD=",
            "\"A_PASSWORD\": \"",
            "TOKEN=",
            "API_KEY=",
            "SECRET=",
            "SECRET_KEY=",
            "PASSWORD=",
            "PGPASSWORD=",
            "?access_token=",
            "#ticket=",
            "x://",
        ] {
            // The end is of the one look that needs one, a password in an address.
            let text = format!("{prefix}{letters}@");
            assert_ne!(looked_through(&text), text, "{prefix} is no secret to the looks");
            assert_eq!(redact(&text), looked_through(&text), "{prefix} has no hint");
        }
    }

    #[test]
    fn lines_are_looked_through_one_by_one() {
        let secret = &secrets()[0];
        for lines in [
            String::new(),
            "a\nb\n".to_owned(),
            format!("a\n{{\"b\":\"{secret}\"}}\nhttps://c\n{secret} {secret}\nd\n"),
            format!("{secret}\n\n{secret}\n"),
            "cookie: a=b\ncookie: a=b".to_owned(),
        ] {
            let expected: String = lines.split_inclusive('\n').map(looked_through).collect();
            assert_eq!(redact_lines(lines.as_bytes()), expected.as_bytes());
        }
        assert!(matches!(redact_lines(b"a\nb\n"), Cow::Borrowed(b"a\nb\n")));
    }

    #[test]
    fn ordinary_text_is_left_alone_and_not_copied() {
        for text in [
            "",
            "a basic understanding of bearer authentication",
            "task-based, risk-averse-and-otherwise-harmless",
            "https://example.org:8080/a?b=c@d",
            "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "the cookie: a story",
            "max_tokens: 100, token=value, MAX_TOKEN=100, CLAUDE_CODE_MAX_OUTPUT_TOKENS=32000000",
            "if password == expected_password { secret = read_secret(path) }",
            "const API_TOKEN = process.env.API_TOKEN; const DB_PASSWORD: Option<&str> = None;",
            "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}, API_KEY=$(pass show key) MY_API_KEY=${MY_API_KEY}",
            "MY_API_KEY=<your key>, the api-key: none, api-key: required, --api-key=FILE",
            "TOKEN=$(pass show key), SECRET=${SECRET}, PASSWORD=<yours>, PASSWORD=short, API_KEY= none",
            "const TOKEN: Token = Token::new(); if SECRET == expected_secret { PASSWORD = read_password(path) }",
            "TOKENS=100000000, MY_TOKEN_COUNT=100000000, SECRETARY=somebody1, PASSWORDS=all.of.them",
            "MONKEYTOKEN=abcd1234, PASSWORD_FILE=/run/secrets/password, SECRET_KEY_BASE=config.yml",
            r#"{"TOKEN": null, "SECRET": "", "PASSWORD": ["abcd1234"], "API_KEY": "a key of theirs"}"#,
            "100%2520done, 50%25 of it, \\e[32mgreen\\e[0m, \u{1b}[1mtask-based\u{1b}[0m, a%20task-based%20plan",
            "https://first.name-of-somebody@example.org/a, ssh://git@example.org, user_access_token=x",
            "the issue's ticket=4711, #ticket=4711, an xapp-thing, dop_v1_ and ya29. are beginnings",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn text_made_to_be_slow_is_not() {
        // A pattern that is tried again at every place would need hours for this.
        for piece in [
            "eyJ",
            "eyJaaaaaaaa.",
            "-----BEGIN ",
            "://a:",
            "Bearer ",
            "sk-",
            "cookie:",
            "authorization: a ",
            "_TOKEN=",
            "_PASSWORD=a",
            "?access_token=",
            "://aaaaaaaaaaaaaaaaaaaa",
            "api-key:",
            "ya29.",
            "%25",
            "sk-%2525",
            "\\\\\\",
            "sk-\\",
            "sk-\u{1b}[0;0;0",
            "TOKEN",
            concat!("-----BEGIN PRIVATE", " KEY-----\""),
        ] {
            redact(&piece.repeat(2_000_000 / piece.len()));
        }
    }

    proptest! {
        #[test]
        fn json_stays_json(
            pieces in prop::collection::vec(
                prop_oneof![
                    "\\PC{0,6}",
                    prop::sample::select(vec![
                        "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "Bearer ", "cookie: a=", "://a:b@",
                        "\\", "\"", "'", "\n", "authorization: ", "sk-0123456789abcdefghi", "x-api-key",
                        "A_TOKEN=", "A_PASSWORD", ": ", "hunter2!hunter2", "?access_token=", "#ticket=", "://",
                        "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bAb3dEf6hIj9lMn2pQr5t", "\\n", "PASSWORD=", "PGPASSWORD", "\u{1b}[32m", "%20", "%25", "\u{1b}",
                    ]).prop_map(str::to_owned),
                ],
                0..12,
            ),
        ) {
            let text = pieces.concat();
            let json = serde_json::json!({ "a": text, text.clone(): [text, 1] }).to_string();
            prop_assert!(serde_json::from_str::<serde_json::Value>(&redact(&json)).is_ok(), "{}", redact(&json));
            prop_assert_eq!(redact(&json), looked_through(&json), "a hint is missing");
            let lines = format!("{json}\n{json}\n");
            let mut following = LineByLine::default();
            let expected = [&json, &json].map(|line| following.redact(line) + "\n").concat();
            prop_assert_eq!(redact_lines(lines.as_bytes()), expected.as_bytes());
        }
    }
}
