//! How long lines, functions and files may be.

use super::Source;

/// Longest line of code, in characters.
const COLUMNS_MAX: usize = 100;

/// Longest file without its tests, in lines.
const LINES_MAX: usize = 500;

/// Longest function, in lines.
const FUNCTION_MAX: usize = 70;

/// Lines of code that are too long. Prose, generated headers and transcripts may run on.
#[must_use]
pub fn columns(source: &Source) -> Vec<String> {
    let endings = [".rs", ".c", ".cc", ".cpp", ".hpp", ".sh", ".py"];
    if !endings.iter().any(|ending| source.path.ends_with(ending)) {
        return Vec::new();
    }
    let lines = source.text.lines().zip(1..);
    lines
        .filter(|(line, _)| line.chars().count() > COLUMNS_MAX && !is_a_long_text(line))
        .map(|(line, number)| {
            let found = line.chars().count();
            source.complain(number, format!("{found} columns, at most {COLUMNS_MAX}"))
        })
        .collect()
}

/// Addresses and literals can't be broken.
fn is_a_long_text(line: &str) -> bool {
    line.contains("https://") || line.contains("r#\"") || line.trim_start().starts_with('"')
}

/// Files that are too long.
#[must_use]
pub fn lines(source: &Source) -> Vec<String> {
    let found = source.code_lines().count();
    if source.is_rust() && found > LINES_MAX {
        vec![source.complain(
            1,
            format!("{found} lines without tests, at most {LINES_MAX}"),
        )]
    } else {
        Vec::new()
    }
}

/// Functions that are too long. The source is formatted, so that a function ends at the first
/// closing brace with its own indentation.
#[must_use]
pub fn functions(source: &Source) -> Vec<String> {
    if !source.is_rust() {
        return Vec::new();
    }
    let (mut complaints, mut open): (_, Option<(usize, usize)>) = (Vec::new(), None);
    for (line, number) in source.text.lines().zip(1..) {
        let indent = line.len() - line.trim_start().len();
        match open {
            None if begins_function(line.trim_start()) && !line.ends_with(['}', ';']) => {
                open = Some((number, indent));
            }
            Some((start, outer)) if indent == outer && line.trim_start().starts_with('}') => {
                let found = number - start + 1;
                if found > FUNCTION_MAX {
                    let what = format!("a function of {found} lines, at most {FUNCTION_MAX}");
                    complaints.push(source.complain(start, what));
                }
                open = None;
            }
            Some((_, outer)) if indent == outer && line.ends_with(';') => open = None,
            None | Some(_) => {}
        }
    }
    complaints
}

fn begins_function(line: &str) -> bool {
    let words = line.split(' ');
    let mut words = words.skip_while(|word| {
        word.starts_with("pub")
            || ["const", "async", "unsafe", "extern", "\"C\""].contains(word)
            || ["super)", "crate)"].contains(word)
            || word.starts_with("crate::")
    });
    words.next() == Some("fn")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_101_columns_is_too_long() {
        let line = |length: usize| Source::sample("a.rs", &"x".repeat(length));
        assert!(columns(&line(100)).is_empty());
        assert_eq!(columns(&line(101)), ["a.rs:1: 101 columns, at most 100"]);
        assert!(columns(&Source::sample("a.md", &"x".repeat(101))).is_empty());
        let literal = format!("    \"{}\"", "x".repeat(101));
        assert!(columns(&Source::sample("a.rs", &literal)).is_empty());
    }

    #[test]
    fn a_file_of_501_lines_is_too_long_and_its_tests_do_not_count() {
        let code = "x\n".repeat(500);
        assert!(lines(&Source::sample("a.rs", &code)).is_empty());
        let tested = format!("{code}#[cfg(test)]\nmod tests {{\n}}\n");
        assert!(lines(&Source::sample("a.rs", &tested)).is_empty());
        let longer = format!("x\n{tested}");
        let complaints = lines(&Source::sample("a.rs", &longer));
        assert_eq!(complaints, ["a.rs:1: 501 lines without tests, at most 500"]);
    }

    #[test]
    fn a_function_of_71_lines_is_too_long() {
        let function = |head: &str, body: usize| {
            let text = format!("    {head} {{\n{}    }}\n", "        x;\n".repeat(body));
            functions(&Source::sample("a.rs", &text))
        };
        let heads = [
            "fn f()",
            "pub fn f(&self)",
            "pub(crate) const fn f()",
            "pub(in crate::a) async fn f()",
            "pub unsafe extern \"C\" fn f()",
        ];
        for head in heads {
            assert!(function(head, 68).is_empty(), "{head}");
            let complaints = function(head, 69);
            assert_eq!(
                complaints,
                ["a.rs:1: a function of 71 lines, at most 70"],
                "{head}"
            );
        }
    }

    #[test]
    fn a_declaration_without_a_body_is_no_function() {
        let text = format!("    fn f();\n{}    }}\n", "        x;\n".repeat(80));
        assert!(functions(&Source::sample("a.rs", &text)).is_empty());
    }
}
