//! Replays one recorded case: sends its requests and says where the answers differ.

use core::time::Duration;
use std::collections::HashMap;
use std::io;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::client::{Answer, Client};
use crate::normal::Normal;
use crate::target::Target;

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces";
const PATIENCE: Duration = Duration::from_secs(20);

/// One case on its way.
pub(crate) struct Case<'a> {
    server: &'a Target<'a>,
    normal: &'a Normal,
    /// The texts that stand for `{name}`, `{rv}` and so on in requests.
    marks: HashMap<String, String>,
    client: Option<Client>,
    last: Answer,
    /// The recorded answers, and those found.
    pub(crate) answers: Vec<Answers>,
}

impl<'a> Case<'a> {
    /// `names` are those of the namespaces, by mark; the case works in the one marked `space`.
    pub(crate) fn new(
        server: &'a Target<'a>,
        normal: &'a Normal,
        names: &HashMap<String, String>,
        case: &str,
        space: &str,
    ) -> Self {
        let mut marks = names.clone();
        marks.insert("name".to_owned(), case.replace('.', "-"));
        marks.insert("elector".to_owned(), "elector".to_owned());
        let (client, last) = (None, Answer::default());
        let mut case = Self {
            server,
            normal,
            marks,
            client,
            last,
            answers: Vec::new(),
        };
        case.move_to(space);
        case
    }

    fn move_to(&mut self, space: &str) {
        let namespace = self.marks.get(space).cloned().unwrap_or_default();
        let leases = format!("{LEASES}/{namespace}/leases");
        let lease = format!(
            "{leases}/{}",
            self.marks.get("name").cloned().unwrap_or_default()
        );
        self.marks.insert("ns".to_owned(), namespace);
        self.marks.insert("leases".to_owned(), leases);
        self.marks.insert("lease".to_owned(), lease);
    }

    pub(crate) fn run(&mut self, steps: &[Value]) -> io::Result<()> {
        for step in steps {
            self.step(step)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Value) -> io::Result<()> {
        match text(step, "do") {
            // It was done before the namespace began to die.
            "dying" => Ok(()),
            "must" => self.must(step),
            "quiet" => self.request(step).map(|answer| self.last = answer),
            "set" => {
                self.set(text(step, "mark"), text(step, "source"));
                Ok(())
            }
            "namespace" => {
                self.move_to(text(step, "to"));
                Ok(())
            }
            "sleep" => {
                self.server.let_time_pass();
                Ok(())
            }
            "ask" => self.ask(step),
            "watch" => self.watch(step),
            "raw" => self.raw(step),
            other => panic!("unknown step {other}"),
        }
    }

    /// A preparation, whose answer tells the version and uid of the object.
    pub(crate) fn must(&mut self, step: &Value) -> io::Result<()> {
        let answer = self.request(step)?;
        assert!(
            answer.status < 300,
            "preparation failed: {step} {}",
            answer.text()
        );
        for (mark, member) in [("rv", "resourceVersion"), ("uid", "uid")] {
            if let Value::String(value) = answer.at(&format!("/metadata/{member}")) {
                self.marks.insert(mark.to_owned(), value);
            }
        }
        Ok(())
    }

    fn set(&mut self, mark: &str, source: &str) {
        let member = |name: &str| self.last.at(&format!("/metadata/{name}"));
        let value = match source {
            "continue" => member("continue").as_str().unwrap_or_default().to_owned(),
            "list version" => member("resourceVersion")
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            _ => self.marks.get(source).cloned().unwrap_or_default(),
        };
        self.marks.insert(mark.to_owned(), value);
    }

    fn fill(&self, template: &str) -> String {
        let mut filled = template.to_owned();
        for (mark, value) in &self.marks {
            filled = filled.replace(&format!("{{{mark}}}"), value);
        }
        filled
    }

    fn bytes(&self, body: &Value) -> Vec<u8> {
        match body {
            Value::Object(latin1) => {
                let text = self.fill(&unsqueezed(&latin1["latin1"]));
                text.chars()
                    .map(|character| u8::try_from(character).unwrap())
                    .collect()
            }
            _ => self.fill(&unsqueezed(body)).into_bytes(),
        }
    }

    fn head(&self, method: &str, target: &str, step: &Value, length: Option<usize>) -> String {
        let mut fields = vec![
            ("Host", self.server.addr.to_string()),
            ("User-Agent", "facts/1".to_owned()),
            ("Accept", "application/json".to_owned()),
        ];
        match step["token"].as_str().unwrap_or("admin") {
            "" => {}
            user @ ("admin" | "elector") => {
                fields.push((
                    "Authorization",
                    format!("Bearer {}", self.server.token(user)),
                ));
            }
            other => fields.push(("Authorization", other.to_owned())),
        }
        if let Some(length) = length {
            let kind = step["kind"].as_str().unwrap_or("application/json");
            if kind != "none" {
                fields.push(("Content-Type", kind.to_owned()));
            }
            fields.push(("Content-Length", length.to_string()));
        }
        for (name, value) in step["headers"].as_object().into_iter().flatten() {
            fields.retain(|(known, _)| *known != name.as_str());
            if value != "" {
                fields.push((name, self.fill(value.as_str().unwrap())));
            }
        }
        let version = step["version"].as_str().unwrap_or("HTTP/1.1");
        let lines: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!("{method} {target} {version}\r\n{}\r\n", lines.concat())
    }

    fn request(&mut self, step: &Value) -> io::Result<Answer> {
        let method = text(step, "method");
        let target = self.fill(step["target"].as_str().unwrap_or("{lease}"));
        let body = step.get("body").map(|body| self.bytes(body));
        let mut bytes = self
            .head(method, &target, step, body.as_ref().map(Vec::len))
            .into_bytes();
        bytes.extend(body.unwrap_or_default());
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.server.connect(PATIENCE)?,
        };
        client.send(&bytes)?;
        let answer = client.answer(method)?;
        if answer.header("connection") != Some("close") && answer.framing != "close" {
            self.client = Some(client);
        }
        Ok(answer)
    }

    fn stored(&mut self, step: &Value) -> io::Result<Option<Value>> {
        let at = step["at"].as_str().unwrap_or("{lease}");
        let answer = self.request(&json!({"method": "GET", "target": at}))?;
        Ok(answer.json().filter(|_| answer.status == 200))
    }

    fn ask(&mut self, step: &Value) -> io::Result<()> {
        let before = self.stored(step)?;
        let answer = self.request(step)?;
        let after = self.stored(step)?;
        let mut found = self.shown(&answer);
        let effect = effect(before.as_ref(), after.as_ref());
        if effect != "unchanged" {
            found.insert("effect".to_owned(), effect.into());
            if let Some(after) = after {
                let after = self.normal.value(&after);
                let same = found.get("body") == Some(&after);
                found.insert(
                    "stored".to_owned(),
                    if same { "as answered".into() } else { after },
                );
            }
        }
        if let Some(expected) = step["expect"].get("holder") {
            found.insert("holder".to_owned(), holder(&answer.text()));
            assert!(expected.is_string() || expected.is_null());
        }
        self.last = answer;
        self.compare(&step["expect"], &Value::Object(found));
        Ok(())
    }

    /// An answer as it is recorded, without what is as usual.
    fn shown(&self, answer: &Answer) -> Map<String, Value> {
        let mut found = Map::new();
        found.insert("status".to_owned(), answer.status.into());
        found.insert("body".to_owned(), self.normal.body(answer));
        if answer.framing != "length" {
            found.insert("framing".to_owned(), answer.framing.into());
        }
        if answer.version != "HTTP/1.1" {
            found.insert("version".to_owned(), answer.version.as_str().into());
        }
        if answer.body.starts_with(b"{\n") {
            found.insert("pretty".to_owned(), true.into());
        }
        let headers = unusual(self.normal.headers(answer));
        if headers != json!({}) {
            found.insert("headers".to_owned(), headers);
        }
        found
    }

    fn watch(&mut self, step: &Value) -> io::Result<()> {
        let target = self.fill(text(step, "target"));
        let join = if target.contains('?') { "&" } else { "?" };
        let target = format!("{target}{join}{}", self.fill(text(step, "query")));
        let mut stream = self.server.connect(PATIENCE)?;
        stream.send(self.head("GET", &target, step, None).as_bytes())?;
        let mut answer = stream.head()?;
        if answer.status != 200 || answer.framing == "length" {
            let length = answer
                .header("content-length")
                .and_then(|length| length.parse().ok());
            while answer.body.len() < length.unwrap_or(0) {
                answer.body.extend(stream.some()?);
            }
            let found = self.shown(&answer);
            self.compare(&step["expect"], &Value::Object(found));
            return Ok(());
        }
        self.run(step["during"].as_array().map_or(&[], Vec::as_slice))?;
        let patience = Duration::from_secs(step["seconds"].as_u64().unwrap());
        let (lines, end) = lines_until_end(&mut stream, answer.framing, patience)?;
        let events: Vec<Value> = lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        // Plain bookmarks come when the server likes.
        let is_telling = |event: &&Value| {
            event["type"] != "BOOKMARK" || event.pointer("/object/metadata/annotations").is_some()
        };
        let events = events
            .iter()
            .filter(is_telling)
            .map(|event| self.normal.value(event));
        let mut found = self.shown(&answer);
        found.remove("body");
        found.insert("events".to_owned(), events.collect());
        found.insert("end".to_owned(), end.into());
        self.compare(&step["expect"], &Value::Object(found));
        Ok(())
    }

    fn raw(&mut self, step: &Value) -> io::Result<()> {
        self.marks
            .insert("host".to_owned(), self.server.addr.to_string());
        let mut client = self.server.connect(Duration::from_secs(5))?;
        let bytes = self.bytes(&json!({"latin1": step["data"]}));
        client.send(&self.with_token(bytes))?;
        for expected in step["expect"].as_array().unwrap() {
            let answer = client.answer("GET")?;
            let found = self.shown(&answer);
            self.compare(expected, &Value::Object(found));
        }
        client.set_patience(Duration::from_secs(1))?;
        let is_closed = client.some().is_ok_and(|some| some.is_empty());
        self.compare(&step["closed"], &is_closed.into());
        Ok(())
    }

    /// Recorded bytes have the token `A`.
    fn with_token(&self, bytes: Vec<u8>) -> Vec<u8> {
        let recorded = b"Bearer A\r\n";
        let Some(at) = bytes
            .windows(recorded.len())
            .position(|some| some == recorded)
        else {
            return bytes;
        };
        let (head, rest) = bytes.split_at(at);
        let (_, rest) = rest.split_at(recorded.len());
        let line = format!("Bearer {}\r\n", self.server.token("admin"));
        [head, line.as_bytes(), &self.with_token(rest.to_vec())].concat()
    }

    fn compare(&mut self, recorded: &Value, found: &Value) {
        self.answers.push(Answers {
            recorded: recorded.clone(),
            found: found.clone(),
        });
    }
}

/// What was answered to one request.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) recorded: Value,
    pub(crate) found: Value,
}

fn text<'a>(step: &'a Value, key: &str) -> &'a str {
    step[key].as_str().unwrap_or_default()
}

/// A text whose long repetitions are told by their number.
fn unsqueezed(text: &Value) -> String {
    match text {
        Value::Array(parts) => parts.iter().map(unsqueezed).collect(),
        Value::Object(part) => {
            let times = usize::try_from(part["times"].as_u64().unwrap()).unwrap();
            part["text"].as_str().unwrap().repeat(times)
        }
        _ => text.as_str().unwrap().to_owned(),
    }
}

/// What became of the object.
fn effect(before: Option<&Value>, after: Option<&Value>) -> &'static str {
    let (before, after) = match (before, after) {
        (None, None) => return "still absent",
        (None, Some(_)) => return "created",
        (Some(_), None) => return "deleted",
        (Some(before), Some(after)) => (&before["metadata"], &after["metadata"]),
    };
    let is_dying = |meta: &Value| meta.get("deletionTimestamp").is_some();
    if before["uid"] != after["uid"] {
        "replaced"
    } else if before["resourceVersion"] == after["resourceVersion"] {
        "unchanged"
    } else if is_dying(after) && !is_dying(before) {
        "marked for deletion"
    } else {
        "changed"
    }
}

/// The holder as it stands in the answer, escapes and all.
fn holder(body: &str) -> Value {
    let Some((_, rest)) = body.split_once("\"holderIdentity\":\"") else {
        return Value::Null;
    };
    let mut is_escaped = false;
    let end = rest.find(|character| {
        let is_end = character == '"' && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        is_end
    });
    rest[..end.unwrap()].into()
}

/// The headers that are not as with every answer; null for one of those that is not there.
fn unusual(headers: Value) -> Value {
    let Value::Object(mut headers) = headers else {
        return Value::Null;
    };
    for (name, usual) in [
        ("audit-id", "<...>"),
        ("cache-control", "no-cache, private"),
        ("content-type", "application/json"),
        ("date", "<...>"),
        ("x-kubernetes-pf-flowschema-uid", "<...>"),
        ("x-kubernetes-pf-prioritylevel-uid", "<...>"),
    ] {
        if headers.get(name).is_some_and(|value| value == usual) {
            headers.remove(name);
        } else {
            headers.entry(name).or_insert(Value::Null);
        }
    }
    Value::Object(headers)
}

/// The lines of a stream until it ends or until there has been enough patience.
fn lines_until_end(
    stream: &mut Client,
    framing: &str,
    patience: Duration,
) -> io::Result<(Vec<String>, &'static str)> {
    let started = Instant::now();
    let mut bytes = Vec::new();
    let end = loop {
        let left = patience.saturating_sub(started.elapsed());
        if left.is_zero() {
            break "open";
        }
        stream.set_patience(left)?;
        let piece = if framing == "chunked" {
            stream.chunk()
        } else {
            stream.some().map(|some| (!some.is_empty()).then_some(some))
        };
        match piece {
            Ok(Some(piece)) => bytes.extend(piece),
            Ok(None) => break "closed cleanly",
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break "open",
            Err(error) => return Err(error),
        }
    };
    let text = String::from_utf8(bytes).unwrap();
    Ok((text.lines().map(str::to_owned).collect(), end))
}
