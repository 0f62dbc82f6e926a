//! Buckets, opened once each, and the threads on which their answers are awaited.
//!
//! Whoever reads waits on a plain channel, so it does not matter whether the caller has a runtime of its own. A process that was forked
//! has none of its parent's threads, and gets new ones.

use super::{CloudSettings, parted, settings};
use crate::error::{Error, Result};
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig, path::Path as Key};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A request is tried again so often, and not after so long.
const TRIES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);

static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// The answer of a future, to be awaited with `recv`; it is worked on meanwhile.
pub(super) fn begin<T: Send + 'static>(ask: impl Future<Output = T> + Send + 'static) -> Result<Receiver<T>> {
    let mut held = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    if held.as_ref().is_none_or(|(owner, _)| *owner != here) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let new = builder.worker_threads(2).thread_name("counterpoint-cloud").enable_all().build();
        let new = new.map_err(|e| Error::data(format!("no thread could be started for the network: {e}")))?;
        // the threads of a parent process do not exist here, so nobody may wait for them
        std::mem::forget(held.replace((here, new)));
    }
    let (to, from) = channel();
    if let Some((_, runtime)) = &*held {
        runtime.spawn(async move {
            let _ = to.send(ask.await); // who no longer waits need not be told
        });
    }
    Ok(from)
}

/// The answer of a future.
pub(super) fn wait<T: Send + 'static>(ask: impl Future<Output = T> + Send + 'static) -> Result<T> {
    begin(ask)?.recv().map_err(|_| lost())
}

pub(super) fn lost() -> Error {
    Error::data("a thread of the network has ended before its answer")
}

/// A bucket with the settings it was opened with.
type Opened = ((String, CloudSettings), Arc<dyn ObjectStore>);

static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// The store of a name, and the place in it.
pub(super) fn store_of(path: &Path) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let Some((scheme, rest)) = parted(path) else { return Err(Error::data("it is not a remote name")) };
    let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() {
        return Err(Error::data("the name has no bucket").hint("write scheme://bucket/key"));
    }
    let web = scheme.starts_with("http");
    let key = match web {
        true => Key::default(), // the whole address is the store, so that its query stays
        false => Key::parse(key.trim_end_matches('/'))
            .map_err(|e| Error::data(format!("it is not the name of an object: {e}")))?,
    };
    let base = if web { path.display().to_string() } else { format!("{scheme}://{host}") };
    let with = (base, settings());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, store)) = opened.iter().find(|(known, _)| *known == with) {
        return Ok((store.clone(), key));
    }
    let store = build(scheme, &with.0, &with.1).map_err(|e| said(e, path))?;
    if !web {
        opened.push((with, store.clone())); // addresses are as many as files
    }
    Ok((store, key))
}

fn build(scheme: &str, base: &str, settings: &CloudSettings) -> object_store::Result<Arc<dyn ObjectStore>> {
    // a second provider is refused, and the first is as good
    let _ = rustls::crypto::ring::default_provider().install_default();
    let plain = |(name, value): &(String, String)| name.contains("ENDPOINT") && value.starts_with("http://");
    let client = ClientOptions::new()
        .with_allow_http(scheme == "http" || settings.iter().any(plain))
        .with_connect_timeout(Duration::from_secs(5))
        .with_timeout_disabled()
        .with_read_timeout(SILENCE);
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(100), ..BackoffConfig::default() };
    let retry = RetryConfig { max_retries: TRIES, retry_timeout: PATIENCE, backoff };
    // client options replace those that are set by name, so they come first
    macro_rules! with {
        ($builder:expr) => {{
            let mut builder = $builder.with_url(base).with_retry(retry).with_client_options(client);
            for (name, value) in settings {
                if let Ok(name) = name.to_ascii_lowercase().parse() {
                    builder = builder.with_config(name, value);
                }
            }
            Ok(Arc::new(builder.build()?))
        }};
    }
    match scheme {
        "s3" | "s3a" => with!(AmazonS3Builder::new()),
        "gs" => with!(GoogleCloudStorageBuilder::new()),
        "http" | "https" => {
            Ok(Arc::new(HttpBuilder::new().with_url(base).with_retry(retry).with_client_options(client).build()?))
        }
        _ => with!(MicrosoftAzureBuilder::new()),
    }
}

/// Every object below a prefix, by its whole name.
pub(in super::super) fn list(base: &Path) -> Result<Vec<PathBuf>> {
    let (store, key) = store_of(base)?;
    let found = wait(async move { store.list(Some(&key)).map_ok(|m| m.location).try_collect::<Vec<_>>().await })?;
    let bucket: String = base.to_string_lossy().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let found = found.map_err(|e| said(e, base))?;
    Ok(found.into_iter().map(|key| PathBuf::from(format!("{bucket}/{key}"))).collect())
}

/// An error of a store, in words.
pub(super) fn said(e: object_store::Error, path: &Path) -> Error {
    use object_store::Error as E;
    let text = without_queries(&e.to_string());
    let credentials = match parted(path).map_or("", |(scheme, _)| scheme) {
        "s3" | "s3a" => {
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION; AWS_SKIP_SIGNATURE=true for a public bucket"
        }
        "gs" => "GOOGLE_APPLICATION_CREDENTIALS; GOOGLE_SKIP_SIGNATURE=true for a public bucket",
        "http" | "https" => "is the address right, and has a signed one expired?",
        _ => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    };
    match &e {
        E::NotFound { .. } if text.contains("NoSuchBucket") => Error::data("there is no such bucket"),
        E::NotFound { .. } => {
            Error::data("there is no such object").hint("is the name right? Letters large and small differ")
        }
        // a refused list has no kind of its own
        _ if matches!(e, E::PermissionDenied { .. } | E::Unauthenticated { .. })
            || ["403 Forbidden", "401 Unauthorized"].iter().any(|status| text.contains(status)) =>
        {
            Error::data(format!("access is refused: {}", short(&text)))
                .hint(format!("are the credentials right? {credentials}"))
        }
        E::Precondition { .. } => {
            Error::data("the object has changed while it was read").hint("run it again when nobody writes to it")
        }
        _ if text.contains("169.254.169.254") || text.contains("metadata.google.internal") => {
            Error::data("there are no credentials, and this machine has no role that gives some").hint(credentials)
        }
        _ if text.contains("non-partial response") || matches!(e, E::NotSupported { .. }) => {
            Error::data("the server does not hand out parts of a file, which this format needs")
                .hint("copy the file here, or serve it by a server that answers range requests")
        }
        _ => Error::data(format!("it cannot be read: {}", short(&text)))
            .hint("is the address right, and is there a network? A read that breaks off is tried again a few times"),
    }
}

/// The text without the queries of addresses, which may hold a signature.
fn without_queries(text: &str) -> String {
    let word = |w: &str| match w.split_once('?') {
        Some((address, _)) if address.contains("://") => address.to_string(),
        _ => w.to_string(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The first lines of what a server says, which may be a page.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(400) {
        Some((end, _)) => format!("{} ..", &line[..end]),
        None => line,
    }
}
