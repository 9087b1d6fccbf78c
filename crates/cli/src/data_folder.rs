//! The logs in a data folder: one, or one for each shard.

use std::path::{Path, PathBuf};

use baton_log::{OpenError, shard_folders};
use baton_server::{HOME, shard_of};

/// A log in a data folder.
pub(crate) struct DataLog {
    /// Its shard; none if it is the only one.
    pub(crate) shard: Option<u32>,
    pub(crate) folder: PathBuf,
}

/// The logs in a data folder, by shard.
pub(crate) fn logs(data: &Path) -> Result<Vec<DataLog>, OpenError> {
    let Some(folders) = shard_folders(data)? else {
        return Ok(vec![DataLog { shard: None, folder: data.to_owned() }]);
    };
    let logs = (0..).zip(folders).map(|(shard, folder)| DataLog { shard: Some(shard), folder });
    Ok(logs.collect())
}

/// The same; refused if a log is not there, which opening it would create.
pub(crate) fn existing_logs(data: &Path) -> Result<Vec<DataLog>, OpenError> {
    let logs = logs(data)?;
    for log in &logs {
        let path = log.folder.join("log");
        let there = std::fs::read_dir(&path).map(drop);
        there.map_err(|error| OpenError::Failed { path, reason: error.to_string() })?;
    }
    Ok(logs)
}

/// The folder of the log with the access tokens.
pub(crate) fn home(data: &Path) -> Result<PathBuf, OpenError> {
    let mut logs = logs(data)?;
    let count = u32::try_from(logs.len()).unwrap_or(u32::MAX);
    Ok(logs.swap_remove(shard_of(HOME, count) as usize).folder)
}
