//! Bundles, each checked by the library and by `docs/verify_bundle.py`, which must say the same.

mod copy;
mod forge;
mod golden;
mod import;
mod keys;
mod redacted;
mod refused;
mod tamper;
mod whole;
