//! How the CLI takes a list of tool rules apart.
//!
//! Not what a rule means. The one rule it keeps: a text that the CLI would read as two rules, or as none, is
//! not passed off as one. `Bash(a),b` as *one* rule to allow would allow a tool that nobody named.

/// Whether the CLI reads the text as this one rule.
///
/// It cuts at every `,` and space outside parentheses; the first `)` closes, whatever was opened and whatever
/// stands before it. Both pinned versions were asked.
pub(super) fn is_one(rule: &str) -> bool {
    let mut is_inside = false;
    for character in rule.chars() {
        match character {
            '(' => is_inside = true,
            ')' => is_inside = false,
            ',' if !is_inside => return false,
            space if space.is_whitespace() && !is_inside => return false,
            _ => {}
        }
    }
    !rule.is_empty() && !is_inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_rules_pass() {
        for rule in ["Edit", "Bash(git log *, x y)", "mcp__server__tool", "-x", "Bash(f(x))", "Edit(/a b/**)"]
        {
            assert!(is_one(rule), "{rule}");
        }
    }

    #[test]
    fn what_would_be_more_than_one_or_none_does_not() {
        for rule in ["", "Edit,Read", "Edit Read", "Bash(echo ) a)", "Bash(a(b), c)", "Bash(a", "Edit\nRead"]
        {
            assert!(!is_one(rule), "{rule}");
        }
    }
}
