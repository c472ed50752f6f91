//! Partial JSON: does a value contain what is asked of it?
//!
//! Not a query language. The one rule it keeps: a pattern says only what must be there, so a newer CLI that
//! adds a field still matches.

use serde_json::Value;

/// Whether `value` contains `pattern`: objects by the pattern's fields, lists element by element from the
/// start, `{"$contains": text}` a string with that text in it, everything else equal.
pub fn contains(value: &Value, pattern: &Value) -> bool {
    match (value, pattern) {
        (Value::String(text), Value::Object(fields)) => {
            fields.len() == 1
                && fields.get("$contains").and_then(Value::as_str).is_some_and(|part| text.contains(part))
        }
        (Value::Object(value), Value::Object(pattern)) => pattern
            .iter()
            .all(|(name, pattern)| value.get(name).is_some_and(|value| contains(value, pattern))),
        (Value::Array(values), Value::Array(patterns)) => {
            patterns.len() <= values.len()
                && values.iter().zip(patterns).all(|(value, pattern)| contains(value, pattern))
        }
        _ => value == pattern,
    }
}

/// The same for a line of JSON text; a line that is not JSON contains nothing.
pub fn line_contains(line: &str, pattern: &Value) -> bool {
    serde_json::from_str(line).is_ok_and(|value| contains(&value, pattern))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_asks_only_for_what_it_names() {
        let value = json!({"type": "result", "usage": {"input_tokens": 1}, "list": [{"a": 1}, 2]});
        assert!(contains(&value, &json!({"usage": {}, "list": [{}]})));
        assert!(contains(&value, &json!({})));
        assert!(!contains(&value, &json!({"type": "assistant"})));
        assert!(!contains(&value, &json!({"missing": null})));
        assert!(!contains(&value, &json!({"list": [{}, 2, 3]})));
    }

    #[test]
    fn a_text_can_be_asked_for_a_part() {
        assert!(contains(&json!("hello world"), &json!({"$contains": "world"})));
        assert!(!contains(&json!("hello"), &json!({"$contains": "world"})));
        assert!(!line_contains("not json", &json!({})));
    }
}
