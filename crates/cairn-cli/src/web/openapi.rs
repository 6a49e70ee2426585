//! The description of the JSON twins, made from the list of pages.

use serde_json::{Map, Value, json};

use crate::serve::{Answers, Route, offered};

/// An OpenAPI 3.1 document.
pub(crate) fn openapi() -> Value {
    let pages = offered().filter_map(|route| Some((route.twin()?, operation(route))));
    let paths: Map<String, Value> =
        pages.map(|(path, operation)| (path, json!({ "get": operation }))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Cairn",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What the viewer shows, as JSON: each page's path with `.json` added.",
        },
        "security": [{}, { "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Failure": failure() },
        },
    })
}

fn operation(route: &Route) -> Value {
    let places = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = places
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let query = route.query.iter().map(|(name, about)| {
        json!({ "name": name, "in": "query", "description": about, "schema": { "type": "string" } })
    });
    let parameters: Vec<Value> = in_path.chain(query).collect();
    let members = match &route.answers {
        Answers::Page(page) => page.data,
        _ => &[],
    };
    let members: Map<String, Value> = members.iter().map(|name| (name.to_string(), json!({}))).collect();
    let failed = json!({
        "description": "It could not be answered.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failure" } } },
    });
    json!({
        "summary": route.about,
        "parameters": parameters,
        "responses": {
            "200": {
                "description": route.about,
                "content": { "application/json": { "schema": { "type": "object", "properties": members } } },
            },
            "default": failed,
        },
    })
}

fn failure() -> Value {
    json!({
        "type": "object",
        "required": ["ok", "error"],
        "properties": {
            "ok": { "const": false },
            "error": {
                "type": "object",
                "required": ["code", "message", "details"],
                "properties": {
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                    "details": { "type": "object" },
                },
            },
        },
    })
}
