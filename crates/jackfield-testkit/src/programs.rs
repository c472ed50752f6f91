//! Programs of others that `cargo xtask setup` puts into the cache folder for tests: a Jupyter kernel, a language server,
//! the conformance suite of MCP, speech engines.
//!
//! It starts none of them. The one rule it keeps: versions are pinned here and nowhere else.

use std::path::PathBuf;

use crate::cli::cache_dir;

/// The pinned Jupyter kernel.
pub const IPYKERNEL: &str = "7.4.0";
/// The pinned language server.
pub const PYRIGHT: (&str, &str) = ("pyright", "1.1.414");
/// The pinned conformance suite.
pub const CONFORMANCE: (&str, &str) = ("@modelcontextprotocol/conformance", "0.1.16");
/// The pinned types of OTLP, in Python.
pub const OTLP_TYPES: &str = "1.45.2";
/// The Node.js that `cargo xtask setup` fetches.
const NODE: &str = "24";
/// All packages that come with `npm`, by name and version.
pub const NPM_PACKAGES: [(&str, &str); 2] = [PYRIGHT, CONFORMANCE];

/// The pinned library of sherpa-onnx, which comes without a model.
pub const SHERPA: (&str, &str) = ("sherpa-onnx-core", "2.0.1");

/// The folder with fetched speech engines.
pub fn speech_folder() -> PathBuf {
    cache_dir().join("speech")
}

/// The folder with the packages of sherpa-onnx.
pub fn sherpa_folder() -> PathBuf {
    cache_dir().join("sherpa-onnx")
}

/// The library of sherpa-onnx.
pub fn sherpa_library() -> PathBuf {
    let name =
        if cfg!(target_os = "macos") { "libsherpa-onnx-c-api.dylib" } else { "libsherpa-onnx-c-api.so" };
    sherpa_folder().join("sherpa_onnx/lib").join(name)
}

/// The folder with the kernel's packages, for `PYTHONPATH`.
pub fn jupyter_packages() -> PathBuf {
    cache_dir().join("jupyter")
}

/// The folder with the types of OTLP, for `PYTHONPATH`.
pub fn otlp_packages() -> PathBuf {
    cache_dir().join("otlp")
}

/// The checker of what Prometheus reads, which `cargo xtask test` fetches.
pub fn promtool() -> PathBuf {
    cache_dir().join("prometheus").join("usr/bin/promtool")
}

/// The folder with a package of `npm` and all that it needs.
pub fn npm_folder(name: &str, version: &str) -> PathBuf {
    cache_dir().join("npm").join(format!("{}-{version}", name.replace(['@', '/'], "_")))
}

/// The program of the language server.
pub fn pyright() -> PathBuf {
    let (name, version) = PYRIGHT;
    npm_folder(name, version).join("node_modules/.bin/pyright-langserver")
}

/// The Node.js that the suite needs; the machine's own may be too old.
pub fn node() -> PathBuf {
    cache_dir().join("node").join(NODE).join("package/bin/node")
}

/// The program of the conformance suite.
pub fn conformance() -> PathBuf {
    let (name, version) = CONFORMANCE;
    npm_folder(name, version).join("node_modules/.bin/conformance")
}
