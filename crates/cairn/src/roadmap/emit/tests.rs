use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{json as json_form, toml};
use super::*;

fn document(value: Value) -> Document {
    Document::from_json(value, 0)
}

/// Texts that some reader of YAML takes for something else, or cannot hold without an escape.
fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~\t\n\r]{0,12}",
        "[-?:,\\[\\]{}#&*!|>'\"%@` a0.]{0,8}",
        Just("---".to_string()),
        Just("...".to_string()),
        Just("\u{feff}a\u{85}b\u{2028}c\u{7f}d\u{9f}e\u{fffe}".to_string()),
        prop::sample::select(vec![
            "null", "~", "true", "yes", "No", "1", "1e3", "0x1", ".inf", "<<", "=", "a: b", "a #b", " a",
            "a ", "\n", ""
        ])
        .prop_map(ToString::to_string),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = any::<f64>().prop_filter("canonical", |number| number.is_finite() && number.abs() < 9e15);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53) + 1..1 << 53).prop_map(Value::from),
        number.prop_map(Value::from),
        odd_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(odd_text(), inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_reads_back_the_same(value in prop::collection::btree_map(odd_text(), any_value(), 1..5)) {
        let value = Value::Object(value.into_iter().collect());
        let text = to_yaml(&document(value.clone()));
        let read = yaml::parse(&text, 1).map(Document::into_json);
        prop_assert_eq!(read.as_ref(), Ok(&value), "{}", text);
        let text = to_json(&document(value.clone()));
        prop_assert_eq!(&json_form::parse(&text).unwrap().into_json(), &value, "{}", text);
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &value);
        let text = to_toml(&document(value.clone())).unwrap();
        let read = toml::parse(&text).map(Document::into_json);
        prop_assert_eq!(read.as_ref(), Ok(&value), "{}", text);
    }
}

#[test]
fn it_looks_as_if_somebody_had_written_it() {
    let mut plan = document(json!({}));
    let text = |text: &str| document(json!(text));
    let node = Document {
        line: 0,
        value: Content::Map(vec![
            ("id".into(), text("parse")),
            ("label".into(), text("Parse the file: all of it")),
            ("dependencies".into(), document(json!(["read", "7"]))),
            ("links".into(), document(json!([{"href": "x"}]))),
        ]),
    };
    plan.value = Content::Map(vec![
        ("title".into(), text("Import v2")),
        ("phases".into(), document(json!(["build"]))),
        ("nodes".into(), Document { line: 0, value: Content::List(vec![node]) }),
    ]);
    assert_eq!(
        to_yaml(&plan),
        "title: Import v2\nphases: [build]\nnodes:\n  - id: parse\n    label: \"Parse the file: all of it\"\n    \
         dependencies: [read, \"7\"]\n    links:\n      - href: x\n"
    );
    assert_eq!(
        to_toml(&plan).unwrap(),
        "title = \"Import v2\"\nphases = [\"build\"]\n\n[[nodes]]\nid = \"parse\"\n\
         label = \"Parse the file: all of it\"\ndependencies = [\"read\", \"7\"]\nlinks = [{ href = \"x\" }]\n"
    );
    assert!(
        to_json(&plan).starts_with("{\n  \"title\": \"Import v2\",\n  \"phases\": [\n    \"build\"\n  ],\n")
    );
}
