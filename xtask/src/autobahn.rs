//! The Autobahn suite, which judges WebSockets: fetched once into the cache folder, with the old Python that it needs.
//!
//! It is Python 2, which Debian had last in `bullseye`. `pip` fetches the suite, from wherever it is configured for. The
//! one rule it keeps: where the suite cannot be had, that is told, and nothing passes for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_testkit::cli;

use crate::apart::{self, ApartError, Release, file, files};
use crate::process;

/// The last Debian with Python 2.
const RELEASE: Release = Release::Named("bullseye");
/// Its packages: the interpreter, and the libraries that newer Debians have no more.
const DEBIAN: [&str; 8] = [
    "libffi7",
    "libpython2.7-minimal",
    "libpython2.7-stdlib",
    "libssl1.1",
    "python-pkg-resources",
    "python-setuptools",
    "python2.7",
    "python2.7-minimal",
];
/// The last `pip` for it.
const PIP: &str = "pip==20.3.4";
/// The suite and what it needs, each the last that works together with the others.
const PACKAGES: [&str; 31] = [
    "argparse==1.4.0",
    "attrs==21.4.0",
    "autobahn==0.10.9",
    "autobahntestsuite==25.10.1",
    "automat==22.10.0",
    "cffi==1.15.1",
    "constantly==15.1.0",
    "cryptography==3.3.2",
    "enum34==1.1.10",
    "hyperlink==21.0.0",
    "idna==2.10",
    "incremental==16.10.1",
    "ipaddress==1.0.23",
    "jinja2==2.11.3",
    "klein==17.10.0",
    "linecache2==1.0.0",
    "markupsafe==1.1.1",
    "pyasn1==0.5.1",
    "pyasn1-modules==0.3.0",
    "pycparser==2.21",
    "pyhamcrest==1.10.1",
    "pyopenssl==19.1.0",
    "service-identity==18.1.0",
    "six==1.16.0",
    "traceback2==1.4.0",
    "twisted==19.10.0",
    "txaio==2.1.0",
    "typing==3.10.0.0",
    "unittest2==1.1.0",
    "werkzeug==1.0.1",
    "zope.interface==4.6.0",
];

/// The suite's program; fetched if it is not there yet.
pub(crate) fn ready() -> Result<PathBuf, ApartError> {
    let place = cli::cache_dir().join("autobahn");
    let program = place.join("wstest");
    if !program.exists() {
        if place.exists() {
            fs::remove_dir_all(&place).map_err(file(format!("remove {}", place.display())))?;
        }
        println!("fetching the Autobahn suite, once");
        fetch(&place)?;
        write_program(&place, &program)?;
    }
    Ok(program)
}

fn fetch(place: &Path) -> Result<(), ApartError> {
    fs::create_dir_all(place).map_err(file(format!("make {}", place.display())))?;
    apart::take(RELEASE, &DEBIAN, &place.join("root"))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest"]).arg(place).arg(PIP);
    process::run(&mut pip)?;
    for wheel in files(place, "whl")? {
        let mut install = python(place);
        install.arg(wheel.join("pip")).args(["install", "--quiet", "--no-deps", "--no-warn-script-location"]);
        install.args(["--disable-pip-version-check", "--target"]).arg(place.join("packages")).args(PACKAGES);
        process::run(&mut install)?;
    }
    // Python 2 takes a folder for a package only with this file in it.
    let namespace = place.join("packages/zope/__init__.py");
    fs::write(&namespace, "").map_err(file(format!("write {}", namespace.display())))
}

/// The old Python, with what lies beside it.
fn python(place: &Path) -> Command {
    let root = place.join("root");
    let mut python = Command::new(root.join("usr/bin/python2.7"));
    python.env("LD_LIBRARY_PATH", libraries(&root)).env("PYTHONHOME", root.join("usr"));
    python.env("PYTHONPATH", root.join("usr/lib/python2.7/dist-packages"));
    python
}

fn write_program(place: &Path, program: &Path) -> Result<(), ApartError> {
    let root = place.join("root");
    let script = format!(
        "#!/bin/sh\nexec env LD_LIBRARY_PATH='{}' PYTHONHOME='{}' PYTHONPATH='{}:{}' \
         '{}' -m autobahntestsuite.wstest \"$@\"\n",
        libraries(&root),
        root.join("usr").display(),
        place.join("packages").display(),
        root.join("usr/lib/python2.7/dist-packages").display(),
        root.join("usr/bin/python2.7").display(),
    );
    let written = fs::write(program, script)
        .and_then(|()| fs::set_permissions(program, fs::Permissions::from_mode(0o755)));
    written.map_err(file(format!("write {}", program.display())))
}

fn libraries(root: &Path) -> String {
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    format!("{}:{}", root.join("usr/lib").join(&machine).display(), root.join("lib").join(machine).display())
}
