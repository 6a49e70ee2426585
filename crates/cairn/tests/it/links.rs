//! Links of a thought: what it supersedes and rejects, what it applies to, and how it came to be recorded.

use cairn::{NewThought, Scope, Source, Thought, ThoughtType};

use crate::attacks::forger;
use crate::harness::{TestCairn, issues};

fn draft(kind: ThoughtType, session: &str, text: &str) -> NewThought {
    NewThought::new(kind, text).session(session).agent("ada")
}

fn decision(session: &str, text: &str) -> NewThought {
    draft(ThoughtType::Decision, session, text)
}

/// The same record, however it is read.
fn assert_shown(db: &TestCairn, thought: &Thought) {
    assert_eq!(db.get(thought.id.as_str()).unwrap().as_ref(), Some(thought));
    assert!(db.list(&Default::default()).unwrap().records.contains(thought));
    assert_eq!(db.another().get(thought.id.as_str()).unwrap().as_ref(), Some(thought));
}

#[test]
fn links_come_back_as_they_were_recorded() {
    let db = TestCairn::new();
    let old = db.record(decision("elsewhere", "Use sessions")).unwrap();
    let option = db.record(draft(ThoughtType::Analysis, "s", "Use cookies")).unwrap();
    let new = decision("s", "Use tokens").supersedes(&old.id).rejects(&option.id);
    let new = db.record(new.applies_to("src/auth/**").applies_to("area:\"é\"")).unwrap();
    assert_eq!((&new.supersedes[..], &new.rejects[..]), (&[old.id.clone()][..], &[option.id.clone()][..]));
    assert_eq!(
        new.applies_to.iter().map(|subject| subject.as_str()).collect::<Vec<_>>(),
        ["src/auth/**", "area:\"é\""]
    );
    let withdrawn = draft(ThoughtType::Reflection, "s", "Neither").supersedes(&new.id).supersedes(&old.id);
    let withdrawn = db.record(withdrawn.rejects(&new.id)).unwrap();
    let plan = db.record(draft(ThoughtType::Plan, "s", "Write it").applies_to("src/auth/**")).unwrap();
    for thought in [&old, &option, &new, &withdrawn, &plan] {
        assert_shown(&db, thought);
        assert_eq!(thought.source, Source::Agent);
    }
    let shown = serde_json::to_value(&old).unwrap();
    assert!(["supersedes", "rejects", "applies_to"].iter().all(|list| shown.get(list).is_none()), "{shown}");
    assert_eq!(db.check().records, 5);
}

#[test]
fn the_source_is_that_of_the_call() {
    let db = TestCairn::new();
    for source in Source::ALL {
        let thought = db.record_as(source, decision("s", "x")).unwrap();
        assert_eq!(thought.source, source);
        assert_shown(&db, &thought);
    }
    db.check();
}

#[test]
fn only_an_earlier_decision_can_be_superseded() {
    let db = TestCairn::new();
    let decided = db.record(decision("elsewhere", "x")).unwrap();
    for kind in [ThoughtType::Plan, ThoughtType::Analysis, ThoughtType::Reflection] {
        let other = db.record(draft(kind, "s", "y")).unwrap();
        let refused = db.record(decision("s", "z").supersedes(&decided.id).supersedes(&other.id));
        let id = &other.id;
        let said =
            format!("supersedes[1]: only a decision can be superseded; thought `{id}` is of type {kind}");
        assert_eq!(issues(refused), [said]);
    }
    let refused = db.record(decision("s", "z").supersedes("r99"));
    assert_eq!(issues(refused), ["supersedes[0]: there is no thought `r99`"]);
    // The id that it gets itself.
    let refused = db.record(decision("new", "z").supersedes("r8"));
    assert_eq!(issues(refused), ["supersedes[0]: there is no thought `r8`"]);
    assert_eq!(db.check().records, 4);
}

#[test]
fn only_an_earlier_thought_of_the_session_can_be_rejected() {
    let db = TestCairn::new();
    let there = db.record(decision("there", "x")).unwrap();
    let said = "rejects[0]: thought `r1` belongs to another session than `s`";
    assert_eq!(issues(db.record(decision("s", "y").rejects(&there.id))), [said]);
    let here = db.record(decision("s", "y")).unwrap();
    assert_eq!(issues(db.record(decision("s", "z").rejects(&there.id))), [said]);
    let refused = db.record(decision("s", "z").rejects(&here.id).rejects("r99"));
    assert_eq!(issues(refused), ["rejects[1]: there is no thought `r99`"]);
    db.record(decision("s", "z").rejects(&here.id)).unwrap();
    assert_eq!(db.check().records, 3);
}

#[test]
fn what_needs_no_database_is_refused_with_all_of_it() {
    let db = TestCairn::new();
    let wrong =
        draft(ThoughtType::Plan, "s", "x").supersedes("d").rejects("r").applies_to("").applies_to("a\n");
    let found = issues(db.record(wrong));
    let paths: Vec<&str> = found.iter().filter_map(|issue| issue.split(':').next()).collect();
    assert_eq!(paths, ["supersedes", "rejects", "applies_to[0]", "applies_to[1]"]);
    assert_eq!(db.check().records, 0);
}

#[test]
fn a_repeated_call_must_name_the_same_links() {
    let db = TestCairn::new();
    let old = db.record(decision("s", "old")).unwrap();
    let other = db.record(decision("s", "other")).unwrap();
    let draft = decision("s", "new").supersedes(&old.id).rejects(&other.id).applies_to("src");
    let draft = draft.idempotency_key("k");
    let first = db.record(draft.clone()).unwrap();
    assert_eq!(db.record(draft.clone()).unwrap(), first);
    assert_eq!(db.another().record(draft.clone()).unwrap(), first);
    // How it comes here is not an argument of the call.
    assert_eq!(db.record_as(Source::Person, draft.clone()).unwrap(), first);
    for (field, changed) in [
        ("supersedes", draft.clone().supersedes(&other.id)),
        ("rejects", NewThought { rejects: Vec::new(), ..draft.clone() }),
        ("applies_to", draft.clone().applies_to("docs")),
    ] {
        let refused = db.record(changed).unwrap_err();
        assert_eq!(refused.code(), "CONFLICT");
        assert!(refused.to_string().contains(&format!("with another {field};")), "{refused}");
    }
    assert_eq!(db.check().records, 3);
}

#[test]
fn a_redacted_thought_keeps_its_links() {
    let db = TestCairn::new();
    let old = db.record(decision("s", "old")).unwrap();
    let new = decision("s", "a secret").supersedes(&old.id).rejects(&old.id).applies_to("src");
    let new = db.record(new).unwrap();
    for id in [&old.id, &new.id] {
        crate::redact::redact(&db, id.as_str()).unwrap();
    }
    let now = db.get(new.id.as_str()).unwrap().unwrap();
    assert_eq!(
        (&now.supersedes, &now.rejects, &now.applies_to),
        (&new.supersedes, &new.rejects, &new.applies_to)
    );
    // What is redacted can still be superseded.
    db.record(decision("s", "newer").supersedes(&new.id).rejects(&new.id)).unwrap();
    db.check();
    for column in ["supersedes", "rejects", "applies_to", "source"] {
        let change = format!("UPDATE thought SET {column} = '[\"x\"]' WHERE id = ?1");
        let refused = db.sql().execute(&change, [new.id.as_str()]).unwrap_err().to_string();
        assert!(refused.contains("thoughts are write-once"), "{column}: {refused}");
    }
}

/// Somebody who can write everything, and has no key: the log fits its rows, and the links still lead nowhere.
#[test]
fn a_link_that_could_not_have_been_recorded_is_found() {
    let long =
        |count: usize| serde_json::to_string(&(0..count).map(|n| n.to_string()).collect::<Vec<_>>()).unwrap();
    let cases = [
        ("supersedes", r#"["nobody"]"#.to_string(), "an earlier thought `nobody`"),
        ("supersedes", r#"["r5"]"#.to_string(), "an earlier thought `r5`"),
        ("supersedes", r#"["r4"]"#.to_string(), "an earlier thought `r4`"),
        ("supersedes", r#"["r1"]"#.to_string(), "`r1` of type plan"),
        ("rejects", r#"["r2"]"#.to_string(), "`r2` of another session"),
        ("rejects", r#"["r3","r3"]"#.to_string(), "must be named once"),
        ("rejects", long(17), "must have at most 16 entries, found 17"),
        ("applies_to", long(33), "must have at most 32 entries, found 33"),
        ("applies_to", r#"[""]"#.to_string(), "must not be empty"),
    ];
    for (field, forged, said) in cases {
        let db = TestCairn::new();
        db.record(draft(ThoughtType::Plan, "s", "a plan")).unwrap();
        db.record(decision("there", "another session")).unwrap();
        db.record(decision("s", "an option")).unwrap();
        let last = decision("s", "the last but one").supersedes("r2").rejects("r1").applies_to("src");
        db.record(last).unwrap();
        db.record(decision("s", "the last")).unwrap();
        db.check();
        db.cairn.clone().close();
        db.sql().unprotected(|sql| {
            sql.execute(&format!("UPDATE thought SET {field} = ?1 WHERE id = 'r4'"), [&forged]).unwrap();
            let (size, root) = forger::rebuild_log(sql);
            forger::restate(sql, size, root, &[]);
        });
        let report = db.another().verify(&Scope::All).unwrap();
        let found: Vec<&str> = report.findings.iter().map(|finding| &*finding.message).collect();
        let [finding] = &report.findings[..] else { panic!("{forged}: {found:?}") };
        assert_eq!((finding.id.as_deref(), finding.field.as_deref()), (Some("r4"), Some(field)), "{found:?}");
        assert!(finding.message.contains(said), "{found:?}");
        let report = db.another().verify(&Scope::Session("s".into())).unwrap();
        assert!(!report.valid(), "{forged}");
    }
}

/// A row that was changed is found as such, and nothing else is made of it.
#[test]
fn a_changed_link_is_found_and_not_shown() {
    for (change, field) in [
        ("UPDATE thought SET supersedes = NULL WHERE id = 'r3'", "leaf_hash"),
        ("UPDATE thought SET rejects = '[\"r1\"]' WHERE id = 'r3'", "leaf_hash"),
        ("UPDATE thought SET applies_to = '[]' WHERE id = 'r3'", "applies_to"),
        ("UPDATE thought SET source = 'person' WHERE id = 'r3'", "leaf_hash"),
        ("UPDATE thought SET source = 'ghost' WHERE id = 'r3'", "source"),
        ("UPDATE thought SET type = 'plan' WHERE id = 'r1'", "leaf_hash"),
    ] {
        let db = TestCairn::new();
        db.record(decision("s", "old")).unwrap();
        db.record(draft(ThoughtType::Analysis, "s", "an option")).unwrap();
        let new = decision("s", "new").supersedes("r1").rejects("r2").applies_to("src");
        db.record(new).unwrap();
        db.tamper(change);
        let id = if change.contains("'r1'") { "r1" } else { "r3" };
        let report = db.verify(&Scope::All).unwrap();
        let [finding] = &report.findings[..] else { panic!("{change}: {:#?}", report.findings) };
        // A value that no record has cannot be hashed, and so the record has no id.
        assert_eq!(finding.field.as_deref(), Some(field), "{change}");
        assert!(finding.id.as_deref() == Some(id) || field != "leaf_hash", "{change}: {finding:#?}");
        assert_eq!(db.another().get(id).unwrap_err().code(), "DAMAGED", "{change}");
    }
    // A superseded decision that is gone is one finding: its own.
    let db = TestCairn::new();
    db.record(decision("s", "old")).unwrap();
    db.record(decision("t", "new").supersedes("r1")).unwrap();
    db.tamper("DELETE FROM thought WHERE id = 'r1'");
    let report = db.verify(&Scope::All).unwrap();
    assert_eq!(report.findings[0].seq, Some(1), "{:#?}", report.findings);
    assert!(
        report.findings.iter().all(|finding| finding.id.as_deref() != Some("r2")),
        "{:#?}",
        report.findings
    );
}
