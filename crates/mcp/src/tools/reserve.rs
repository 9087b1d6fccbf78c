//! `baton_reserve`: files by path pattern, and locks by name.

use std::time::Duration;

use baton_client::{PathPattern, Reservation, Reserved};
use baton_core::wire::Problem;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::Call;
use super::claim::wait;
use crate::operation::{bad, given, missing};

/// The default time to live.
const TTL_MS: u64 = 3_600_000;
/// How many patterns can be reserved at once.
const PATHS_MAX: usize = 20;
/// How often a call that waits looks whether the files are free.
const LOOK_EVERY: Duration = Duration::from_millis(250);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    action: Action,
    #[serde(default)]
    paths: Vec<String>,
    lock: Option<String>,
    token: Option<u64>,
    ttl_ms: Option<u64>,
    wait_ms: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    #[default]
    Acquire,
    Release,
    Check,
}

pub(super) async fn run(call: &Call<'_>) -> Result<Value, Problem> {
    let arguments: Arguments = call.read()?;
    wait(arguments.wait_ms)?;
    if arguments.paths.len() > PATHS_MAX {
        return Err(bad("paths", "at most 20 patterns can be reserved at once"));
    }
    match &arguments.lock {
        Some(name) if arguments.paths.is_empty() => lock(call, name, &arguments).await,
        Some(_) => Err(bad("lock", "give paths or lock, not both")),
        None => match arguments.action {
            Action::Acquire if arguments.paths.is_empty() => Err(missing("paths")),
            Action::Acquire => acquire(call, &arguments).await,
            Action::Release => release(call, &arguments.paths).await,
            Action::Check => check(call, &arguments.paths).await,
        },
    }
}

fn shown(reservation: &Reservation) -> Value {
    let Reservation { pattern, holder, expires_at, .. } = reservation;
    json!({"pattern": pattern, "holder": holder, "until": expires_at})
}

/// All or none, within the time that the call waits.
async fn acquire(call: &Call<'_>, arguments: &Arguments) -> Result<Value, Problem> {
    let wait_ms = arguments.wait_ms.unwrap_or_default();
    let until = Instant::now() + Duration::from_millis(wait_ms);
    loop {
        let answer = try_acquire(call, arguments).await?;
        let is_taken = answer["taken"].is_array();
        if !is_taken || !come_free(call, &arguments.paths, until).await? {
            return Ok(answer);
        }
    }
}

/// Waits until no other agent has reserved any of these files; false if not in time. It only reads:
/// agents that wait do not get into each other's way.
async fn come_free(call: &Call<'_>, paths: &[String], until: Instant) -> Result<bool, Problem> {
    let patterns = parsed(paths)?;
    while Instant::now() < until {
        sleep_until((Instant::now() + LOOK_EVERY).min(until)).await;
        let all = call.workspace.reservations().list().await.map_err(|it| Problem::from(&it))?;
        let mut others = all.iter().filter(|one| one.holder.as_str() != call.agent());
        if !others.any(|one| patterns.iter().any(|pattern| one.overlaps(pattern))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// All or none: reservations before a conflict are released.
async fn try_acquire(call: &Call<'_>, arguments: &Arguments) -> Result<Value, Problem> {
    let reservations = call.workspace.reservations();
    let problem = |error| Problem::from(&error);
    let known = reservations.list().await.map_err(problem)?;
    let is_known = |pattern: &str| {
        known.iter().any(|one| one.pattern == pattern && one.holder.as_str() == call.agent())
    };
    let ttl_ms = Some(arguments.ttl_ms.unwrap_or(TTL_MS));
    let mut granted: Vec<Reservation> = Vec::new();
    for pattern in &arguments.paths {
        let outcome = reservations.reserve(pattern, ttl_ms).await;
        let taken = match outcome {
            Ok(Reserved::Granted(reservation)) => {
                granted.push(reservation);
                continue;
            }
            Ok(Reserved::Taken(taken)) => Ok(taken),
            Err(error) => Err(problem(error)),
        };
        for reservation in granted.iter().filter(|one| !is_known(&one.pattern)) {
            reservations.release(Some(&reservation.pattern)).await.map_err(problem)?;
        }
        let hint = "Nothing was reserved. Work elsewhere, try again with wait_ms, or ask the \
            holder with baton_send.";
        let taken: Vec<Value> = taken?.iter().map(shown).collect();
        return Ok(json!({"reserved": [], "taken": taken, "wanted": pattern, "next": hint}));
    }
    Ok(json!({"reserved": granted.iter().map(shown).collect::<Vec<_>>()}))
}

async fn release(call: &Call<'_>, paths: &[String]) -> Result<Value, Problem> {
    let reservations = call.workspace.reservations();
    let mut released = Vec::new();
    if paths.is_empty() {
        released = reservations.release(None).await.map_err(|error| Problem::from(&error))?;
    }
    for pattern in paths {
        let some = reservations.release(Some(pattern)).await;
        released.extend(some.map_err(|error| Problem::from(&error))?);
    }
    Ok(json!({"released": released}))
}

fn parsed(paths: &[String]) -> Result<Vec<PathPattern>, Problem> {
    let parse = |path: &String| PathPattern::parse(path);
    paths.iter().map(parse).collect::<Result<_, _>>().map_err(|it| bad("paths", &it.to_string()))
}

async fn check(call: &Call<'_>, paths: &[String]) -> Result<Value, Problem> {
    let all = call.workspace.reservations().list().await.map_err(|error| Problem::from(&error))?;
    let patterns = parsed(paths)?;
    let is_meant = |one: &&Reservation| {
        patterns.is_empty() || patterns.iter().any(|pattern| one.overlaps(pattern))
    };
    let (yours, others): (Vec<_>, Vec<_>) =
        all.iter().filter(is_meant).partition(|one| one.holder.as_str() == call.agent());
    let list = |list: Vec<&Reservation>| list.into_iter().map(shown).collect::<Vec<_>>();
    Ok(json!({"yours": list(yours), "taken": list(others)}))
}

async fn lock(call: &Call<'_>, name: &str, arguments: &Arguments) -> Result<Value, Problem> {
    let ttl_ms = arguments.ttl_ms.unwrap_or(TTL_MS);
    let (operation, fields) = match (arguments.action, arguments.token) {
        (Action::Check, _) => ("lock.get", json!({"name": name})),
        (Action::Release, Some(token)) => ("lock.release", json!({"name": name, "token": token})),
        (Action::Release, None) => return Err(missing("token")),
        (Action::Acquire, Some(token)) => {
            ("lock.renew", json!({"name": name, "token": token, "ttl_ms": ttl_ms}))
        }
        (Action::Acquire, None) => {
            let wait_ms = arguments.wait_ms;
            ("lock.acquire", json!({"name": name, "ttl_ms": ttl_ms, "wait_ms": wait_ms}))
        }
    };
    let answer = call.perform(operation, given(fields)).await?;
    if operation != "lock.acquire" || answer.is_object() {
        return Ok(json!({"lock": answer}));
    }
    let lock = call.perform("lock.get", given(json!({"name": name}))).await?;
    let hint = if lock["hold"]["holder"] == call.agent() {
        "You hold it. Pass its token to extend or release it: action=check shows it."
    } else {
        "It was not acquired. Try again with wait_ms, or ask the holder with baton_send."
    };
    let taken = json!({"holder": lock["hold"]["holder"], "until": lock["hold"]["expires_at"]});
    Ok(json!({"lock": null, "taken": taken, "next": hint}))
}
