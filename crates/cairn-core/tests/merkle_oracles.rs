use std::collections::HashMap;

use cairn_core::hash::Sha;
use cairn_core::log::{
    self, Edge, NodeSource, ProofError, consistency, inclusion, leaf_hash, node_hash, verify_consistency,
    verify_inclusion,
};
use ct_merkle::mem_backed_tree::MemoryBackedTree;
use ct_merkle::{ConsistencyProof, InclusionProof, RootHash};
use sha2::Sha256;
use tlog_tiles::{Hash, HashReader};

use crate::seeded::Seeded;

/// One log, grown by us and by the two others.
struct Logs {
    leaves: Vec<Vec<u8>>,
    edge: Edge,
    nodes: Nodes,
    roots: Vec<Sha>,
    tlog: Stored,
    ct: MemoryBackedTree<Sha256, Vec<u8>>,
}

struct Nodes(HashMap<(u8, u64), Sha>);

impl NodeSource for Nodes {
    type Error = String;

    fn node(&mut self, level: u8, index: u64) -> Result<Sha, String> {
        self.0.get(&(level, index)).copied().ok_or_else(|| format!("no node {level}/{index}"))
    }
}

struct Stored(Vec<Hash>);

impl HashReader for Stored {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<Hash>, tlog_tiles::Error> {
        Ok(indexes.iter().map(|&index| self.0[index as usize]).collect())
    }
}

impl Logs {
    fn new() -> Logs {
        let nodes = Nodes(HashMap::new());
        let roots = vec![log::empty_root()];
        let (tlog, ct) = (Stored(Vec::new()), MemoryBackedTree::new());
        Logs { leaves: Vec::new(), edge: Edge::empty(), nodes, roots, tlog, ct }
    }

    fn of_size(size: u64) -> Logs {
        let mut logs = Logs::new();
        (0..size).for_each(|index| logs.push(format!("leaf {index}").into_bytes()));
        logs
    }

    fn push(&mut self, leaf: Vec<u8>) {
        let index = self.edge.size();
        let nodes = &mut self.nodes.0;
        nodes.insert((0, index), leaf_hash(&leaf));
        self.edge.push(leaf_hash(&leaf), &mut |node| {
            assert_eq!(nodes.insert((node.level, node.index), node.hash), None, "each node is reported once");
        });
        self.roots.push(self.edge.root());
        self.tlog.0.extend(tlog_tiles::stored_hashes(index, &leaf, &self.tlog).unwrap());
        self.ct.push(leaf.clone());
        self.leaves.push(leaf);
    }

    fn root(&self, size: u64) -> Sha {
        self.roots[size as usize]
    }

    fn leaf(&self, index: u64) -> Sha {
        leaf_hash(&self.leaves[index as usize])
    }

    fn roots_agree(&mut self) {
        let size = self.edge.size();
        let root = self.root(size);
        assert_eq!(log::root(size, &mut self.nodes), Ok(root));
        assert_eq!(tlog_tiles::tree_hash(size, &self.tlog).unwrap().0, root.0);
        assert_eq!(self.ct.root().as_bytes().as_slice(), root.0);
    }

    /// Our proof is theirs, and each of the three verifiers accepts it.
    fn inclusion_agrees(&mut self, index: u64, size: u64) -> Vec<Sha> {
        let root = self.root(size);
        let proof = inclusion(index, size, &mut self.nodes).unwrap();
        let theirs = tlog_tiles::prove_record(size, index, &self.tlog).unwrap();
        assert_eq!(proof, ours(&theirs));
        assert!(verify_inclusion(&self.leaf(index), index, size, &ours(&theirs), &root));
        assert!(tlog_accepts_leaf(&self.leaf(index), index, size, &proof, &root));
        let ct_proof = InclusionProof::from_bytes(bytes(&proof));
        ct_root(&root, size).verify_inclusion(&self.leaves[index as usize], index, &ct_proof).unwrap();
        proof
    }

    fn consistency_agrees(&mut self, old: u64, new: u64) -> Vec<Sha> {
        let (old_root, new_root) = (self.root(old), self.root(new));
        let proof = consistency(old, new, &mut self.nodes).unwrap();
        let theirs = tlog_tiles::prove_tree(new, old, &self.tlog).unwrap();
        assert_eq!(proof, ours(&theirs));
        assert!(verify_consistency(old, new, &old_root, &new_root, &ours(&theirs)));
        assert!(tlog_accepts_growth(old, new, &old_root, &new_root, &proof));
        let ct_proof = ConsistencyProof::try_from_bytes(bytes(&proof)).unwrap();
        ct_root(&new_root, new).verify_consistency(&ct_root(&old_root, old), &ct_proof).unwrap();
        proof
    }
}

fn ours(hashes: &[Hash]) -> Vec<Sha> {
    hashes.iter().map(|hash| Sha(hash.0)).collect()
}

fn theirs(hashes: &[Sha]) -> Vec<Hash> {
    hashes.iter().map(|hash| Hash(hash.0)).collect()
}

fn bytes(hashes: &[Sha]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

fn ct_root(root: &Sha, size: u64) -> RootHash<Sha256> {
    RootHash::new(root.0.into(), size)
}

fn tlog_accepts_leaf(leaf: &Sha, index: u64, size: u64, proof: &[Sha], root: &Sha) -> bool {
    tlog_tiles::check_record(&theirs(proof), size, Hash(root.0), index, Hash(leaf.0)).is_ok()
}

fn tlog_accepts_growth(old: u64, new: u64, old_root: &Sha, new_root: &Sha, proof: &[Sha]) -> bool {
    tlog_tiles::check_tree(&theirs(proof), new, Hash(new_root.0), old, Hash(old_root.0)).is_ok()
}

/// Every proof that differs from `proof` by one flipped bit, one hash less or more, or two neighbours swapped.
fn mutations(proof: &[Sha], extra: Sha) -> Vec<Vec<Sha>> {
    let mut all = Vec::new();
    for place in 0..proof.len() {
        let mut flipped = proof.to_vec();
        flipped[place].0[place % 32] ^= 1 << (place % 8);
        let mut dropped = proof.to_vec();
        dropped.remove(place);
        all.extend([flipped, dropped]);
        if place > 0 {
            let mut swapped = proof.to_vec();
            swapped.swap(place - 1, place);
            all.push(swapped);
        }
    }
    for place in 0..=proof.len() {
        for hash in [extra, Sha::ZERO, *proof.get(place).unwrap_or(&extra)] {
            let mut longer = proof.to_vec();
            longer.insert(place, hash);
            all.push(longer);
        }
    }
    all
}

#[test]
fn the_published_vectors_of_certificate_transparency_come_out() {
    let leaves: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let roots = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut logs = Logs::new();
    for (leaf, root) in leaves.iter().zip(roots) {
        logs.push(leaf.to_vec());
        assert_eq!(logs.edge.root().to_string(), root);
    }
    let proof: Vec<String> = logs.inclusion_agrees(5, 8).iter().map(Sha::to_string).collect();
    let published = [
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ];
    assert_eq!(proof, published);
}

#[test]
fn every_proof_up_to_130_leaves_agrees() {
    let mut logs = Logs::new();
    for size in 1..=130 {
        logs.push(format!("leaf {}", size - 1).into_bytes());
        logs.roots_agree();
        for index in 0..size {
            let proof = logs.inclusion_agrees(index, size);
            assert_eq!(logs.ct.prove_inclusion(index as usize).as_bytes(), bytes(&proof));
        }
        for old in 1..=size {
            let proof = logs.consistency_agrees(old, size);
            assert_eq!(logs.ct.prove_consistency((size - old) as usize).as_bytes(), bytes(&proof));
        }
    }
}

#[test]
fn random_proofs_up_to_5000_leaves_agree() {
    let mut logs = Logs::new();
    for index in 0..5_000u64 {
        logs.push(index.to_be_bytes().to_vec());
        if index % 37 == 0 || (index + 1).is_power_of_two() {
            logs.roots_agree();
        }
    }
    let mut random = Seeded(5);
    for _ in 0..1_500 {
        let size = 1 + random.below(5_000);
        logs.inclusion_agrees(random.below(size), size);
        logs.consistency_agrees(1 + random.below(size), size);
    }
}

#[test]
fn a_changed_inclusion_proof_is_refused() {
    let mut logs = Logs::of_size(40);
    let mut sizes: Vec<u64> = (1..=36).collect();
    sizes.push(40);
    for size in sizes {
        let root = logs.root(size);
        for index in 0..size {
            let leaf = logs.leaf(index);
            let proof = logs.inclusion_agrees(index, size);
            for changed in mutations(&proof, leaf) {
                assert!(!verify_inclusion(&leaf, index, size, &changed, &root));
                assert!(!tlog_accepts_leaf(&leaf, index, size, &changed, &root));
            }
            for other in (0..=size).filter(|&other| other != index) {
                assert!(!verify_inclusion(&leaf, other, size, &proof, &root));
            }
            assert!(!verify_inclusion(&Sha::ZERO, index, size, &proof, &root));
            for other in (0..=40).filter(|&other| other != size) {
                assert!(!verify_inclusion(&leaf, index, other, &proof, &logs.root(other)));
                // With the root kept, some sizes share the way to the root: nobody can tell them apart.
                assert_eq!(
                    verify_inclusion(&leaf, index, other, &proof, &root),
                    tlog_accepts_leaf(&leaf, index, other, &proof, &root)
                );
            }
        }
    }
}

#[test]
fn a_changed_consistency_proof_is_refused() {
    let mut logs = Logs::of_size(40);
    for new in 1..=34 {
        for old in 1..=new {
            let (old_root, new_root) = (logs.root(old), logs.root(new));
            let proof = logs.consistency_agrees(old, new);
            for changed in mutations(&proof, old_root) {
                assert!(!verify_consistency(old, new, &old_root, &new_root, &changed));
                assert!(!tlog_accepts_growth(old, new, &old_root, &new_root, &changed));
            }
            for other in (0..=40).filter(|&other| other != old) {
                assert!(!verify_consistency(old, new, &logs.root(other), &new_root, &proof));
                sizes_agree(other, new, &old_root, &new_root, &proof);
            }
            for other in (0..=40).filter(|&other| other != new) {
                assert!(!verify_consistency(old, new, &old_root, &logs.root(other), &proof));
                sizes_agree(old, other, &old_root, &new_root, &proof);
            }
        }
    }
}

/// With the roots kept, a proof may fit other sizes too; then the other verifier says so as well.
fn sizes_agree(old: u64, new: u64, old_root: &Sha, new_root: &Sha, proof: &[Sha]) {
    let ours = verify_consistency(old, new, old_root, new_root, proof);
    assert_eq!(ours, tlog_accepts_growth(old, new, old_root, new_root, proof));
}

#[test]
fn the_empty_log_grows_into_every_log() {
    let mut logs = Logs::of_size(9);
    let empty = logs.root(0);
    for new in 0..=9 {
        let root = logs.root(new);
        assert_eq!(consistency(0, new, &mut logs.nodes), Ok(vec![]));
        assert!(verify_consistency(0, new, &empty, &root, &[]));
        assert!(!verify_consistency(0, new, &empty, &root, &[root]));
        assert!(!verify_consistency(0, new, &Sha::ZERO, &root, &[]));
    }
    assert!(!verify_consistency(0, 0, &empty, &logs.root(1), &[]));
    assert!(!verify_consistency(0, 0, &Sha::ZERO, &Sha::ZERO, &[]));
}

#[test]
fn what_cannot_be_proved_is_an_error() {
    let mut logs = Logs::of_size(5);
    let nodes = &mut logs.nodes;
    for (index, size) in [(0, 0), (5, 5), (u64::MAX, 5), (u64::MAX, u64::MAX)] {
        assert_eq!(inclusion(index, size, nodes), Err(ProofError::NoSuchLeaf { index, size }));
    }
    for (old, new) in [(1, 0), (6, 5), (u64::MAX, 1 << 63)] {
        assert_eq!(consistency(old, new, nodes), Err(ProofError::Shrinks { old, new }));
    }
    assert_eq!(inclusion(0, 8, nodes), Err(ProofError::Source("no node 2/1".to_string())));
    assert_eq!(consistency(4, 8, nodes), Err(ProofError::Source("no node 2/1".to_string())));
    assert_eq!(log::root(u64::MAX, nodes), Err("no node 0/18446744073709551614".to_string()));
}

const HOSTILE_SIZES: [u64; 13] = [
    0,
    1,
    2,
    3,
    7,
    1 << 32,
    (1 << 53) - 1,
    1 << 53,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];

#[test]
fn hostile_sizes_and_proofs_are_refused_without_a_panic() {
    let (one, other) = (Sha::of(b"one"), Sha::of(b"other"));
    let proof = vec![Sha::of(b"hash"); 200];
    for a in HOSTILE_SIZES {
        for b in HOSTILE_SIZES {
            for length in (0..=70).chain([100, 127, 128, 129, 199, 200]) {
                assert!(!verify_inclusion(&one, a, b, &proof[..length], &other));
                assert!(!verify_consistency(a, b, &one, &other, &proof[..length]));
            }
        }
    }
}

#[test]
fn proofs_in_logs_of_any_size_verify() {
    // All leaves equal: then a node depends on its level only, and a log of 2^64 - 1 leaves fits in memory.
    let mut levels = vec![leaf_hash(b"same")];
    for level in 0..64 {
        levels.push(node_hash(&levels[level], &levels[level]));
    }
    let mut source = |level: u8, index: u64| -> Result<Sha, std::convert::Infallible> {
        assert!(u128::from(index + 1) << level <= u128::from(u64::MAX), "node {level}/{index} is complete");
        Ok(levels[usize::from(level)])
    };
    for size in HOSTILE_SIZES {
        let root = log::root(size, &mut source).unwrap();
        for other in HOSTILE_SIZES {
            if other < size {
                let proof = inclusion(other, size, &mut source).unwrap();
                assert!(verify_inclusion(&levels[0], other, size, &proof, &root));
            }
            if other <= size {
                let proof = consistency(other, size, &mut source).unwrap();
                let old_root = log::root(other, &mut source).unwrap();
                assert!(verify_consistency(other, size, &old_root, &root, &proof));
            }
        }
    }
}
