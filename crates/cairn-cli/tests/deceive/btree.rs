//! The pages of an SQLite file, as <https://sqlite.org/fileformat2.html> describes them: enough to change keys in place
//! and leave every page well formed.

use std::ops::Range;

/// A database file in memory.
pub(super) struct Image {
    pub(super) bytes: Vec<u8>,
    page_size: usize,
}

/// One of the four kinds of b-tree pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    InteriorIndex,
    InteriorTable,
    LeafIndex,
    LeafTable,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        Some(match byte {
            2 => Kind::InteriorIndex,
            5 => Kind::InteriorTable,
            10 => Kind::LeafIndex,
            13 => Kind::LeafTable,
            _ => return None,
        })
    }

    fn is_interior(self) -> bool {
        matches!(self, Kind::InteriorIndex | Kind::InteriorTable)
    }
}

/// A column of a record: its type, and where its bytes are in the cell.
pub(super) struct Column {
    pub(super) serial: u64,
    pub(super) place: Range<usize>,
}

impl Image {
    pub(super) fn new(bytes: Vec<u8>) -> Image {
        let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
            1 => 65_536,
            size => size.into(),
        };
        assert_eq!(bytes[20], 0, "no bytes are reserved at the end of a page");
        Image { bytes, page_size }
    }

    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }

    /// How many pages the file has.
    pub(super) fn pages(&self) -> usize {
        self.bytes.len() / self.page_size
    }

    /// The bytes of a page; the first is page 1.
    pub(super) fn page(&self, number: usize) -> Range<usize> {
        (number - 1) * self.page_size..number * self.page_size
    }

    /// Where the b-tree header of a page is.
    fn header(&self, number: usize) -> usize {
        self.page(number).start + if number == 1 { 100 } else { 0 }
    }

    fn two(&self, at: usize) -> usize {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]).into()
    }

    fn four(&self, at: usize) -> usize {
        u32::from_be_bytes(self.bytes[at..at + 4].try_into().expect("four bytes")) as usize
    }

    pub(super) fn kind(&self, page: usize) -> Kind {
        Kind::of(self.bytes[self.header(page)]).expect("a page of a b-tree")
    }

    /// The cells of a page, in their order.
    pub(super) fn cells(&self, page: usize) -> Vec<Vec<u8>> {
        let (header, start, kind) = (self.header(page), self.page(page).start, self.kind(page));
        let pointers = header + if kind.is_interior() { 12 } else { 8 };
        (0..self.two(header + 3))
            .map(|index| {
                let cell = start + self.two(pointers + 2 * index);
                let length = self.cell_length(kind, &self.bytes[cell..]);
                self.bytes[cell..cell + length].to_vec()
            })
            .collect()
    }

    /// Puts these cells on a page instead of those it has, without gaps. Says whether they fit.
    pub(super) fn set_cells(&mut self, page: usize, cells: &[Vec<u8>]) -> bool {
        let (header, range, kind) = (self.header(page), self.page(page), self.kind(page));
        let pointers = header + if kind.is_interior() { 12 } else { 8 };
        let length: usize = cells.iter().map(|cell| cell.len().max(4)).sum();
        if pointers + 2 * cells.len() + length > range.end {
            return false;
        }
        let mut end = range.end;
        self.bytes[header + 1..header + 3].fill(0);
        self.bytes[header + 3..header + 5].copy_from_slice(&(cells.len() as u16).to_be_bytes());
        self.bytes[header + 7] = 0;
        self.bytes[pointers..range.end].fill(0);
        for (index, cell) in cells.iter().enumerate() {
            end -= cell.len().max(4);
            self.bytes[end..end + cell.len()].copy_from_slice(cell);
            let pointer = ((end - range.start) as u16).to_be_bytes();
            self.bytes[pointers + 2 * index..pointers + 2 * index + 2].copy_from_slice(&pointer);
        }
        let content = ((end - range.start) as u16).to_be_bytes();
        self.bytes[header + 5..header + 7].copy_from_slice(&content);
        true
    }

    /// Every page of the b-tree with this root.
    pub(super) fn tree(&self, root: usize) -> Vec<usize> {
        let mut pages = vec![root];
        let mut next = 0;
        while let Some(&page) = pages.get(next) {
            if self.kind(page).is_interior() {
                pages.extend(self.cells(page).iter().map(|cell| {
                    u32::from_be_bytes(cell[..4].try_into().expect("an interior cell has a child")) as usize
                }));
                pages.push(self.four(self.header(page) + 8));
            }
            next += 1;
        }
        pages
    }

    /// The bytes of a b-tree that somebody may read: all but the gaps in its pages. Overflow pages are not among them.
    pub(super) fn used(&self, root: usize) -> Vec<Range<usize>> {
        let used = |page: usize| {
            let (header, range) = (self.header(page), self.page(page));
            let pointers = header + if self.kind(page).is_interior() { 12 } else { 8 };
            let content = match self.two(header + 5) {
                0 => 65_536,
                start => start,
            };
            [range.start..pointers + 2 * self.two(header + 3), range.start + content..range.end]
        };
        self.tree(root).into_iter().flat_map(used).collect()
    }

    fn cell_length(&self, kind: Kind, cell: &[u8]) -> usize {
        let child = if kind.is_interior() { 4 } else { 0 };
        let (first, first_length) = varint(&cell[child..]);
        match kind {
            Kind::InteriorTable => child + first_length,
            Kind::LeafTable => {
                let (_, rowid_length) = varint(&cell[first_length..]);
                first_length + rowid_length + self.kept_here(kind, first)
            }
            Kind::InteriorIndex | Kind::LeafIndex => child + first_length + self.kept_here(kind, first),
        }
    }

    /// How many bytes of a payload the cell itself has, with the number of the first overflow page.
    fn kept_here(&self, kind: Kind, payload: u64) -> usize {
        let (usable, payload) = (self.page_size, payload as usize);
        let most = if kind == Kind::LeafTable { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if payload <= most {
            return payload;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let kept = least + (payload - least) % (usable - 4);
        4 + if kept <= most { kept } else { least }
    }

    /// Where the row id of a cell of a table's leaf is.
    pub(super) fn rowid(&self, cell: &[u8]) -> Range<usize> {
        let (_, start) = varint(cell);
        start..start + varint(&cell[start..]).1
    }

    /// The columns of a cell that is whole on its page; none of a cell that has no record.
    pub(super) fn columns(&self, kind: Kind, cell: &[u8]) -> Option<Vec<Column>> {
        let mut at = if kind.is_interior() { 4 } else { 0 };
        let (payload, length) = varint(&cell[at..]);
        at += length;
        match kind {
            Kind::InteriorTable => return None,
            Kind::LeafTable => at += varint(&cell[at..]).1,
            Kind::InteriorIndex | Kind::LeafIndex => {}
        }
        if self.kept_here(kind, payload) != payload as usize {
            return None;
        }
        let (header, length) = varint(&cell[at..]);
        let (mut types, mut data) = (at + length, at + header as usize);
        let mut columns = Vec::new();
        while types < at + header as usize {
            let (serial, length) = varint(&cell[types..]);
            types += length;
            let bytes = serial_length(serial);
            columns.push(Column { serial, place: data..data + bytes });
            data += bytes;
        }
        Some(columns)
    }
}

fn serial_length(serial: u64) -> usize {
    match serial {
        0 | 8 | 9 => 0,
        1..=4 => serial as usize,
        5 => 6,
        6 | 7 => 8,
        _ => (serial as usize - 12) / 2,
    }
}

/// A number of SQLite's variable length, and how long it is.
fn varint(bytes: &[u8]) -> (u64, usize) {
    let mut value = 0;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        if index == 8 {
            return (value << 8 | u64::from(*byte), 9);
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return (value, index + 1);
        }
    }
    panic!("a number that does not end")
}
