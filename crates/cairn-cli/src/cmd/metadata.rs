//! The options that take metadata, which are the same wherever something is recorded.

use serde_json::{Map, Value};

use crate::error::CliError;

/// What is to be kept with a record.
#[derive(Debug, clap::Args)]
pub(super) struct Metadata {
    /// Keep a text with it; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    meta: Vec<(String, String)>,
    /// Keep a JSON object with it
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_string(), value.to_string())),
        _ => Err("must look like KEY=VALUE".to_string()),
    }
}

impl Metadata {
    /// All of it as one object, or none if nothing was given.
    pub(super) fn read(&self) -> Result<Option<Map<String, Value>>, CliError> {
        let mut metadata =
            match self.metadata.as_deref().map(|json| cairn::core::canonical::parse(json.as_bytes())) {
                None => Map::new(),
                Some(Ok(Value::Object(map))) => map,
                Some(Ok(_)) => {
                    return Err(CliError::usage(
                        "--metadata must be a JSON object, such as '{\"branch\": \"main\"}'",
                    ));
                }
                Some(Err(error)) => {
                    return Err(CliError::usage(format!("--metadata is not what it should be: {error}")));
                }
            };
        for (key, value) in &self.meta {
            if metadata.insert(key.clone(), Value::String(value.clone())).is_some() {
                return Err(CliError::usage(format!("metadata key `{key}` is given twice")));
            }
        }
        Ok((self.metadata.is_some() || !metadata.is_empty()).then_some(metadata))
    }
}
