//! Other programs, run with an end: bounded time, bounded output, nothing left behind.

use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::{Deadline, in_background};

/// How much of what a program complains about is read.
const MAX_COMPLAINT: u64 = 4096;

/// Runs a program with this input and returns its output, if it ends well and in time.
pub(super) fn run(
    command: &mut Command,
    input: &[u8],
    limit: u64,
    deadline: Deadline,
) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it has started ends with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn().map_err(|error| format!("cannot run `{name}`: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // A program that does not read its input may well be content without.
        in_background(move || drop(stdin.write_all(&input)));
    }
    let output = child.stdout.take().map(|pipe| beginning(pipe, limit));
    let complaint = child.stderr.take().map(|pipe| beginning(pipe, MAX_COMPLAINT));
    let Some(status) = wait(&mut child, deadline) else {
        end(&mut child);
        return Err(format!("`{name}` did not end in time"));
    };
    let rest = |from: Option<Receiver<Vec<u8>>>| {
        // A program that it has started, and that goes on, may hold the pipe.
        let patience = deadline.left().max(Duration::from_millis(200)).min(Duration::from_secs(2));
        from.and_then(|from| from.recv_timeout(patience).ok()).unwrap_or_default()
    };
    let output = rest(output);
    if !status.success() {
        let complaint = String::from_utf8_lossy(&rest(complaint)).trim().replace('\n', "; ");
        let why = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        return Err(format!("`{name}` failed ({status}){why}"));
    }
    if output.len() as u64 > limit {
        return Err(format!("`{name}` printed more than {limit} bytes"));
    }
    Ok(output)
}

/// Reads up to one byte more than `limit` in a thread, and throws the rest away.
fn beginning(mut pipe: impl Read + Send + 'static, limit: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    in_background(move || {
        let mut bytes = Vec::new();
        let _ = pipe.by_ref().take(limit + 1).read_to_end(&mut bytes);
        let _ = sender.send(bytes);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    });
    receiver
}

fn wait(child: &mut Child, deadline: Deadline) -> Option<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if deadline.is_over() {
            return None;
        }
        std::thread::sleep(pause.min(deadline.left()));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Longer than anything here takes that comes to an end.
    const LONG: Duration = Duration::from_secs(60);

    fn sh(script: &str, input: &[u8], patience: Duration) -> Result<String, String> {
        let output = run(Command::new("sh").args(["-c", script]), input, 100, Deadline::after(patience))?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[test]
    fn output_and_exit_code_tell() {
        assert_eq!(sh("cat", b"hello", LONG), Ok("hello".into()));
        assert_eq!(sh("true", &vec![b'x'; 1 << 20], LONG), Ok(String::new()));
        let failed = sh("echo why >&2; exit 3", b"", LONG).unwrap_err();
        assert!(failed.contains("exit status: 3") && failed.ends_with(": why"), "{failed}");
        assert!(sh("yes", b"", Duration::from_millis(200)).unwrap_err().contains("did not end in time"));
        assert!(sh("head -c 500 /dev/zero", b"", LONG).unwrap_err().contains("more than 100 bytes"));
        let missing = run(&mut Command::new("/no/such"), b"", 1, Deadline::after(LONG));
        assert!(missing.unwrap_err().starts_with("cannot run `/no/such`"));
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let started = folder.path().join("started");
        let script = format!("sleep 600 & echo $! > {}; sleep 600", started.display());
        // A busy machine may end the script before it has started anything.
        let id = [1, 4, 16, 64].into_iter().find_map(|seconds| {
            let ended = sh(&script, b"", Duration::from_secs(seconds)).unwrap_err();
            assert!(ended.contains("did not end in time"), "{ended}");
            std::fs::read_to_string(&started).ok().filter(|id| id.ends_with('\n'))
        });
        let id = id.expect("the script has started something");
        let lives = || Command::new("kill").args(["-0", id.trim()]).output().unwrap().status.success();
        let began = Instant::now();
        while lives() {
            assert!(began.elapsed() < LONG, "what it started lives on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
