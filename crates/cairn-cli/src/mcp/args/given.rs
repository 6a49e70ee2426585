//! The arguments of one call, checked against their declaration.

use cairn::core::preview::preview;
use cairn::{Issue, ThoughtType};
use rmcp::model::JsonObject;
use serde_json::{Map, Value};

use super::check::{check, missing};
use super::{Arg, nearest};

/// Stands for an argument that was refused, so that whoever checks further does not miss it.
const REFUSED: &str = "-";

/// Arguments of the declared kinds, and everything that was wrong with the others.
pub struct Given {
    values: Vec<(&'static str, Value)>,
    /// What was wrong. A call with any must not be carried out.
    pub issues: Vec<Issue>,
}

impl Given {
    /// Checks `arguments` and takes them apart.
    pub fn read(declared: &'static [Arg], arguments: JsonObject) -> Given {
        let mut given = Given { values: Vec::with_capacity(arguments.len()), issues: Vec::new() };
        for (key, value) in arguments {
            match declared.iter().find(|arg| arg.is_named(&key)) {
                // Clients that fill in every argument send null for those they do not need.
                Some(_) if value.is_null() => {}
                Some(arg) => given.take(arg, key, value),
                None => given.issues.push(unknown(declared, key)),
            }
        }
        for arg in declared.iter().filter(|arg| arg.required) {
            if !given.has(arg.name) {
                given.issues.push(Issue::new(arg.name, missing(&arg.kind)));
            }
        }
        given
    }

    fn take(&mut self, arg: &'static Arg, key: String, value: Value) {
        if self.has(arg.name) {
            return self.issues.push(Issue::new(arg.name, "is given twice, in two spellings; give it once"));
        }
        match check(&arg.kind, value) {
            Ok(value) => self.values.push((arg.name, value)),
            Err(wrong) => {
                self.issues.push(Issue::new(key + &wrong.place, wrong.message));
                self.values.push((arg.name, Value::String(REFUSED.to_string())));
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(known, _)| *known == name)
    }

    fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.values.iter().position(|(known, _)| *known == name)?;
        Some(self.values.swap_remove(at).1)
    }

    /// Takes out a text.
    pub fn text(&mut self, name: &str) -> Option<String> {
        match self.remove(name)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Takes out a number.
    pub fn integer(&mut self, name: &str) -> Option<u64> {
        self.remove(name)?.as_u64()
    }

    /// Takes out a yes or no.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        self.remove(name)?.as_bool()
    }

    /// Takes out an object.
    pub fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        match self.remove(name)? {
            Value::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Takes out a list.
    pub fn list(&mut self, name: &str) -> Option<Vec<Value>> {
        match self.remove(name)? {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Takes out a list of texts.
    pub fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let texts = self.list(name)?.into_iter().filter_map(|item| match item {
            Value::String(text) => Some(text),
            _ => None,
        });
        Some(texts.collect())
    }

    /// Takes out one of the four types.
    pub fn thought_type(&mut self, name: &str) -> Option<ThoughtType> {
        self.remove(name)?.as_str()?.parse().ok()
    }
}

fn unknown(declared: &[Arg], key: String) -> Issue {
    let names = || declared.iter().map(|arg| arg.name);
    let message = match nearest(&key, names()) {
        Some(name) => format!("unknown argument; did you mean `{name}`?"),
        None => format!("unknown argument; known are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Issue::new(preview(&key, 80).escape_debug().to_string(), message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Kind;
    use super::*;

    static ARGS: [Arg; 10] = [
        Arg::new("type", Kind::Word(&["plan", "analysis"]), "").older(&["thoughtType"]).required(),
        Arg::new("session_id", Kind::Text, ""),
        Arg::new("limit", Kind::Integer(1, 100), ""),
        Arg::new("include_content", Kind::Flag, ""),
        Arg::new("metadata", Kind::Object, ""),
        Arg::new("id", Kind::Label, "").required(),
        Arg::new("nodes", Kind::List, ""),
        Arg::new("names", Kind::Texts, ""),
        Arg::new("depth", Kind::Word(&["2", "full"]), ""),
        Arg::new("counter", Kind::TextOrNumber, ""),
    ];

    fn read(arguments: Value) -> Given {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        Given::read(&ARGS, arguments)
    }

    fn issue(key: &str, value: Value) -> String {
        let mut arguments = json!({ "type": "plan", "id": "x" });
        arguments[key] = value;
        let issues = read(arguments).issues;
        assert_eq!(issues.len(), 1, "{issues:?}");
        format!("{}: {}", issues[0].path, issues[0].message)
    }

    #[test]
    fn what_is_right_arrives() {
        let mut given = read(json!({
            "thoughtType": "analysis", "sessionId": "s", "limit": 5.0, "includeContent": true,
            "metadata": { "a": 1 }, "id": "x", "nodes": [{ "id": "n" }],
        }));
        assert_eq!(given.issues, []);
        assert_eq!(given.thought_type("type"), Some(ThoughtType::Analysis));
        assert_eq!(given.text("session_id").unwrap(), "s");
        assert_eq!(given.integer("limit"), Some(5));
        assert_eq!(given.flag("include_content"), Some(true));
        assert_eq!(given.object("metadata").unwrap().len(), 1);
        assert_eq!(given.text("id").unwrap(), "x");
        assert_eq!(given.list("nodes").unwrap(), [json!({ "id": "n" })]);
    }

    #[test]
    fn a_number_may_stand_for_a_text_where_the_text_is_a_number() {
        for (depth, counter) in [(json!(2), json!(0.3)), (json!(2.0), json!("0.3")), (json!("2"), json!(0.3))]
        {
            let mut given = read(json!({ "type": "plan", "id": "x", "depth": depth, "counter": counter }));
            assert_eq!(given.issues, []);
            assert_eq!(
                (given.text("depth").unwrap(), given.text("counter").unwrap()),
                ("2".into(), "0.3".into())
            );
        }
        let mut given = read(json!({ "type": "plan", "id": "x", "names": ["a", "b"] }));
        assert_eq!(given.texts("names").unwrap(), ["a", "b"]);
    }

    #[test]
    fn null_counts_as_not_given() {
        let mut given = read(json!({ "type": null, "id": "x", "limit": null }));
        assert_eq!(given.issues, [Issue::new("type", "must be given: one of plan, analysis")]);
        assert_eq!(given.integer("limit"), None);
    }

    #[test]
    fn each_problem_is_told_at_its_path() {
        assert_eq!(
            issue("type", json!("idea")),
            "type: must be one of plan, analysis; found the text \"idea\""
        );
        assert_eq!(issue("limit", json!(0)), "limit: must be at least 1, found 0");
        assert_eq!(issue("limit", json!(-3.0)), "limit: must be at least 1, found -3");
        assert_eq!(issue("limit", json!(101)), "limit: must be at most 100, found 101");
        assert_eq!(issue("limit", json!(1.5)), "limit: must be an integer, found 1.5");
        assert_eq!(issue("limit", json!("5")), "limit: must be an integer, found the text \"5\"");
        assert_eq!(
            issue("include_content", json!("yes")),
            "include_content: must be true or false, found the text \"yes\""
        );
        assert_eq!(issue("metadata", json!([1])), "metadata: must be an object, found an array");
        assert_eq!(issue("nodes", json!("x")), "nodes: must be a list, found the text \"x\"");
        assert_eq!(
            issue("nodes", json!("[]")),
            "nodes: must be a list, found the text \"[]\"; give the list itself, not its JSON as a text"
        );
        assert_eq!(issue("nodes", json!({})), "nodes: must be a list, found an object");
        assert_eq!(issue("nodes", json!([{}, 7, "x"])), "nodes[1]: must be an object, found 7");
        assert_eq!(issue("names", json!(["a", 7])), "names[1]: must be a text, found 7");
        assert_eq!(issue("names", json!("a")), "names: must be a list, found the text \"a\"");
        assert_eq!(issue("depth", json!(3)), "depth: must be one of 2, full; found 3");
        assert_eq!(issue("counter", json!([])), "counter: must be a text or a number, found an array");
        assert_eq!(issue("sessionId", json!(7)), "sessionId: must be a text, found 7");
        assert_eq!(issue("id", json!("")), "id: must not be empty");
        let nul = "session_id: must not contain a NUL character or an unpaired surrogate";
        assert_eq!(issue("session_id", json!("a\0")), nul);
        assert_eq!(issue("sesion_id", json!("s")), "sesion_id: unknown argument; did you mean `session_id`?");
        assert_eq!(
            issue("colour", json!(1)),
            "colour: unknown argument; known are type, session_id, limit, include_content, metadata, id, nodes, \
             names, depth, counter"
        );
    }

    #[test]
    fn all_problems_are_told_at_once_and_two_spellings_are_one_of_them() {
        let issues = read(json!({ "type": "x", "session_id": "a", "sessionId": "b", "limit": "x" })).issues;
        let paths: Vec<&str> = issues.iter().map(|issue| issue.path.as_str()).collect();
        assert_eq!(paths, ["limit", "session_id", "type", "id"]);
    }
}
