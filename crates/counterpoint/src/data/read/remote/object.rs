//! One object: how long it is, parts of it, and all of it as a stream.
//!
//! Every request names the version that was found at first, so an object that is replaced meanwhile is an error, not a mixture. Requests that fail
//! are tried again by the store, a body that breaks off from where it broke off.

use super::is_web;
use super::stores::{begin, lost, said, store_of, wait};
use crate::error::{Error, Result};
use bytes::{Buf, Bytes, BytesMut};
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, path::Path as Key};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// Requests under way at a time.
const REQUESTS: usize = 8;

/// Bytes of a stream, or around a place of a file that is searched, that are fetched together.
const WINDOW: u64 = 4 << 20;

/// An object that is there.
#[derive(Clone)]
pub(in super::super) struct Object {
    path: PathBuf,
    store: Arc<dyn ObjectStore>,
    key: Key,
    meta: ObjectMeta,
    /// For who reads it as a file: where they are, and what was fetched there.
    at: u64,
    window: (u64, Bytes),
}

/// Parts that are being fetched.
pub(super) struct Coming(Receiver<object_store::Result<Vec<Bytes>>>, PathBuf);

impl Object {
    /// Asks for its length and version.
    pub(in super::super) fn open(path: &Path) -> Result<Self> {
        let (store, key) = store_of(path)?;
        let (from, at, web) = (store.clone(), key.clone(), is_web(path));
        let meta = wait(async move { if web { page(&*from, &at).await } else { from.head(&at).await } })?;
        let meta = meta.map_err(|e| said(e, path))?;
        if meta.size == 0 {
            return Err(Error::data("the file is empty (0 bytes)").hint("remove it, or write it again"));
        }
        Ok(Object { path: path.to_path_buf(), store, key, meta, at: 0, window: (0, Bytes::new()) })
    }

    pub(in super::super) fn size(&self) -> u64 {
        self.meta.size
    }

    /// What tells this version from others.
    pub(in super::super) fn tag(&self) -> String {
        self.meta.e_tag.clone().unwrap_or_else(|| self.meta.last_modified.to_rfc3339())
    }

    /// Begins to fetch parts.
    pub(super) fn begin(&self, parts: Vec<Range<u64>>) -> Result<Coming> {
        let (store, key, options) = (self.store.clone(), self.key.clone(), self.same());
        let part = move |range: Range<u64>| {
            let (store, key) = (store.clone(), key.clone());
            let options = GetOptions { range: Some(GetRange::Bounded(range)), ..options.clone() };
            async move { store.get_opts(&key, options).await?.bytes().await }
        };
        let all = async move { stream::iter(parts).map(part).buffered(REQUESTS).try_collect().await };
        Ok(Coming(begin(all)?, self.path.clone()))
    }

    /// A part.
    pub(super) fn part(&self, range: Range<u64>) -> Result<Bytes> {
        self.begin(vec![range])?.wait()?.pop().ok_or_else(lost)
    }

    /// The same version and no other, where the server has strong names for versions.
    fn same(&self) -> GetOptions {
        let strong = self.meta.e_tag.clone().filter(|t| !t.starts_with("W/"));
        GetOptions { if_match: strong, ..GetOptions::default() }
    }

    /// All of it, the next bytes fetched while others are used.
    pub(in super::super) fn stream(self) -> Box<dyn Read + Send> {
        let (store, key, options) = (self.store.clone(), self.key.clone(), self.same());
        let open = async move { store.get_opts(&key, options).await.map(GetResult::into_stream) };
        let body = stream::once(open).try_flatten().boxed();
        Box::new(Body { here: Bytes::new(), left: self.meta.size, next: begin(some(body)), path: self.path })
    }
}

/// What is known of an address: by its first byte rather than its head, which signed addresses do not give; by all of it where the server
/// gives no parts.
async fn page(store: &dyn ObjectStore, at: &Key) -> object_store::Result<ObjectMeta> {
    use object_store::Error as E;
    let first = GetOptions { range: Some(GetRange::Bounded(0..1)), ..GetOptions::default() };
    match store.get_opts(at, first).await {
        Ok(found) => Ok(found.meta),
        Err(e @ (E::NotFound { .. } | E::PermissionDenied { .. } | E::Unauthenticated { .. })) => Err(e),
        Err(_) => Ok(store.get_opts(at, GetOptions::default()).await?.meta),
    }
}

impl Coming {
    pub(super) fn wait(self) -> Result<Vec<Bytes>> {
        self.0.recv().map_err(|_| lost())?.map_err(|e| said(e, &self.1))
    }
}

type Answers = BoxStream<'static, object_store::Result<Bytes>>;

/// Some bytes of a body, and the rest of it; no rest after the end or an error.
type Taken = (object_store::Result<Bytes>, Option<Answers>);

async fn some(mut body: Answers) -> Taken {
    let mut all = BytesMut::new();
    while (all.len() as u64) < WINDOW {
        match body.next().await {
            Some(Ok(bytes)) => all.extend_from_slice(&bytes),
            Some(Err(e)) => return (Err(e), None),
            None => return (Ok(all.freeze()), None),
        }
    }
    (Ok(all.freeze()), Some(body))
}

struct Body {
    here: Bytes,
    /// Bytes that must still come.
    left: u64,
    next: Result<Receiver<Taken>>,
    path: PathBuf,
}

impl Read for Body {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if !self.here.has_remaining() && self.left > 0 {
            let next = self.next.as_ref().map_err(|e| io::Error::other(e.to_string()))?;
            let (bytes, rest) = next.recv().map_err(|_| io::Error::other("the connection has ended"))?;
            self.here = bytes.map_err(|e| io::Error::other(said(e, &self.path).what()))?;
            self.left = self.left.saturating_sub(self.here.len() as u64);
            match rest {
                Some(rest) => self.next = begin(some(rest)),
                None if self.left > 0 => {
                    return Err(io::Error::other(format!("the connection has ended {} bytes too early", self.left)));
                }
                None => {}
            }
        }
        let n = self.here.len().min(to.len());
        self.here.copy_to_slice(&mut to[..n]);
        Ok(n)
    }
}

impl Read for Object {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let end = self.window.0 + self.window.1.len() as u64;
        if self.at >= self.meta.size {
            return Ok(0);
        }
        if !(self.window.0..end).contains(&self.at) {
            let range = self.at..self.meta.size.min(self.at + WINDOW);
            self.window = (self.at, self.part(range).map_err(|e| io::Error::other(e.what()))?);
        }
        let mut here = self.window.1.slice((self.at - self.window.0) as usize..);
        let n = here.len().min(to.len());
        here.copy_to_slice(&mut to[..n]);
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Object {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(n) => Some(n),
            SeekFrom::End(n) => self.meta.size.checked_add_signed(n),
            SeekFrom::Current(n) => self.at.checked_add_signed(n),
        };
        self.at = place.ok_or_else(|| io::Error::other("a place before the beginning"))?;
        Ok(self.at)
    }
}
