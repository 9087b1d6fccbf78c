//! The messages of the server about itself on stderr: text for people, or JSON lines for programs.

use std::fmt::Display;
use std::io;

use baton_server::server_log::{FieldValue, Fields, Form, Level, ServerLog, format_line};

use super::{banner, program, service_manager};
use crate::output::{self, Output};
use crate::settings::ServerSettings;

/// Prints the banner, the first token, and start and stop messages.
pub(super) struct Announcer {
    /// The log of the running server.
    pub(super) server_log: ServerLog,
    is_json: bool,
    is_quiet: bool,
}

impl Announcer {
    pub(super) fn of(serving: &ServerSettings, output: &Output) -> io::Result<Self> {
        let server_log = ServerLog::new(serving.log_level, serving.log_form, io::stderr())?;
        let (is_json, is_quiet) = (serving.log_form == Form::Json, output.is_quiet());
        Ok(Self { server_log, is_json, is_quiet })
    }

    fn line(what: &str, fields: &Fields<'_>) {
        output::say(&format_line(Form::Json, Level::Info, what, fields));
    }

    /// Prints text for people, or the equivalent JSON line.
    fn either(&self, sentence: &str, what: &str, fields: &Fields<'_>) {
        if self.is_json && self.server_log.wants(Level::Info) {
            Self::line(what, fields);
        } else if !self.is_json && !self.is_quiet {
            output::say(sentence);
        }
    }

    /// Prints the first token, even with --quiet: without it the server is not accessible.
    pub(super) fn first_token(&self, token: &str) {
        if self.is_json {
            return Self::line("token.first", &[("token", FieldValue::Text(token))]);
        }
        output::say(&format!("Admin token (shown only once):\n\n  export BATON_TOKEN={token}\n"));
    }

    pub(super) fn began(&self, data: &str, url: &str, has_tokens: bool) {
        let shown = "-H \"Authorization: Bearer $BATON_TOKEN\" ";
        let shown = if has_tokens { shown } else { "" };
        let fields = [
            ("version", FieldValue::Text(env!("CARGO_PKG_VERSION"))),
            ("address", FieldValue::Text(url)),
            ("data", FieldValue::Text(data)),
        ];
        self.either(&banner(data, url, &program(), shown), "server.began", &fields);
        if let Err(error) = service_manager::notify(service_manager::READY) {
            let fields = [("why", FieldValue::Text(&error.to_string()))];
            self.server_log.write(Level::Warn, "service_manager.unreachable", &fields);
        }
    }

    /// A file was reloaded, or could not be: then what was read before is still used. `events` are
    /// the names of both in the log.
    pub(super) fn reloaded(
        &self,
        name: &str,
        [renewed, not_renewed]: [&'static str; 2],
        outcome: Result<(), impl Display>,
    ) {
        match outcome {
            Ok(()) => self.either(&format!("{name} reloaded"), renewed, &[]),
            Err(error) => {
                let fields = [("why", FieldValue::Text(&error.to_string()))];
                self.server_log.write(Level::Error, not_renewed, &fields);
            }
        }
    }

    pub(super) fn ended(&self) {
        self.server_log.finish();
        let sentence = "baton has stopped; all acknowledged writes are durable";
        self.either(sentence, "server.ended", &[]);
    }
}
