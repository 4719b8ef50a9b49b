//! The house rules, as tests: a scan of the sources that names file, line and what to do instead.
//! What each room may touch is a table; a new rule is a line in it.

mod tidy {
    mod edges;
    mod manifest;
    mod rules;
    mod source;

    use source::{Source, Violation};

    /// All rules about one source file.
    const RULES: &[fn(&Source) -> Vec<Violation>] = &[
        rules::header,
        rules::length,
        rules::name,
        rules::no_unwrap,
        rules::banned_words,
        edges::forbidden,
    ];

    #[test]
    fn every_source_keeps_the_rules() {
        let sources = source::all();
        assert!(sources.len() > 20, "the scan found only {} sources", sources.len());
        let found: Vec<_> = sources
            .iter()
            .flat_map(|source| RULES.iter().flat_map(|rule| rule(source)))
            .map(|violation| violation.to_string())
            .collect();
        assert!(found.is_empty(), "{} violations:\n{}", found.len(), found.join("\n"));
    }

    #[test]
    fn rooms_without_dependencies_have_none() {
        let found = manifest::violations();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}
