//! The trace of one seed: printed line by line if there is a listener, and always part of a digest.
//!
//! The digest covers every step, every answer and every durable byte. Two runs of one seed must
//! agree on it; if they do not, something in Baton or in here depends on more than the seed.

/// Receives one line of the trace.
pub type Listener = fn(&str);

/// The trace of one seed.
pub struct Trace {
    listener: Option<Listener>,
    digest: u64,
    step: u64,
}

impl Trace {
    /// A trace for a listener, if there is one.
    pub fn new(listener: Option<Listener>) -> Self {
        Self { listener, digest: 0xcbf2_9ce4_8422_2325, step: 0 }
    }

    /// The next step of the trace starts.
    pub fn begin_step(&mut self, step: u64) {
        self.step = step;
        self.sum(&step.to_le_bytes());
    }

    /// One line. It is built only if there is a listener, because most seeds run without one.
    pub fn tell(&mut self, line: impl FnOnce() -> String) {
        if let Some(listener) = self.listener {
            listener(&format!("{:>5}  {}", self.step, line()));
        }
    }

    /// Adds bytes that must be the same in every run of the seed to the digest.
    pub fn sum(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Adds numbers to the digest.
    pub fn sum_numbers(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.sum(&number.to_le_bytes());
        }
    }

    /// The digest of everything so far.
    pub fn digest(&self) -> u64 {
        self.digest
    }
}
