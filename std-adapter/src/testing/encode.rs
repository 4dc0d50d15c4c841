//! JSON as Go's `encoding/json` writes it.

use core::fmt::Write as _;

use serde_json::Value;

/// One line without blanks, `<`, `>`, `&`, U+2028 and U+2029 escaped, no newline at the end.
pub(super) fn compact(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None);
    out
}

/// Many lines, two blanks a level, as the server answers to `curl` and to browsers.
pub(super) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Some(0));
    out
}

fn write_value(out: &mut String, value: &Value, indent: Option<usize>) {
    match value {
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            let items = items.iter().map(|item| (None, item));
            write_items(out, ('[', ']'), items, indent);
        }
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (Some(key.as_str()), value));
            write_items(out, ('{', '}'), members, indent);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = write!(out, "{value}");
        }
    }
}

fn write_items<'a>(
    out: &mut String,
    (open, close): (char, char),
    items: impl ExactSizeIterator<Item = (Option<&'a str>, &'a Value)>,
    indent: Option<usize>,
) {
    out.push(open);
    let is_empty = items.len() == 0;
    let inner = indent.map(|depth| depth + 1);
    for (index, (key, value)) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_break(out, inner);
        if let Some(key) = key {
            write_text(out, key);
            out.push_str(if indent.is_some() { ": " } else { ":" });
        }
        write_value(out, value, inner);
    }
    if !is_empty {
        write_break(out, indent);
    }
    out.push(close);
}

fn write_break(out: &mut String, indent: Option<usize>) {
    if let Some(depth) = indent {
        out.push('\n');
        out.extend(core::iter::repeat_n("  ", depth));
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{compact, pretty};

    #[test]
    fn texts_are_escaped_as_go_escapes_them() {
        let value = json!(["<&>", "\u{2028}\u{7f}", "\0\u{1f}\n\"\\/", "\u{1f600}"]);
        let expected = concat!(
            r#"["\u003c\u0026\u003e","\u2028"#,
            "\u{7f}",
            r#"","\u0000\u001f\n\"\\/",""#,
            "\u{1f600}\"]"
        );
        assert_eq!(compact(&value), expected);
    }

    #[test]
    fn pretty_printing_keeps_empty_things_on_one_line() {
        let value = json!({"a": {}, "b": [1, []]});
        let expected = "{\n  \"a\": {},\n  \"b\": [\n    1,\n    []\n  ]\n}";
        assert_eq!(pretty(&value), expected);
    }
}
