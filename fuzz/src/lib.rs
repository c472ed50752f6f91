//! The harness of the fuzz targets. Not a crate of the workspace: it is built with a nightly toolchain.

pub mod harness;
