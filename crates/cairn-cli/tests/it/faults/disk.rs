//! A disk as a power cut leaves it, made from what a program did with its files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// One thing that a program did, as `tests/faults/faults.c` writes it down.
#[derive(Debug)]
pub struct Step {
    pub name: String,
    pub path: PathBuf,
    other: PathBuf,
    place: u64,
    pub bytes: Vec<u8>,
}

impl Step {
    /// Whether it concerns a database, or what SQLite has beside it.
    pub fn is_of_database(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.to_string_lossy().contains(".db"))
    }
}

pub fn steps(trace: &Path) -> Vec<Step> {
    let trace = fs::read(trace).unwrap();
    let (mut rest, mut steps) = (&trace[..], Vec::new());
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        let words: Vec<&str> = line.split('\t').collect();
        let [name, path, other, place, length] = words[..] else { panic!("{line}") };
        rest = &rest[end + 1..];
        let (bytes, after) = rest.split_at(length.parse().unwrap());
        rest = after;
        steps.push(Step {
            name: name.to_string(),
            path: path.into(),
            other: other.into(),
            place: place.parse().unwrap_or(0),
            bytes: bytes.to_vec(),
        });
    }
    steps
}

#[derive(Clone, Copy)]
enum Node {
    Folder,
    File(usize),
}

/// What a file holds, and what of it lasts.
#[derive(Default)]
struct Content {
    now: Vec<u8>,
    lasting: Vec<u8>,
}

/// Names and bytes, each as the program sees them and as they last: bytes once their file was synced, names once their
/// folder was. That is all that POSIX promises.
#[derive(Default)]
pub struct Disk {
    now: BTreeMap<PathBuf, Node>,
    lasting: BTreeMap<PathBuf, Node>,
    files: Vec<Content>,
}

impl Disk {
    /// Everything below a folder, all of which lasts.
    pub fn of(folder: &Path) -> Disk {
        let mut disk = Disk::default();
        disk.take(folder);
        disk.lasting = disk.now.clone();
        disk
    }

    fn take(&mut self, folder: &Path) {
        self.now.insert(folder.to_path_buf(), Node::Folder);
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                self.take(&entry.path());
            } else {
                let bytes = fs::read(entry.path()).unwrap();
                self.now.insert(entry.path(), Node::File(self.files.len()));
                self.files.push(Content { now: bytes.clone(), lasting: bytes });
            }
        }
    }

    pub fn follow(&mut self, step: &Step) {
        match step.name.as_str() {
            "create" => {
                self.now.insert(step.path.clone(), Node::File(self.files.len()));
                self.files.push(Content::default());
            }
            "mkdir" => drop(self.now.insert(step.path.clone(), Node::Folder)),
            "write" => {
                let (start, end) = (step.place as usize, step.place as usize + step.bytes.len());
                if let Some(file) = self.file(&step.path) {
                    file.now.resize(file.now.len().max(end), 0);
                    file.now[start..end].copy_from_slice(&step.bytes);
                }
            }
            "truncate" => {
                if let Some(file) = self.file(&step.path) {
                    file.now.resize(step.place as usize, 0);
                }
            }
            "sync" => self.sync(&step.path),
            "link" => drop(self.now.insert(step.other.clone(), self.now[&step.path])),
            "rename" => {
                let node = self.now.remove(&step.path).unwrap();
                self.now.insert(step.other.clone(), node);
            }
            "unlink" => drop(self.now.remove(&step.path)),
            "answer" | "nothing" => {}
            other => panic!("{other}"),
        }
    }

    /// None if it has no name any more.
    fn file(&mut self, path: &Path) -> Option<&mut Content> {
        match self.now.get(path) {
            Some(Node::File(number)) => Some(&mut self.files[*number]),
            _ => None,
        }
    }

    fn sync(&mut self, path: &Path) {
        if let Some(file) = self.file(path) {
            file.lasting.clone_from(&file.now);
        } else {
            let is_in = |name: &Path| name.parent() == Some(path);
            self.lasting.retain(|name, _| !is_in(name));
            let names = self.now.iter().filter(|(name, _)| is_in(name));
            self.lasting.extend(names.map(|(name, node)| (name.clone(), *node)));
        }
    }

    /// What is there after a power cut: of what is in the folders of `cautious` only what lasts, and of the rest
    /// everything, as if the system had written it just in time.
    pub fn after_cut(&self, cautious: &[PathBuf]) -> Remains<'_> {
        let is_cautious = |name: &Path| cautious.iter().any(|folder| name.starts_with(folder));
        let mut remains = Remains::new();
        for (name, node) in self.lasting.iter().filter(|(name, _)| is_cautious(name)) {
            remains.insert(name, self.bytes(*node, |file| &file.lasting));
        }
        for (name, node) in self.now.iter().filter(|(name, _)| !is_cautious(name)) {
            remains.insert(name, self.bytes(*node, |file| &file.now));
        }
        remains
    }

    fn bytes(&self, node: Node, which: impl Fn(&Content) -> &Vec<u8>) -> Option<&[u8]> {
        match node {
            Node::Folder => None,
            Node::File(number) => Some(which(&self.files[number])),
        }
    }
}

/// The bytes of every file, and the names of folders.
pub type Remains<'d> = BTreeMap<&'d Path, Option<&'d [u8]>>;

/// Puts what remains in the place of a folder.
pub fn write(remains: &Remains<'_>, folder: &Path) {
    fs::remove_dir_all(folder).unwrap();
    for (name, bytes) in remains {
        // What is in a folder that does not last is gone with it.
        if *name != folder && !name.parent().unwrap().exists() {
            continue;
        }
        match bytes {
            None => fs::create_dir(name).unwrap(),
            Some(bytes) => fs::write(name, bytes).unwrap(),
        }
        // Modes are not written down; those of keys and heads must be private, and the others may be.
        let mode = if bytes.is_none() { 0o700 } else { 0o600 };
        fs::set_permissions(name, fs::Permissions::from_mode(mode)).unwrap();
    }
}
