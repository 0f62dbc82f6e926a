//! Numbers in memory, or in a scratch file that is mapped into it.
//!
//! A log of 10^8 rows need not fit in memory: with a [`Scratch`] its columns live in a file without a name, which the system
//! pages in and out as passes go by and takes away with the process. Everything above sees slices either way ([`Span`]).
//! What was read of a file is given back now and then ([`Span::passed`]), so that a pass over a log of any size holds a bounded part of it; the
//! system keeps the pages as long as it has room, and a second pass finds them there.
//! Mapping a file is the one thing here that the compiler cannot check: a scratch file is safe because nobody else can open it, a store
//! ([`Store`](super::Store)) because nobody should.

use crate::error::{Error, Hint, Remedy, Result};
use bytemuck::Pod;
use memmap2::Mmap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A directory for scratch files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scratch {
    directory: PathBuf,
    /// Rows that take no more bytes than this stay in memory.
    beyond: u64,
}

impl Scratch {
    /// Scratch files go to this directory, which must be there; they have no names and leave nothing behind.
    pub fn new(directory: impl AsRef<Path>) -> Self {
        Scratch { directory: directory.as_ref().to_path_buf(), beyond: 0 }
    }

    /// Only for logs whose rows take more than so many bytes; others, and what is made of them, stay in memory.
    #[must_use]
    pub fn beyond(self, bytes: u64) -> Self {
        Scratch { beyond: bytes, ..self }
    }

    /// Whether so many bytes go to a file.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        bytes > self.beyond
    }

    /// The scratch for what is made of a log of so many bytes; none where that stays in memory.
    pub(super) fn of(self, bytes: u64) -> Option<Self> {
        self.takes(bytes).then(|| Scratch::new(self.directory))
    }

    pub(crate) fn open(&self) -> Result<Spill> {
        let file = tempfile::tempfile_in(&self.directory).map_err(|e| Error::io(&self.directory, e))?;
        Ok(Spill { file: BufWriter::with_capacity(1 << 20, file), directory: self.directory.clone(), at: 0 })
    }
}

/// Columns start at multiples of a cache line.
const LINE: usize = 64;

/// A scratch file being written.
pub(crate) struct Spill {
    file: BufWriter<File>,
    directory: PathBuf,
    at: usize,
}

impl Spill {
    /// Adds numbers; they will start at the place returned.
    pub(crate) fn put<T: Pod>(&mut self, values: &[T]) -> Result<usize> {
        let place = self.at;
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let padding = bytes.len().next_multiple_of(LINE) - bytes.len();
        let written = self.file.write_all(bytes).and_then(|()| self.file.write_all(&[0; LINE][..padding]));
        written.map_err(|e| self.blame(e))?;
        self.at += bytes.len() + padding;
        Ok(place)
    }

    /// Everything that was added, to be read.
    pub(crate) fn finish(mut self) -> Result<Mapped> {
        self.file.flush().map_err(|e| self.blame(e))?;
        // SAFETY: the file has no name and this process no other handle to it, so nobody can change or shorten it
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(self.file.get_ref()) }.map_err(|e| self.blame(e))?;
        Ok(Mapped(Arc::new(Map { map, passed: AtomicUsize::new(0) })))
    }

    fn blame(&self, e: std::io::Error) -> Error {
        Error::io(&self.directory, e)
            .hint(Hint::from("scratch files need room; name another directory with ") + Remedy::Scratch)
    }
}

/// How much of a mapped file is read before its pages are given back, in bytes: a pass over the rows then holds about so much of it, and
/// finding pages again that the system still has costs less than a hundredth of reading them.
const HELD: usize = 256 << 20;

/// A mapped file, and how much of it was read since its pages were last given back.
struct Map {
    map: Mmap,
    passed: AtomicUsize,
}

impl Map {
    /// So many bytes have been read, and nobody is about to read them again.
    fn passed(&self, bytes: usize) {
        if self.map.len() > HELD && self.passed.fetch_add(bytes, Ordering::Relaxed) + bytes >= HELD {
            self.passed.store(0, Ordering::Relaxed);
            self.give_back();
        }
    }

    fn give_back(&self) {
        // SAFETY: the mapping is shared and only read, so its pages are those of the file, before and after; who reads them meanwhile reads
        // the file again
        #[cfg(unix)]
        #[allow(unsafe_code)]
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) }; // where that is not done more is held
    }
}

/// A scratch file or a store, written.
#[derive(Clone)]
pub(crate) struct Mapped(Arc<Map>);

impl Mapped {
    /// A file with a name, to be read. Whoever changes or cuts it while it is mapped takes the numbers away under our hands.
    #[cfg(feature = "readers")]
    pub(super) fn of(file: &File) -> std::io::Result<Self> {
        // SAFETY: it is only read, as numbers of which every pattern of bits is one. We ourselves never change or cut what a store has
        // published (data/store/write.rs); that no other program does so is asked of the user, as by all who map files.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(file) }?;
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::WillNeed); // read ahead; where that is not done it is only slower
        Ok(Mapped(Arc::new(Map { map, passed: AtomicUsize::new(0) })))
    }

    /// Words from a place on; none where they are not in the file.
    #[cfg(feature = "readers")]
    pub(super) fn words(&self, place: usize, len: usize) -> Option<&[u64]> {
        bytemuck::try_cast_slice(self.bytes(place, len.checked_mul(8)?)?).ok()
    }

    /// Bytes from a place on; none where they are not in the file.
    #[cfg(feature = "readers")]
    pub(super) fn bytes(&self, place: usize, len: usize) -> Option<&[u8]> {
        self.0.map.get(place..place.checked_add(len)?)
    }

    /// `len` numbers from a place on.
    pub(crate) fn span<T: Pod>(&self, place: usize, len: usize) -> Span<T> {
        Span(Held::File { map: self.0.clone(), place, len })
    }
}

/// A run of numbers, in memory, in a scratch file or in a store.
#[derive(Clone)]
pub struct Span<T>(Held<T>);

#[derive(Clone)]
enum Held<T> {
    Memory(Vec<T>),
    File { map: Arc<Map>, place: usize, len: usize },
}

impl<T> Span<T> {
    /// Whether the numbers are in memory of their own, and there are any.
    pub(crate) fn in_memory(&self) -> bool {
        matches!(&self.0, Held::Memory(v) if !v.is_empty())
    }

    /// These numbers, and others beside them in the same file, were read, so many bytes in all.
    pub(crate) fn passed(&self, bytes: usize) {
        if let Held::File { map, .. } = &self.0 {
            map.passed(bytes);
        }
    }
}

impl<T: Pod> Span<T> {
    /// The numbers as a vector of their own; those of a file are copied into memory.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Held::File { .. } = self.0 {
            self.0 = Held::Memory(self.to_vec());
        }
        match &mut self.0 {
            Held::Memory(v) => v,
            Held::File { .. } => unreachable!("it was moved into memory"),
        }
    }
}

impl<T: Pod> Deref for Span<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Held::Memory(v) => v,
            Held::File { map, place, len } => bytemuck::cast_slice(&map.map[*place..*place + len * size_of::<T>()]),
        }
    }
}

impl<T> Default for Span<T> {
    fn default() -> Self {
        Span(Held::Memory(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Span<T> {
    fn from(v: Vec<T>) -> Self {
        Span(Held::Memory(v))
    }
}

impl<T> FromIterator<T> for Span<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Span(Held::Memory(values.into_iter().collect()))
    }
}

impl<'a, T: Pod> IntoIterator for &'a Span<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Pod + PartialEq> PartialEq for Span<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod + PartialEq, const N: usize> PartialEq<[T; N]> for Span<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: Pod + PartialEq> PartialEq<Vec<T>> for Span<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        **self == **other
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for Span<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spilled_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Scratch::new(dir.path()).open().unwrap();
        let a = spill.put(&[1.5f64, -2.5, 3.5]).unwrap();
        let none = spill.put::<f64>(&[]).unwrap();
        let b = spill.put(&[7u64; 20]).unwrap();
        let map = spill.finish().unwrap();
        assert_eq!((a, none, b), (0, 64, 64));
        let mut a: Span<f64> = map.span(a, 3);
        assert_eq!(a, [1.5, -2.5, 3.5]);
        assert_eq!(map.span::<u64>(b, 20), vec![7; 20]);
        assert!(map.span::<f64>(none, 0).is_empty());
        a.to_mut().push(4.0); // a copy; the file stays
        assert_eq!(a, [1.5, -2.5, 3.5, 4.0]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0); // it has no name
    }

    /// Giving pages back changes no number, also of a file that nobody can open again.
    #[test]
    fn pages_that_were_given_back_are_read_again() {
        let mut spill = Scratch::new(tempfile::tempdir().unwrap().path()).open().unwrap();
        let numbers: Vec<u64> = (0..100_000).collect();
        let place = spill.put(&numbers).unwrap();
        let map = spill.finish().unwrap();
        let span: Span<u64> = map.span(place, numbers.len());
        assert_eq!(span, numbers);
        map.0.give_back();
        assert_eq!(span, numbers);
        span.passed(2 * HELD); // a file this small is held
        assert_eq!(map.0.passed.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let e = Scratch::new("/nowhere/at/all").open().err().unwrap().to_string();
        assert!(e.contains("nowhere"), "{e}");
    }
}
