//! What happens by chance in a test, and how to see the same again.

/// A generator with a known seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Takes the seed from `QUORATE_SEED` or the system, and prints it.
    pub fn from_environment(test: &str) -> Chance {
        let given = std::env::var("QUORATE_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).expect("the system has random bytes");
            u64::from_le_bytes(bytes)
        });
        println!("{test}: QUORATE_SEED={seed}");
        Chance(seed)
    }
    /// A generator with this seed.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }
    /// Another generator, for a thread of its own.
    pub fn split(&mut self) -> Chance {
        Chance(self.number())
    }
    /// The next 64 bits.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound.max(1)
    }
}
