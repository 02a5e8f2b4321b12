//! How does a command end that cannot go on?

use std::process::{Command, Stdio};

fn quorate() -> Command {
    Command::new(env!("CARGO_BIN_EXE_quorate"))
}

#[test]
fn a_command_whose_output_nobody_reads_ends_without_a_word() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = quorate().arg("config").stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(141) && said.is_empty(), "{:?}: {said}", output.status);
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_whose_output_finds_a_full_disk_says_so() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = quorate().arg("config").stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = "error: cannot write the output";
    assert!(output.status.code() == Some(1) && said.starts_with(expected), "{:?}: {said}", output.status);
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn an_address_that_nobody_finds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:7701", "[::]:7701", "127.0.0.1:0"] {
        let mut command = quorate();
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--peer-listen",
            "127.0.0.1:0",
            "--peer-address",
            address,
        ]);
        let output = command.arg("--data-dir").arg(folder.path().join("data")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let expected = format!("peer-address {address} is no address that other nodes can use");
        assert!(!output.status.success() && said.contains(&expected), "{said}");
    }
}
