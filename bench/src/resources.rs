//! Time, processor time and memory, of this process and of others.
//!
//! A [`MeasuredTurn`] is one round of one side: a warm-up that does not count, then the measured
//! part. The caller calls [`MeasuredTurn::goes_on`] after each operation and stops when it returns
//! false, so neither side pays for timers, and both pay the same. All callers of a round are on one
//! thread.

#[cfg(test)]
mod tests;

use std::fs;
use std::ops::{Add, Sub};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Operations between two reads of the clock.
const LOOK_EVERY: u64 = 32;
/// The unit of processor times in `/proc`, fixed by the kernel's interface: 100 per second.
const TICKS_PER_SECOND: f64 = 100.0;
/// A process that used less than this in a second is quiet.
const QUIET_CPU_SECONDS: f64 = 0.02;
/// The number of checks before a process counts as never quiet.
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

/// The resources that a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    /// How often one of its threads had to wait, and was woken.
    pub(crate) wakeups: f64,
}

impl Usage {
    /// Processor time.
    pub(crate) fn cpu_seconds(self) -> f64 {
        self.user_seconds + self.system_seconds
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            user_seconds: self.user_seconds - before.user_seconds,
            system_seconds: self.system_seconds - before.system_seconds,
            wakeups: self.wakeups - before.wakeups,
        }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            user_seconds: self.user_seconds + other.user_seconds,
            system_seconds: self.system_seconds + other.system_seconds,
            wakeups: self.wakeups + other.wakeups,
        }
    }
}

/// The result of a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) operations: f64,
    pub(crate) seconds: f64,
    pub(crate) usage: Usage,
    pub(crate) caller_cpu_seconds: f64,
}

impl Measured {
    /// Operations per second.
    pub(crate) fn rate(&self) -> f64 {
        self.operations / self.seconds
    }

    /// Processor time of the whole process per operation, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.usage.cpu_seconds() / self.operations * 1e6
    }

    /// The part of it outside the kernel.
    pub(crate) fn user_us(&self) -> f64 {
        self.usage.user_seconds / self.operations * 1e6
    }

    /// Wake-ups of threads per operation.
    pub(crate) fn wakeups(&self) -> f64 {
        self.usage.wakeups / self.operations
    }

    /// The part of it on the one thread of the callers, which cannot be parallelised: it limits the
    /// rate on a machine with spare cores.
    pub(crate) fn caller_cpu_us(&self) -> f64 {
        self.caller_cpu_seconds / self.operations * 1e6
    }
}

/// The measured part has started: the time, the processor time and the count at that point.
#[derive(Clone, Copy)]
struct Mark {
    at: Duration,
    usage: Usage,
    caller_cpu_seconds: f64,
    operations: u64,
}

/// One round of one side.
pub(crate) struct MeasuredTurn {
    warm_up: Duration,
    measured: Duration,
    began: Stopwatch,
    operations: AtomicU64,
    is_over: AtomicBool,
    progress: Mutex<(Option<Mark>, Option<Measured>)>,
}

impl MeasuredTurn {
    /// Starts a round whose measured part is this long.
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

    /// Counts one operation; false when the round has ended.
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
                let (usage, caller_cpu_seconds) = (own_usage(), thread_cpu_seconds());
                progress.0 = Some(Mark { at: now, usage, caller_cpu_seconds, operations });
            }
            (Some(mark), None) if now >= mark.at + self.measured => {
                progress.1 = Some(Measured {
                    operations: count(operations - mark.operations),
                    seconds: now.saturating_sub(mark.at).as_secs_f64(),
                    usage: own_usage() - mark.usage,
                    caller_cpu_seconds: thread_cpu_seconds() - mark.caller_cpu_seconds,
                });
                self.is_over.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// The result. The round must have ended.
    pub(crate) fn measured(&self) -> Measured {
        let progress = self.progress.lock().expect("no look panics");
        progress.1.expect("a turn is asked for its result when it is over")
    }
}

/// A count as a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "no count here comes near 2^52")]
pub(crate) fn count(number: u64) -> f64 {
    number as f64
}

/// Processor time of this process so far, including ended threads.
pub(crate) fn cpu_seconds() -> f64 {
    own_usage().cpu_seconds()
}

/// The resources that this process has used so far, including ended threads.
fn own_usage() -> Usage {
    let stat = fs::read_to_string("/proc/self/stat").expect("the kernel tells a process its times");
    Times::parse(&stat).expect("the kernel keeps its format").own
}

/// The resources that a process and its children have used so far, including ended ones.
pub(crate) fn tree_usage(pid: u32) -> Usage {
    let folders = fs::read_dir("/proc").expect("the kernel tells which processes there are");
    let stats = folders.filter_map(|folder| {
        let folder = folder.ok()?;
        let number: u32 = folder.file_name().to_str()?.parse().ok()?;
        // A process may end between the two reads; its parent then includes its time.
        let times = Times::parse(&fs::read_to_string(folder.path().join("stat")).ok()?)?;
        Some((number, times))
    });
    let used = stats.filter_map(|(number, times)| match (number == pid, times.parent == pid) {
        (true, _) => Some(times.own + times.ended_children + wakeups_of(number)),
        (_, true) => Some(times.own + wakeups_of(number)),
        _ => None,
    });
    used.fold(Usage::default(), Usage::add)
}

/// The wake-ups of the threads of a process.
fn wakeups_of(pid: u32) -> Usage {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let switches = threads.filter_map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).ok()?;
        voluntary_switches(&status)
    });
    Usage { wakeups: count(switches.sum()), ..Usage::default() }
}

/// How often a thread had to wait, by its status in `/proc`.
fn voluntary_switches(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line?.trim().parse().ok()
}

/// The times of a process in `/proc`.
struct Times {
    parent: u32,
    own: Usage,
    ended_children: Usage,
}

impl Times {
    fn parse(stat: &str) -> Option<Self> {
        // The name of the program, in parentheses, may contain spaces; the rest does not.
        let (_, after_name) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let seconds = |index: usize| {
            let ticks: u64 = fields.get(index)?.parse().ok()?;
            Some(count(ticks) / TICKS_PER_SECOND)
        };
        let usage = |first: usize| {
            let (user_seconds, system_seconds) = (seconds(first)?, seconds(first + 1)?);
            Some(Usage { user_seconds, system_seconds, wakeups: 0.0 })
        };
        let parent = fields.get(1)?.parse().ok()?;
        Some(Self { parent, own: usage(11)?, ended_children: usage(13)? })
    }
}

/// Processor time of this thread so far.
pub(crate) fn thread_cpu_seconds() -> f64 {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat");
    let statistics = statistics.expect("the kernel tells a thread its time");
    let nanoseconds = statistics.split_whitespace().next().and_then(|number| number.parse().ok());
    count(nanoseconds.expect("the first field is a number of nanoseconds")) / 1e9
}

/// Resident memory of this process.
pub(crate) fn resident_bytes() -> u64 {
    resident_bytes_of("self").expect("the kernel tells a process this")
}

/// Resident memory of a process; none if it has ended.
pub(crate) fn resident_bytes_of(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    kibibytes.and_then(|number| number.parse::<u64>().ok()).map(|kibibytes| kibibytes * 1024)
}

/// Waits a little for something in another process that cannot be awaited.
#[expect(clippy::disallowed_methods, reason = "another process can only be asked again and again")]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

/// Waits until the process has no background work left; false if it never becomes quiet.
#[expect(clippy::disallowed_methods, reason = "that nothing happens can only be seen by waiting")]
pub(crate) fn settle() -> bool {
    (0..QUIET_LOOKS_MAX).any(|_| {
        let before = cpu_seconds();
        std::thread::sleep(Duration::from_secs(1));
        cpu_seconds() - before < QUIET_CPU_SECONDS
    })
}
