//! Serde knows no shared things unless it is told to.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes what is shared as if it were not.
pub(crate) fn serialize<T: Serialize, S: Serializer>(
    all: &[Arc<T>],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(all.iter().map(Arc::as_ref))
}

/// Reads what will be shared.
pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Vec<Arc<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Vec::<T>::deserialize(from)?.into_iter().map(Arc::new).collect())
}

/// The same for a queue.
pub(crate) mod queue {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes what is shared as if it were not.
    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        all: &VecDeque<Arc<T>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(all.iter().map(Arc::as_ref))
    }

    /// Reads what will be shared.
    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<VecDeque<Arc<T>>, D::Error>
    where
        T: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<T>::deserialize(from)?.into_iter().map(Arc::new).collect())
    }
}
