//! Time, processor time and memory of this process: the only place that asks for them.
//!
//! A [`Turn`] is what one side gets: a warm-up that does not count, then the measured part. Whoever
//! does the work calls [`Turn::goes_on`] after each operation and stops when it says so, so neither
//! side pays for timers, and both pay the same. All callers of a turn live on one thread.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Operations between two looks at the clock.
const LOOK_EVERY: u64 = 32;
/// The unit of processor times in `/proc`, fixed by the kernel's interface: 100 in a second.
const TICKS_PER_SECOND: f64 = 100.0;
/// A process that used less than this in a second of looking is quiet.
const QUIET_CPU_SECONDS: f64 = 0.02;
/// Looks that are taken before a process counts as never quiet.
const QUIET_LOOKS_MAX: usize = 120;

/// Measures how long something took.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// What a turn came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) operations: f64,
    pub(crate) seconds: f64,
    pub(crate) cpu_seconds: f64,
    pub(crate) caller_cpu_seconds: f64,
}

impl Measured {
    /// Operations in a second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations / self.seconds
    }

    /// Processor time of the whole process for one operation, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_seconds / self.operations * 1e6
    }

    /// The part of it that the callers' one thread had to do, and nobody could do meanwhile: what
    /// limits the rate on a machine with cores to spare.
    pub(crate) fn caller_cpu_us(&self) -> f64 {
        self.caller_cpu_seconds / self.operations * 1e6
    }
}

/// The measured part has begun: the time, the processor time and the count at that moment.
#[derive(Clone, Copy)]
struct Mark {
    at: Duration,
    cpu_seconds: f64,
    caller_cpu_seconds: f64,
    operations: u64,
}

/// One side's turn.
pub(crate) struct Turn {
    warm_up: Duration,
    measured: Duration,
    began: Stopwatch,
    operations: AtomicU64,
    is_over: AtomicBool,
    progress: Mutex<(Option<Mark>, Option<Measured>)>,
}

impl Turn {
    /// Begins a turn whose measured part is this long.
    pub(crate) fn begin(measured: Duration) -> Self {
        Self {
            warm_up: measured / 4,
            measured,
            began: Stopwatch::start(),
            operations: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            progress: Mutex::default(),
        }
    }

    /// Counts one operation; false when the turn is over.
    pub(crate) fn goes_on(&self) -> bool {
        let operations = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        if operations.is_multiple_of(LOOK_EVERY) {
            self.look(operations);
        }
        !self.is_over.load(Ordering::Relaxed)
    }

    fn look(&self, operations: u64) {
        let now = self.began.elapsed();
        let mut progress = self.progress.lock().expect("no look panics");
        match *progress {
            (None, _) if now >= self.warm_up => {
                let (cpu_seconds, caller_cpu_seconds) = (cpu_seconds(), thread_cpu_seconds());
                progress.0 = Some(Mark { at: now, cpu_seconds, caller_cpu_seconds, operations });
            }
            (Some(mark), None) if now >= mark.at + self.measured => {
                progress.1 = Some(Measured {
                    operations: count(operations - mark.operations),
                    seconds: now.saturating_sub(mark.at).as_secs_f64(),
                    cpu_seconds: cpu_seconds() - mark.cpu_seconds,
                    caller_cpu_seconds: thread_cpu_seconds() - mark.caller_cpu_seconds,
                });
                self.is_over.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// What it came to. The turn must be over.
    pub(crate) fn measured(&self) -> Measured {
        let progress = self.progress.lock().expect("no look panics");
        progress.1.expect("a turn is asked for its result when it is over")
    }
}

/// A count as a number one can divide by.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub(crate) fn count(number: u64) -> f64 {
    number as f64
}

/// Processor time of this process so far, all threads, living or not.
pub(crate) fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("the kernel tells a process its times");
    // The name of the program, in brackets, may contain spaces; what follows does not.
    let (_, after_name) = stat.rsplit_once(')').expect("the second field is in brackets");
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().expect("times are numbers")).sum();
    count(ticks) / TICKS_PER_SECOND
}

/// Processor time of this thread so far.
fn thread_cpu_seconds() -> f64 {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat");
    let statistics = statistics.expect("the kernel tells a thread its time");
    let nanoseconds = statistics.split_whitespace().next().and_then(|number| number.parse().ok());
    count(nanoseconds.expect("the first field is a number of nanoseconds")) / 1e9
}

/// Resident memory of this process.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells a process this");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    kibibytes.and_then(|number| number.parse::<u64>().ok()).expect("it is a number of kB") * 1024
}

/// Waits until the process has nothing left to do in the background; false if it never rests.
#[expect(clippy::disallowed_methods, reason = "that nothing happens can only be seen by waiting")]
pub(crate) fn settle() -> bool {
    (0..QUIET_LOOKS_MAX).any(|_| {
        let before = cpu_seconds();
        std::thread::sleep(Duration::from_secs(1));
        cpu_seconds() - before < QUIET_CPU_SECONDS
    })
}
