//! Links that lead nowhere, and files that nothing leads to.

use std::collections::BTreeSet;

use super::Source;

/// Links of Markdown files and includes of C files that lead to no file of the project. `exists`
/// says whether a path from the root does.
#[must_use]
pub fn dead(source: &Source, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = source.text.lines().zip(1..);
    let mut complaints = Vec::new();
    for (line, number) in lines {
        for target in targets(&source.path, line) {
            let path = join(&source.path, &target);
            let header = is_c(&source.path).then(|| format!("include/{target}"));
            let leads = exists(&path) || header.is_some_and(|header| exists(&header));
            if !leads {
                complaints.push(source.complain(number, format!("`{target}` leads nowhere")));
            }
        }
    }
    complaints
}

fn is_c(path: &str) -> bool {
    [".c", ".h", ".cc", ".cpp", ".hpp"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// What a line links to or includes, as it stands there.
fn targets(path: &str, line: &str) -> Vec<String> {
    if is_c(path) {
        let include = line.trim().strip_prefix("#include \"");
        return include
            .and_then(|rest| rest.split('"').next())
            .map(str::to_owned)
            .into_iter()
            .collect();
    }
    if !path.ends_with(".md") {
        return Vec::new();
    }
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#', ' ']).next())
        .filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(':'))
        .map(str::to_owned)
        .collect()
}

/// `target` as seen from the file `path`.
fn join(path: &str, target: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Modules under a `src` that no file declares: they are compiled by nobody.
#[must_use]
pub fn orphans(sources: &[Source]) -> Vec<String> {
    let mut declared = BTreeSet::new();
    for source in sources.iter().filter(|source| source.is_rust()) {
        let home = home_of_children(&source.path);
        for line in source.text.lines() {
            let words = line
                .trim()
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub ");
            if let Some(name) = words
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'))
            {
                declared.insert(format!("{home}{name}.rs"));
                declared.insert(format!("{home}{name}/mod.rs"));
            }
        }
    }
    let in_src = |source: &&Source| source.is_rust() && source.path.contains("/src/");
    let is_root = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        ["lib.rs", "main.rs"].contains(&name) || path.contains("/bin/")
    };
    sources
        .iter()
        .filter(in_src)
        .filter(|source| !is_root(&source.path) && !declared.contains(&source.path))
        .map(|source| source.complain(1, "no file declares this module"))
        .collect()
}

/// Where the modules lie that the file `path` declares.
fn home_of_children(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{folder}/"),
        _ => format!("{}/", path.trim_end_matches(".rs")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found_and_a_good_one_is_not() {
        let text = "See [a](docs/a.md), [b](docs/b.md#part), [c](https://example.com/x).\n";
        let found = dead(&Source::sample("README.md", text), |path| {
            path == "docs/a.md"
        });
        assert_eq!(found, ["README.md:1: `docs/b.md` leads nowhere"]);
    }

    #[test]
    fn links_start_at_their_own_file() {
        let source = Source::sample("docs/a.md", "[up](../README.md) [side](b.md)\n");
        let there = ["README.md", "docs/b.md"];
        assert!(dead(&source, |path| there.contains(&path)).is_empty());
    }

    #[test]
    fn an_include_of_nothing_is_found() {
        let source = Source::sample(
            "examples/c/a.c",
            "#include \"kubelease.h\"\n#include <x.h>\n",
        );
        assert!(dead(&source, |path| path == "include/kubelease.h").is_empty());
        let found = dead(&source, |_| false);
        assert_eq!(found, ["examples/c/a.c:1: `kubelease.h` leads nowhere"]);
    }

    #[test]
    fn a_module_that_nobody_declares_is_found() {
        let sources = [
            Source::sample("core/src/lib.rs", "pub mod a;\n"),
            Source::sample("core/src/a.rs", "mod b;\n"),
            Source::sample("core/src/a/b.rs", ""),
            Source::sample("core/src/a/c.rs", ""),
        ];
        assert_eq!(
            orphans(&sources),
            ["core/src/a/c.rs:1: no file declares this module"]
        );
    }
}
