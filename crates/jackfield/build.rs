//! Tells the linker which functions a session of an editor runs, so that they lie together.
//!
//! The program is several times as large as what one session runs of it. Scattered over the whole, those functions
//! would bring most of it into memory, since the system maps what lies around a page with it; side by side they bring
//! a fifth. `layout.txt` names them; `cargo xtask layout` writes it. The one rule it keeps: a name that is no more,
//! and a linker that does not take part, cost memory and nothing else.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=layout.txt");
    println!("cargo::rerun-if-changed=build.rs");
    let Some(folder) = env::var_os("OUT_DIR").filter(|_| takes_part()) else { return Ok(()) };
    let script = Path::new(&folder).join("layout.ld");
    fs::write(&script, for_linker(&fs::read_to_string("layout.txt")?))?;
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    if knows_packed_addresses() {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    Ok(())
}

/// Whether this is a build for use, with the linker that the compiler brings along.
fn takes_part() -> bool {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    is("PROFILE", "release")
        && is("TARGET", "x86_64-unknown-linux-gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && flags.contains("symbol-mangling-version=v0")
        && !flags.contains("link-arg")
        && !flags.contains("linker")
}

/// Whether the system's own library can start a program whose list of addresses to mend is packed, which is a fortieth
/// as long. It is read whole at every start.
fn knows_packed_addresses() -> bool {
    let told =
        Command::new("getconf").arg("GNU_LIBC_VERSION").output().map(|told| told.stdout).unwrap_or_default();
    let told = String::from_utf8_lossy(&told);
    let version = told.trim().strip_prefix("glibc ").and_then(|version| version.split_once('.'));
    version.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        >= Some((2_u32, 36_u32))
}

/// The names as a linker's script, which is added to the linker's own.
fn for_linker(names: &str) -> String {
    let mut script = String::from("SECTIONS {\n  .text : {\n    *(.text.startup.*)\n");
    for name in names.lines().filter(|line| !line.starts_with('#')) {
        // The compiler keeps apart what it takes for rare.
        let _ = writeln!(script, "    *(.text.{name} .text.unlikely.{name})");
    }
    script.push_str("    *(.text .text.*)\n  }\n} INSERT BEFORE .init;\n");
    script
}
