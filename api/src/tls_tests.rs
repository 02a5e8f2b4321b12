//! Are certificates read, chosen by host, and read again when their files change?

use super::*;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::ServerName;

/// Files with a certificate for these names, and its key.
fn pair(dir: &Path, name: &str, hosts: &[&str]) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().unwrap();
    let params =
        CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>()).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (first, second) = (dir.join(format!("{name}.pem")), dir.join(format!("{name}.key")));
    std::fs::write(&first, certificate.pem()).unwrap();
    std::fs::write(&second, key.serialize_pem()).unwrap();
    (first, second)
}
fn files(pairs: &[&(PathBuf, PathBuf)]) -> TlsFiles {
    let (certificates, keys) = pairs.iter().map(|it| (it.0.clone(), it.1.clone())).unzip();
    TlsFiles { certificates, keys, client_ca: None }
}
/// Which certificate a host is shown.
fn shown(tls: &Tls, host: &str) -> usize {
    let name = ServerName::try_from(host.to_owned()).unwrap();
    tls.certificates.newest.load().iter().position(|it| is_for(it, &name)).unwrap_or(0)
}

#[test]
fn each_host_is_shown_its_certificate() {
    let dir = tempfile::tempdir().unwrap();
    let first = pair(dir.path(), "a", &["a.example", "b.example"]);
    let second = pair(dir.path(), "b", &["*.c.example", "10.0.0.1"]);
    let tls = Tls::open(files(&[&first, &second])).unwrap();
    for (host, expected) in [
        ("a.example", 0),
        ("b.example", 0),
        ("x.c.example", 1),
        ("10.0.0.1", 1),
        ("c.example", 0),
        ("other", 0),
    ] {
        assert_eq!(shown(&tls, host), expected, "{host}");
    }
}

#[test]
fn a_pair_that_changes_is_taken_over_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let first = pair(dir.path(), "a", &["a.example"]);
    let tls = Tls::open(files(&[&first])).unwrap();
    assert!(!tls.has_changed());
    let own = || tls.certificates.newest.load()[0].cert[0].clone();
    let before = own();
    // another certificate whose key is not there yet
    let other = pair(dir.path(), "b", &["a.example", "longer.a.example"]);
    std::fs::copy(&other.0, &first.0).unwrap();
    assert!(tls.has_changed());
    let error = tls.reload().unwrap_err();
    assert!(error.contains("a.key") && error.contains("not a key for"), "{error}");
    assert!(own() == before && tls.has_changed(), "it is looked at again");
    std::fs::copy(&other.1, &first.1).unwrap();
    tls.reload().unwrap();
    assert!(own() != before && !tls.has_changed());
    std::fs::remove_file(&first.1).unwrap();
    assert!(tls.has_changed() && tls.reload().is_err());
    let with_ca = TlsFiles { client_ca: Some(other.0.clone()), ..files(&[&other]) };
    let tls = Tls::open(with_ca).unwrap();
    assert!(!tls.waits_for_restart());
    std::fs::write(&other.0, std::fs::read_to_string(&first.0).unwrap() + "\n").unwrap();
    assert!(tls.waits_for_restart());
}

#[test]
fn a_broken_pair_keeps_no_other_from_being_taken_over() {
    let dir = tempfile::tempdir().unwrap();
    let first = pair(dir.path(), "a", &["a.example"]);
    let second = pair(dir.path(), "b", &["b.example"]);
    let tls = Tls::open(files(&[&first, &second])).unwrap();
    let own = |at: usize| tls.certificates.newest.load()[at].cert[0].clone();
    let before = [own(0), own(1)];
    std::fs::write(&first.0, "x").unwrap();
    pair(dir.path(), "b", &["b.example", "renewed.b.example"]);
    let error = tls.reload().unwrap_err();
    assert!(error.contains("a.pem") && !error.contains("b.pem"), "{error}");
    assert!(own(0) == before[0] && own(1) != before[1]);
    assert!(tls.has_changed(), "the first one is looked at again");
    pair(dir.path(), "a", &["a.example"]);
    tls.reload().unwrap();
    assert!(own(0) != before[0] && !tls.has_changed());
}

#[test]
fn what_is_wrong_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let good = pair(dir.path(), "a", &["a.example"]);
    let other = pair(dir.path(), "b", &["b.example"]);
    let empty = dir.path().join("empty.pem");
    std::fs::write(&empty, "nothing\n").unwrap();
    let missing = dir.path().join("missing.pem");
    let large = dir.path().join("large.pem");
    std::fs::write(&large, vec![b'x'; FILE_BYTES_MAX as usize + 1]).unwrap();
    let of = |certificate: &PathBuf, key: &PathBuf| TlsFiles {
        certificates: vec![certificate.clone()],
        keys: vec![key.clone()],
        client_ca: None,
    };
    for (files, expected) in [
        (TlsFiles::default(), "tls-certificates: expected between 1 and 64 files"),
        (TlsFiles { keys: vec![], ..files(&[&good]) }, "tls-keys: 0 files of keys for 1"),
        (of(&good.0, &other.1), "b.key: not a key for"),
        (of(&empty, &good.1), "empty.pem: no certificate in PEM"),
        (of(&good.0, &empty), "empty.pem: "),
        (of(&missing, &good.1), "missing.pem: No such file"),
        (of(&large, &good.1), "large.pem: a file of 1048577 bytes"),
        (TlsFiles { client_ca: Some(empty.clone()), ..files(&[&good]) }, "empty.pem: no certificate"),
    ] {
        let error = Tls::open(files).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

/// 2026-01-01T00:00:00Z.
const NEW_YEAR_MS: u64 = 1_767_225_600_000;

fn until(year: i32) -> Vec<u8> {
    let mut params = CertificateParams::new(["a.example".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(1975, 1, 1), date_time_ymd(year, 1, 1));
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
}

#[test]
fn a_certificate_ends_after_its_last_second() {
    for (year, now_ms, expected) in [
        (1999, NEW_YEAR_MS, Some("1999-01-01T00:00:00Z")),
        (2026, NEW_YEAR_MS - 1, None),
        (2026, NEW_YEAR_MS + 999, None),
        (2026, NEW_YEAR_MS + 1_000, Some("2026-01-01T00:00:00Z")),
        (2060, NEW_YEAR_MS, None),
        (4096, NEW_YEAR_MS, None),
    ] {
        assert_eq!(validity::ended(&until(year), now_ms).as_deref(), expected, "{year} at {now_ms}");
    }
}

#[test]
fn of_what_is_no_certificate_nothing_is_said() {
    let whole = until(1999);
    let before_validity =
        (0..whole.len()).filter(|&length| validity::ended(&whole[..length], NEW_YEAR_MS).is_some());
    assert_eq!(before_validity.count(), 0, "a part of a certificate");
    for at in 0..whole.len() {
        for bits in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= bits;
            // an end is found or not; nothing panics
            validity::ended(&damaged, NEW_YEAR_MS);
        }
    }
}
