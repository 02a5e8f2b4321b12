//! What happens by chance in a test, and how to see the same again.

pub use quorate_model::chance::Chance;

/// A sequence with the seed in `QUORATE_SEED` or one of the system, which is printed.
pub fn from_environment(test: &str) -> Chance {
    let given = std::env::var("QUORATE_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or_else(|| {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).expect("the system has random bytes");
        u64::from_le_bytes(bytes)
    });
    println!("{test}: QUORATE_SEED={seed}");
    Chance::new(seed)
}
