//! What a server says of itself on stderr: sentences for people, or lines for programs.

use std::io;

use baton_server::journal::{Fields, Form, Journal, Level, Said, spoken};

use super::{banner, program};
use crate::output::{self, Output};
use crate::settings::Serving;

/// How a server speaks.
pub(super) struct Voice {
    /// What happens while it runs.
    pub(super) journal: Journal,
    is_json: bool,
    is_quiet: bool,
}

impl Voice {
    pub(super) fn of(serving: &Serving, output: &Output) -> io::Result<Self> {
        let journal = Journal::new(serving.log_level, serving.log_form, io::stderr())?;
        let (is_json, is_quiet) = (serving.log_form == Form::Json, output.is_quiet());
        Ok(Self { journal, is_json, is_quiet })
    }

    fn line(what: &str, fields: &Fields<'_>) {
        output::say(&spoken(Form::Json, Level::Info, what, fields));
    }

    /// A sentence for people, or a line that says the same.
    fn either(&self, sentence: &str, what: &str, fields: &Fields<'_>) {
        if self.is_json && self.journal.wants(Level::Info) {
            Self::line(what, fields);
        } else if !self.is_json && !self.is_quiet {
            output::say(sentence);
        }
    }

    /// The one token that is shown, whatever else is said: nobody could come in without it.
    pub(super) fn first_token(&self, token: &str) {
        if self.is_json {
            return Self::line("token.first", &[("token", Said::Text(token))]);
        }
        output::say(&format!(
            "the first token, of an admin, shown this once:\n\n  export BATON_TOKEN={token}\n"
        ));
    }

    pub(super) fn began(&self, data: &str, url: &str, has_tokens: bool) {
        let shown = "-H \"Authorization: Bearer $BATON_TOKEN\" ";
        let shown = if has_tokens { shown } else { "" };
        let fields = [
            ("version", Said::Text(env!("CARGO_PKG_VERSION"))),
            ("address", Said::Text(url)),
            ("data", Said::Text(data)),
        ];
        self.either(&banner(data, url, &program(), shown), "server.began", &fields);
    }

    /// A file was read again, or was not.
    pub(super) fn renewed(&self, what: &str, became: &str) {
        self.either(became, what, &[("became", Said::Text(became))]);
    }

    pub(super) fn ended(&self) {
        self.journal.finish();
        let sentence = "baton has ended; everything acknowledged is durable";
        self.either(sentence, "server.ended", &[]);
    }
}
