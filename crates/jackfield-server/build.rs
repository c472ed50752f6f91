//! Tells cargo to embed the page anew when its files change, also when one is new.

// That is how a build script speaks to cargo.
#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=../../web/dist");
}
