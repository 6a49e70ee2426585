//! Tools for the plans in the folder of roadmaps.

mod get;
mod list;
mod register;
mod validate;

pub use get::GET;
pub use list::LIST;
pub use register::REGISTER;
pub use validate::VALIDATE;
