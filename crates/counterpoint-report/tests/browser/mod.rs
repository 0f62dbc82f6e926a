//! A real browser, driven through Chromium's debugging pipe: JSON messages that end in a zero byte.
//!
//! Chromium reads commands from file 3 and answers on file 4; a shell ties these to the child's standard input and output,
//! so that nothing but the standard library is needed. The page under test is the file as it is written, unchanged.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long an answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A Chromium on the path, or the one named by `COUNTERPOINT_BROWSER`.
///
/// Tests that need one are marked #[ignore] and have `browser` in their names; `scripts/check` runs them where there is one.
pub(crate) fn find() -> PathBuf {
    if let Some(named) = std::env::var_os("COUNTERPOINT_BROWSER") {
        return named.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = names.iter().flat_map(|n| places.iter().map(move |p| p.join(n))).find(|p| p.is_file());
    found.expect("a Chromium on the path (apt-get install chromium, or set COUNTERPOINT_BROWSER)")
}

/// One page in one browser.
pub(crate) struct Page {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// Everything the browser said unasked.
    pub(crate) events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Page {
    /// Opens a file and waits until it is loaded.
    pub(crate) fn open(browser: &Path, file: &Path) -> Page {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(browser)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args("--headless --remote-debugging-pipe --no-sandbox --disable-gpu --disable-quic".split(' '))
            .args("--no-first-run --disable-background-networking --disable-component-update".split(' '))
            .args("--disable-sync --disable-dev-shm-usage about:blank".split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (tell, messages) = channel();
        std::thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { return };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        let mut page = Page { child, input, messages, session: None, sent: 0, events: vec![], _profile: profile };
        let target = page.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = page.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        page.session = Some(attached["sessionId"].as_str().unwrap().into());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.events.clear();
        page.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while !page.events.iter().any(|e| e["method"] == "Page.loadEventFired") {
            let event = page.next();
            page.events.push(event);
        }
        page
    }

    fn next(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("the browser does not answer")
    }

    /// Sends a command and waits for its answer; events met on the way are kept.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(message.to_string().as_bytes()).unwrap();
        self.input.write_all(&[0]).unwrap();
        self.input.flush().unwrap();
        loop {
            let answer = self.next();
            if answer["id"] == self.sent {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// What an expression is in the page; promises are waited for.
    pub(crate) fn ask(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Moves the mouse to the middle of the n-th element that the selector finds, once the page has come to rest there.
    pub(crate) fn hover(&mut self, selector: &str, n: usize) -> (f64, f64) {
        let place = self.ask(&format!(
            "new Promise(done => {{ const e = document.querySelectorAll({selector:?})[{n}]; \
             e.scrollIntoView({{block: 'center', inline: 'center', behavior: 'instant'}}); \
             requestAnimationFrame(() => requestAnimationFrame(() => {{ \
             const b = e.getBoundingClientRect(); done([b.x + b.width / 2, b.y + b.height / 2]); }})); }})"
        ));
        let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}));
        (x, y)
    }

    /// Clicks the n-th element that the selector finds, with the mouse, as a person would.
    pub(crate) fn click(&mut self, selector: &str, n: usize) {
        let (x, y) = self.hover(selector, n);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// How many elements the selector finds.
    pub(crate) fn count(&mut self, selector: &str) -> usize {
        self.ask(&format!("document.querySelectorAll({selector:?}).length")).as_u64().unwrap() as usize
    }

    /// Errors, warnings and anything else the page put into the console.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let bad = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        self.events.iter().filter(|e| bad.iter().any(|m| e["method"] == *m)).collect()
    }

    /// Addresses the page asked for, its own among them.
    pub(crate) fn requests(&self) -> Vec<&str> {
        let sent = self.events.iter().filter(|e| e["method"] == "Network.requestWillBeSent");
        sent.filter_map(|e| e["params"]["request"]["url"].as_str()).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
