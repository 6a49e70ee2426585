//! Numbers for the tests of all crates.

/// The splitmix64 generator: a failing case comes back with the same seed.
pub struct Seeded(pub u64);

impl Seeded {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A place in a list of this length; 0 if the list is empty.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length.max(1) as u64) as usize
    }

    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.index(items.len())]
    }

    /// At most so many of them, in an order of its own.
    pub fn some<T>(&mut self, mut all: Vec<T>, most: usize) -> Vec<T> {
        for index in 0..most.min(all.len()) {
            let other = index + self.index(all.len() - index);
            all.swap(index, other);
        }
        all.truncate(most);
        all
    }
}
