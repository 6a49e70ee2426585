//! Whole pages: zeroed, swapped, repeated, put on the list of free pages.

use super::Change;
use crate::deceive::btree::Image;
use crate::deceive::seeded::Seeded;

pub(super) fn changes(image: &Image, amount: usize, random: &mut Seeded) -> Vec<Change> {
    let pages = image.pages();
    let mut changes = Vec::new();
    for page in 1..=pages {
        changes.push(Change::edit(format!("page {page}: zeroed"), move |image| {
            let range = image.page(page);
            image.bytes[range].fill(0);
            true
        }));
        let mut other = || 1 + random.index(pages);
        let (swapped, repeated) = (other(), other());
        changes.push(Change::edit(format!("page {page}: swapped with {swapped}"), move |image| {
            let (a, b) = (image.page(page), image.page(swapped));
            let (first, second) = (image.bytes[a.clone()].to_vec(), image.bytes[b.clone()].to_vec());
            image.bytes[a].copy_from_slice(&second);
            image.bytes[b].copy_from_slice(&first);
            true
        }));
        changes.push(Change::edit(format!("page {page}: replaced by {repeated}"), move |image| {
            let (a, b) = (image.page(page), image.page(repeated));
            image.bytes.copy_within(b, a.start);
            true
        }));
        changes.push(Change::edit(format!("page {page}: free as well"), move |image| {
            let trunk = u32::from_be_bytes(image.bytes[32..36].try_into().expect("four bytes")) as usize;
            if trunk == 0 {
                return false;
            }
            // Takes the place of the last free page that the first trunk page lists.
            let start = image.page(trunk).start;
            let count = u32::from_be_bytes(image.bytes[start + 4..start + 8].try_into().expect("four bytes"));
            let at = start + 8 + 4 * (count as usize - 1);
            image.bytes[at..at + 4].copy_from_slice(&(page as u32).to_be_bytes());
            true
        }));
    }
    random.some(changes, amount)
}
