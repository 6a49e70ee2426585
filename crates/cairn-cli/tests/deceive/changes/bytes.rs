//! Single bytes, the fields of the header, and the length of the file.

use super::{Amount, Change, Tree};
use crate::deceive::btree::Image;
use crate::deceive::seeded::Seeded;

pub(super) fn changes(image: &Image, trees: &[Tree], amount: Amount, random: &mut Seeded) -> Vec<Change> {
    let places = match amount.in_use {
        true => trees.iter().flat_map(|tree| image.used(tree.root)).collect(),
        false => std::iter::once(0..image.bytes.len()).collect::<Vec<_>>(),
    };
    let length: usize = places.iter().map(ExactSizeIterator::len).sum();
    let mut changes: Vec<Change> = (0..amount.bytes)
        .map(|_| {
            let mut at = random.index(length);
            let mut place = places.iter();
            let at = loop {
                let place = place.next().expect("a place in the file");
                match at.checked_sub(place.len()) {
                    Some(further) => at = further,
                    None => break place.start + at,
                }
            };
            // Half of them flip one bit, as a disk does.
            let flip = if random.index(2) == 0 { 1 << random.index(8) } else { 1 + random.index(255) as u8 };
            byte(at, flip)
        })
        .collect();
    for at in 0..100 {
        changes.extend([1, 0x80].map(|flip| byte(at, flip)));
    }
    changes.push(versions("rollback journal", 1));
    changes.push(versions("a version to come", 3));
    for less in [1, 100, image.page_size(), 5 * image.page_size(), image.bytes.len() / 2] {
        changes.push(Change::edit(format!("file: {less} bytes cut off"), move |image| {
            image.bytes.truncate(image.bytes.len() - less);
            true
        }));
    }
    for more in [1, image.page_size(), 3 * image.page_size() + 7] {
        changes.push(Change::edit(format!("file: {more} bytes added"), move |image| {
            image.bytes.resize(image.bytes.len() + more, 0xa5);
            true
        }));
    }
    changes
}

fn byte(at: usize, flip: u8) -> Change {
    Change::edit(format!("byte {at} ^ {flip:#04x}"), move |image| {
        image.bytes[at] ^= flip;
        true
    })
}

/// The versions of the format that are needed to write and to read.
fn versions(what: &str, version: u8) -> Change {
    Change::edit(format!("header: {what}"), move |image| {
        image.bytes[18..20].fill(version);
        true
    })
}
