//! The source keeps the house style. What each rule is, and that each can fail, is tested beside
//! the rules.

use kubelease_tests::tidy::{Source, all_sources, imports, links, root, shape, words};

#[track_caller]
fn no_complaints(rule: impl Fn(&Source) -> Vec<String>) {
    let sources = all_sources();
    assert!(sources.len() > 50, "the source was not found");
    let complaints: Vec<String> = sources.iter().flat_map(rule).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn lines_have_at_most_100_columns() {
    no_complaints(shape::columns);
}

#[test]
fn files_have_at_most_500_lines_without_tests() {
    no_complaints(shape::lines);
}

#[test]
fn functions_have_at_most_70_lines() {
    no_complaints(shape::functions);
}

#[test]
fn the_core_imports_downward_only() {
    no_complaints(imports::check);
}

/// B39: no loss and no input ends the process.
#[test]
fn b39_core_and_c_abi_do_not_panic() {
    no_complaints(words::panics);
}

#[test]
fn the_adapter_returns_its_errors() {
    no_complaints(words::unwraps);
}

#[test]
fn clocks_are_read_in_one_place() {
    no_complaints(words::clocks);
}

#[test]
fn nothing_is_left_over_and_nothing_leads_outside() {
    no_complaints(words::anywhere);
}

#[test]
fn links_and_includes_lead_to_files() {
    let root = root();
    no_complaints(|source| links::dead(source, |path| root.join(path).exists()));
}

#[test]
fn every_module_is_declared() {
    let complaints = links::orphans(&all_sources());
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
