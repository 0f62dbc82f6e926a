//! From a store to a log: the columns that are asked for, where they lie.
//!
//! The rows of a store were checked when they were packed. Only a policy may still refuse some of them: those with a category it does
//! not know, or with a gap where it has seen none. They are then sifted into blocks of their own, as if they had just been read.

use super::super::block_builder::BlockBuilder;
use super::super::check::{Checker, Chunk, Context, Gaps, Levels, Values};
use super::super::gather::Gathered;
use super::super::input::{Input, MISSING, list};
use super::super::log::{Block, Dropped, Log};
use super::super::read::{ReadOptions, Roles};
use super::super::rows::Layout;
use super::super::split::Part;
use super::open::Store;
use super::state::Field;
use super::{ONES, ZEROS};
use crate::error::{Error, Hint, Remedy, Result};

/// The log of a store by these roles, which must be those it was packed with, or fewer.
pub(in super::super) fn log_of(store: &Store, roles: &Roles, options: &ReadOptions) -> Result<Log> {
    let place = |e: Error| store.blame(e);
    agree(&store.config()?.roles(), roles).map_err(place)?;
    let wanted = wanted(&store.state.contexts, roles, options).map_err(place)?;
    let (mut blocks, mut parts) = store.blocks(options)?;
    for block in &mut blocks {
        select(store, block, roles, &wanted);
    }
    if roles.split.is_none() {
        parts.clear();
    }
    let contexts: Vec<Context> = wanted.iter().map(|(_, c)| c.clone()).collect();
    let mut rows = Gathered {
        layout: Layout { contexts: contexts.clone(), ..Layout::of(roles, &[]) },
        contexts,
        blocks,
        parts,
        dropped: store.state.dropped.clone(),
        seen: store.state.seen,
        scratch: options.scratch.clone(),
        memory: options.memory,
    };
    let missing = store.state.missing()?;
    let fields: Vec<&Field> = wanted.iter().map(|(i, _)| &store.state.contexts[*i]).collect();
    let gaps = |c: usize| {
        let in_numbers = || rows.blocks.iter().any(|b| b.x[c].iter().any(|v| v.is_nan()));
        fields[c].has_gaps(missing) && (fields[c].levels.is_some() || in_numbers())
    };
    let refuses = |c: usize| match (&fields[c].levels, &rows.contexts[c]) {
        (_, Context { gaps: Gaps::Refused | Gaps::Unlearned, .. }) if gaps(c) => true,
        (Some(words), Context { levels: Some(known), .. }) if options.inputs.is_some() => {
            words.iter().any(|w| !known.words().contains(w))
        }
        _ => false,
    };
    match (0..fields.len()).any(refuses) {
        true => sift(&mut rows, &fields, options, &store.path.display().to_string())?,
        // the words by their numbers in the store, and those that only the policy knows
        false => rows.contexts.iter_mut().zip(&fields).for_each(|(context, field)| {
            let (Some(own), Some(known)) = (&field.levels, &context.levels) else { return };
            let more = known.words().iter().filter(|w| !own.contains(w));
            context.levels = Some(Levels::open(own.iter().chain(more).cloned().collect()));
        }),
    }
    rows.into_log().map_err(place)
}

/// Refuses roles that are not those of the store.
fn agree(held: &Roles, asked: &Roles) -> Result<()> {
    let weight = |r: &Roles| (r.weight.clone().filter(|_| r.count.is_none()), r.count.clone());
    let differ = [
        ("actions", asked.actions != held.actions),
        ("outcome", asked.outcome != held.outcome),
        ("propensity", asked.propensity.column().is_some() && asked.propensity != held.propensity),
        ("weights", weight(asked) != (None, None) && weight(asked) != weight(held)),
        ("clusters", asked.cluster.is_some() && asked.cluster != held.cluster),
        ("policy to be evaluated", asked.target.is_some() && asked.target != held.target),
        ("split", asked.split.is_some() && asked.split != held.split),
    ];
    match differ.iter().find(|(_, differs)| *differs) {
        Some((what, _)) => {
            Err(Error::data(format!("the log was packed with other columns: its {what} are not those asked for"))
                .hint("leave the columns out, for the store knows its own; or pack the log again with these"))
        }
        None => Ok(()),
    }
}

/// Where each context stands in the store, and how it is to be read.
fn wanted(held: &[Field], roles: &Roles, options: &ReadOptions) -> Result<Vec<(usize, Context)>> {
    let find = |name: &str| {
        held.iter().position(|f| f.name == name).ok_or_else(|| {
            let known: Vec<&str> = held.iter().map(|f| f.name.as_str()).collect();
            Error::data(format!("the log was packed without the context {name:?}"))
                .hint(format!("pack it again with it; the contexts are: {}", list(&known)))
        })
    };
    if let Some(inputs) = &options.inputs {
        return inputs
            .iter()
            .map(|input| Ok((of_policy(held, find(input.name())?, input)?, Context::of(input))))
            .collect();
    }
    for name in &options.categorical {
        if !roles.contexts.contains(name) {
            return Err(Error::data("it is named as categorical and is not a context").at(format!("column {name:?}")));
        }
        if held[find(name)?].levels.is_none() {
            return Err(Error::data("the log was packed with numbers in it")
                .at(format!("column {name:?}"))
                .hint(Hint::from("pack the log again with ") + Remedy::Categorical));
        }
    }
    let context = |name: &String| {
        let at = find(name)?;
        let levels = held[at].levels.clone().map(Levels::open);
        Ok((at, Context { levels, gaps: held[at].gaps(options.missing), ..Context::number(name) }))
    };
    roles.contexts.iter().map(context).collect()
}

/// The place of a context that a policy knows by an input.
fn of_policy(held: &[Field], at: usize, input: &Input) -> Result<usize> {
    let what = match (held[at].levels.is_some(), input.is_category()) {
        (true, false) => "it holds words, the policy learned from numbers",
        (false, true) => "it was packed as numbers, the policy learned from words",
        _ => return Ok(at),
    };
    let hint = Hint::from("pack the log as the one the policy learned from, with or without ") + Remedy::Categorical;
    Err(Error::data(what).at(format!("column {:?}", input.name())).hint(hint))
}

/// Leaves the columns that are asked for; nothing is copied.
fn select(store: &Store, block: &mut Block, roles: &Roles, wanted: &[(usize, Context)]) {
    let rows = block.rows();
    block.x = wanted.iter().map(|(i, _)| block.x[*i].clone()).collect();
    if roles.propensity.column().is_none() {
        block.log_p = store.map.span(ZEROS, rows);
    }
    if roles.weight.is_none() && roles.count.is_none() {
        block.omega = store.map.span(ONES, rows);
    }
    if roles.target.is_none() {
        block.target.clear();
    }
    if roles.cluster.is_none() {
        block.cluster.clear();
    }
}

/// Checks the contexts again, by a policy's encoding, and leaves out what it refuses, or says what that is.
fn sift(rows: &mut Gathered, fields: &[&Field], options: &ReadOptions, file: &str) -> Result<()> {
    let mut checker = Checker::new(rows.contexts.clone(), Vec::new(), options.drop_invalid);
    let mut builder = BlockBuilder::new(rows.layout.widths(), options.scratch.as_ref())?.within(options.memory);
    let (mut before, mut parts) = (0, Vec::<Part>::new());
    for mut block in std::mem::take(&mut rows.blocks) {
        let n = block.rows();
        let words = |words: &'_ [String], codes: &[f64]| -> Vec<Option<String>> {
            codes.iter().map(|c| words.get(*c as usize).filter(|w| *w != MISSING).cloned()).collect()
        };
        let told: Vec<Option<Vec<Option<String>>>> =
            fields.iter().zip(&block.x).map(|(f, x)| f.levels.as_ref().map(|l| words(l, x))).collect();
        let values = block.x.iter().zip(&told).map(|(x, told)| match told {
            Some(words) => Values::Words(words.iter().map(Option::as_deref).collect()),
            None => Values::Numbers(x),
        });
        let chunk = Chunk { rows: n, columns: values.collect(), file: Some(file), before, why: &|_, _| None };
        checker.check(&chunk)?;
        let mut x = block.x.clone();
        for (c, column) in x.iter_mut().enumerate().filter(|(c, _)| told[*c].is_some()) {
            let mut codes = vec![0.0; n];
            for i in (0..n).filter(|i| !checker.bad[*i]).collect::<Vec<_>>() {
                let mut one = Vec::with_capacity(1);
                checker.encode(&chunk, c, i..i + 1, &mut one)?;
                codes[i] = one[0];
            }
            *column = codes.into();
        }
        drop(chunk);
        block.x = x;
        for i in (0..n).filter(|i| !checker.bad[*i]) {
            builder.open()?.push(&block, i);
            parts.extend(rows.parts.get(before + i));
        }
        before += n;
    }
    rows.dropped = both(&rows.dropped, &checker.dropped());
    (rows.contexts, rows.blocks, rows.parts) = (checker.contexts, builder.finish()?, parts);
    Ok(())
}

/// Rows that were left out when the log was packed, and those left out now.
fn both(packed: &Dropped, now: &Dropped) -> Dropped {
    let mut columns = packed.columns.clone();
    for (name, n) in &now.columns {
        match columns.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += n,
            None => columns.push((name.clone(), *n)),
        }
    }
    Dropped { rows: packed.rows + now.rows, columns }
}
