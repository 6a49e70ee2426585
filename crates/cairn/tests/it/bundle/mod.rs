//! Bundles, each checked by the library and by `docs/verify_bundle.py`, which must say the same.

mod copy;
mod differential;
mod forge;
mod golden;
mod import;
mod keys;
mod redacted;
mod refused;
mod selection;
mod tamper;
mod whole;
