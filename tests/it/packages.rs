//! What the scripts that package the program refuse, and what they carry out.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::program::{Ran, folder, ran};
use crate::servers;

/// A script of the repository with this program as the one to package.
fn script(name: &str) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
    command.env("RASHOMON_BINARY", env!("CARGO_BIN_EXE_rashomon"));
    command
}

fn executed(command: &mut Command) -> Ran {
    ran(&command.output().expect("the script runs"))
}

#[test]
fn a_program_that_loads_libraries_is_no_static_package() {
    const TEST: &str = "a_program_that_loads_libraries_is_no_static_package";
    if !servers::tool(TEST, "readelf", Command::new("readelf").arg("--version")) {
        return;
    }
    let refused = executed(script("scripts/package").arg("static"));
    assert_eq!(refused.code, Some(5), "{}", refused.err);
    assert!(
        refused.err.contains("loads libraries: it is no static"),
        "{}",
        refused.err
    );
    assert_eq!(
        executed(script("scripts/package").arg("static-deb")).code,
        Some(2)
    );
}

/// Stands in for chroot: notes what it was called with.
const CHROOT: &str = "#!/bin/sh\necho \"$*\" >>\"$CHROOT_LOG\"\n";

/// Stands in for id: the script wants root, for chroot.
const ID: &str = "#!/bin/sh\necho 0\n";

#[test]
fn every_instruction_of_the_container_image_is_carried_out_in_its_place() {
    let folder = folder();
    let (tools, root) = (folder.path().join("tools"), folder.path().join("root"));
    for made in ["bin", "etc"] {
        fs::create_dir_all(root.join(made)).expect("a folder");
    }
    fs::create_dir(&tools).expect("a folder");
    let tool = |path: &Path, text: &str| {
        fs::write(path, text).expect("it is written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is executable");
    };
    tool(&tools.join("chroot"), CHROOT);
    tool(&tools.join("id"), ID);
    tool(&root.join("bin/sh"), "");
    let log = folder.path().join("log");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = script("scripts/container/try");
    command
        .arg(&root)
        .args(["fuzz", "--cases", "2"])
        .env("PATH", format!("{}:{path}", tools.display()))
        .env("CHROOT_LOG", &log);
    let done = executed(&mut command);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let called = fs::read_to_string(&log).expect("chroot was called");
    let mut rest = called.as_str();
    for part in [
        "apt-get install -y --no-install-recommends mariadb-client postgresql-client && rm -rf",
        "useradd --uid 10001",
        "--userspec=rashomon",
        "cd /findings && exec \"$@\" sh rashomon --help\n",
        "sh mariadb --version\n",
        "sh psql --version\n",
        "cd /findings && exec \"$@\" sh rashomon fuzz --cases 2\n",
    ] {
        let place = rest.find(part);
        let place = place.unwrap_or_else(|| panic!("{part} is not in {rest}"));
        rest = &rest[place + part.len()..];
    }
    for copied in [
        "usr/bin/rashomon",
        "usr/share/doc/rashomon/LICENSE-MIT",
        "findings",
    ] {
        assert!(root.join(copied).exists(), "{copied}");
    }
    let again = executed(&mut command);
    assert_eq!(again.code, Some(2), "{}", again.err);
    assert!(again.err.contains("begin with a new one"), "{}", again.err);
    let mut without_root = script("scripts/container/try");
    assert_eq!(executed(&mut without_root).code, Some(2));
}
