//! A library without the feature `cloud`: remote names are refused, and the types have no values.

use super::super::open::Batch;
use crate::error::{Error, Result};
use std::convert::Infallible;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

fn refused() -> Error {
    Error::data("this build does not read object stores and web servers")
        .hint("the Python package and the binaries of a release do; from source, build with the cargo feature `cloud`")
}

pub(in super::super) fn list(_: &Path) -> Result<Vec<PathBuf>> {
    Err(refused())
}

pub(in super::super) struct Object(Infallible);

impl Object {
    pub(in super::super) fn open(_: &Path) -> Result<Self> {
        Err(refused())
    }

    pub(in super::super) fn size(&self) -> u64 {
        match self.0 {}
    }

    pub(in super::super) fn tag(&self) -> String {
        match self.0 {}
    }

    pub(in super::super) fn stream(self) -> Box<dyn Read + Send> {
        match self.0 {}
    }
}

impl Read for Object {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        match self.0 {}
    }
}

impl Seek for Object {
    fn seek(&mut self, _: SeekFrom) -> std::io::Result<u64> {
        match self.0 {}
    }
}

pub(in super::super) struct Parquet(Infallible);

impl Parquet {
    pub(in super::super) fn open(object: Object) -> Result<Self> {
        match object.0 {}
    }

    pub(in super::super) fn header(&self) -> Vec<String> {
        match self.0 {}
    }

    pub(in super::super) fn choose(
        self,
        _: Vec<usize>,
        _: &[&str],
    ) -> Result<Box<dyn Iterator<Item = Result<Batch>> + Send>> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_feature_says_how_to_get_it() {
        let e = Object::open(Path::new("s3://bucket/log.parquet")).err().unwrap().to_string();
        assert!(e.contains("cargo feature `cloud`"), "{e}");
    }
}
