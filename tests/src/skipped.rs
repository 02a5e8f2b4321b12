//! What does a test do on a machine that lacks something it needs? It says so, or fails where all of them have to run.

use std::io::Write;

/// Set where every test has to run: the machine has all that tests need.
const ALL: &str = "QUORATE_TEST_ALL";

/// Says that a test, or a part of one, is left out because the machine lacks something. The line is shown although the test passes.
///
/// # Panics
///
/// When `QUORATE_TEST_ALL` is set and not 0.
pub fn skip(reason: &str) {
    let all = std::env::var(ALL).unwrap_or_default();
    assert!(matches!(all.as_str(), "" | "0"), "{ALL} is set, and this cannot be tested here: {reason}");
    leave_out(reason);
}

/// Says that a test is left out because the caller did not ask for it.
pub fn leave_out(reason: &str) {
    // what `eprintln` writes is shown of tests that fail only
    let _nobody_listens = writeln!(std::io::stderr(), "skipped: {reason}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a test of this program says that runs alone, with the variable set to this.
    fn said(all: &str) -> (bool, String) {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        alone.args(["--exact", "skipped::tests::what_is_missing", "--ignored"]).env(ALL, all);
        let output = alone.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }

    #[test]
    #[ignore = "started by the test below"]
    fn what_is_missing() {
        skip("a moon");
    }

    #[test]
    fn what_is_left_out_is_shown_and_fails_where_all_has_to_run() {
        for all in ["", "0"] {
            let (passes, text) = said(all);
            assert!(passes && text.contains("skipped: a moon"), "{text}");
        }
        let (passes, text) = said("1");
        assert!(!passes && text.contains("cannot be tested here: a moon"), "{text}");
    }
}
