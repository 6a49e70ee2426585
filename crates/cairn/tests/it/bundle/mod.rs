//! Bundles, each checked by the library and by `docs/verify_bundle.py`, which must say the same.

mod copy;
mod differential;
pub mod forge;
mod golden;
mod import;
mod keys;
mod redacted;
mod refused;
mod selection;
mod tamper;
mod whole;

/// The bytes of a bundle of these lines, with everything that takes no key made again.
pub fn rebuilt(lines: Vec<serde_json::Value>) -> Vec<u8> {
    forge::Bundle { lines }.rebuilt(&[]).bytes()
}
