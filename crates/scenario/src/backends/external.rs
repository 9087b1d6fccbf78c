//! A client library in another language: a program that is driven through its standard input and
//! output.
//!
//! The server runs here, with the clock of the scenario; the program is a client of it. One program
//! runs many scenarios, each with its own server. Both sides write one JSON object per line, the
//! program exactly one for each that it reads:
//!
//! | line | reply |
//! |---|---|
//! | `{"do":"open","url":"http://127.0.0.1:PORT"}` | `{}` when it is connected |
//! | `{"do":"call",CALL}` | `{"answer":ANSWER}` |
//! | `{"do":"call_blocking",CALL}` | `{"answer":null}` when the call waits, else its answer |
//! | `{"do":"receive_answer","agent":A}` | the answer to its oldest waiting call, or `null` |
//! | `{"do":"events","workspace":W,"after":N,"up_to":N}` | `{"events":[…]}`, as a watch has them |
//! | `{"do":"close"}` | `{}` when it is disconnected |
//!
//! `CALL` is `"workspace"`, `"agent"`, `"idempotency_key"` (or null), `"command"` and `"fields"`,
//! an object. The fields of `transaction` are `require` and `commands`. A field `agent` of an
//! operation that has none names the agent that acts. `ANSWER` is `{"revision":N,"result":…}`, with
//! `results` for a transaction, or `{"error":{"code":…,"kind":…,"detail":…,"hint":…,FACTS}}`.
//!
//! A call waits when the revision of the workspace has changed since it was sent: waiters are
//! recorded. The program ends when its input does.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use serde_json::{Value, json};

use super::WORKSPACE;
use super::server::TestServer;
use crate::run::Backend;
use crate::script::ScriptedCall;

/// A running program.
pub struct ExternalProgram {
    name: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl ExternalProgram {
    /// Starts a program with its arguments.
    pub fn start(command: &[String]) -> std::io::Result<Self> {
        let (program, arguments) = command.split_first().expect("a program is named");
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        Ok(Self { name: command.join(" "), child, input, output })
    }

    fn ask(&mut self, line: &Value) -> Value {
        let input = self.input.as_mut().expect("it is open until the end");
        writeln!(input, "{line}").and_then(|()| input.flush()).expect("the program reads");
        let mut reply = String::new();
        self.output.read_line(&mut reply).expect("the program writes text");
        serde_json::from_str(&reply)
            .unwrap_or_else(|error| panic!("{} replied {reply:?} to {line}: {error}", self.name))
    }
}

impl Drop for ExternalProgram {
    fn drop(&mut self) {
        self.input = None;
        let ended = self.child.wait();
        let is_well = ended.is_ok_and(|status| status.success());
        assert!(is_well || std::thread::panicking(), "{} ends well", self.name);
    }
}

/// A server that is used through a program.
pub struct ExternalBackend {
    server: TestServer,
    program: Rc<RefCell<ExternalProgram>>,
}

impl ExternalBackend {
    /// An empty server, with the program connected.
    pub fn new(program: &Rc<RefCell<ExternalProgram>>) -> Self {
        let backend = Self { server: TestServer::new(), program: Rc::clone(program) };
        let url = format!("http://{}", backend.server.address);
        backend.ask(&json!({"do": "open", "url": url}));
        backend
    }

    fn ask(&self, line: &Value) -> Value {
        self.program.borrow_mut().ask(line)
    }

    fn call_as(&self, what: &str, scripted: &ScriptedCall) -> Option<Value> {
        let line = json!({
            "do": what,
            "workspace": scripted.workspace_name(),
            "agent": scripted.agent,
            "idempotency_key": scripted.idempotency_key,
            "command": scripted.command,
            "fields": scripted.fields,
        });
        given(self.ask(&line)["answer"].take())
    }
}

fn given(answer: Value) -> Option<Value> {
    Some(answer).filter(|answer| !answer.is_null())
}

impl Backend for ExternalBackend {
    fn name(&self) -> String {
        self.program.borrow().name.clone()
    }

    fn advance_clock(&mut self, to_ms: u64) {
        self.server.advance_clock(to_ms);
    }

    fn call(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        self.call_as("call", scripted)
    }

    fn call_blocking(&mut self, scripted: &ScriptedCall) -> Option<Value> {
        self.call_as("call_blocking", scripted)
    }

    fn receive_answer(&mut self, agent: &str) -> Option<Value> {
        given(self.ask(&json!({"do": "receive_answer", "agent": agent}))["answer"].take())
    }

    fn events(&mut self, after: u64, up_to: u64) -> Vec<Value> {
        if after == up_to {
            return Vec::new();
        }
        let line = json!({"do": "events", "workspace": WORKSPACE, "after": after, "up_to": up_to});
        match self.ask(&line)["events"].take() {
            Value::Array(events) => events,
            other => panic!("events were asked for, not {other}"),
        }
    }
}

impl Drop for ExternalBackend {
    fn drop(&mut self) {
        // Before the server, so that it need not wait for this to end.
        if !std::thread::panicking() {
            self.ask(&json!({"do": "close"}));
        }
    }
}
