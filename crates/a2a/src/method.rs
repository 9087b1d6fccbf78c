//! The operations of the protocol.

use crate::error::{Error, ErrorKind};

/// An operation, by its name in JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Creates or continues a task, and returns it when it has ended or needs input.
    SendMessage,
    /// The same, with every change as it happens.
    SendStreamingMessage,
    /// Reads a task.
    GetTask,
    /// Lists tasks, the last changed first.
    ListTasks,
    /// Cancels a task.
    CancelTask,
    /// A task, and every change as it happens.
    SubscribeToTask,
    /// Has changes of a task posted to a URL.
    CreateTaskPushNotificationConfig,
    /// Reads such a configuration.
    GetTaskPushNotificationConfig,
    /// Lists those of a task.
    ListTaskPushNotificationConfigs,
    /// Removes one.
    DeleteTaskPushNotificationConfig,
    /// Reads the card with everything that the caller may see.
    GetExtendedAgentCard,
}

impl Method {
    /// Every method, with its name.
    pub const ALL: [(&str, Self); 11] = [
        ("SendMessage", Self::SendMessage),
        ("SendStreamingMessage", Self::SendStreamingMessage),
        ("GetTask", Self::GetTask),
        ("ListTasks", Self::ListTasks),
        ("CancelTask", Self::CancelTask),
        ("SubscribeToTask", Self::SubscribeToTask),
        ("CreateTaskPushNotificationConfig", Self::CreateTaskPushNotificationConfig),
        ("GetTaskPushNotificationConfig", Self::GetTaskPushNotificationConfig),
        ("ListTaskPushNotificationConfigs", Self::ListTaskPushNotificationConfigs),
        ("DeleteTaskPushNotificationConfig", Self::DeleteTaskPushNotificationConfig),
        ("GetExtendedAgentCard", Self::GetExtendedAgentCard),
    ];

    /// The method of this name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, method)| method).ok_or_else(|| {
            let shown: String = name.chars().take(80).collect();
            let message = format!("there is no method `{shown}` in version 1.0 of the protocol");
            Error::new(ErrorKind::MethodNotFound, message)
        })
    }
}
