//! A server on a free port of this machine that answers as it is told to, for good or for ill.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

pub enum Reply {
    Answer(u16, Vec<u8>),
    /// Bytes that are sent as they are.
    Raw(Vec<u8>),
    /// Nothing, for longer than anybody waits.
    Silence,
}

/// Serves as long as the test runs, and returns the address.
pub fn serve(reply: impl Fn(&str, &[u8]) -> Reply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let reply = std::sync::Arc::new(reply);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let reply = reply.clone();
            std::thread::spawn(move || answer(stream, &*reply));
        }
    });
    address
}

fn answer(stream: TcpStream, reply: &dyn Fn(&str, &[u8]) -> Reply) {
    let mut input = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    input.read_line(&mut first).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).unwrap();
    let path = first.split(' ').nth(1).unwrap_or_default();
    let mut output = stream;
    let _ = match reply(path, &body) {
        Reply::Answer(status, body) => {
            let head =
                format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            output.write_all(&[head.as_bytes(), &body].concat())
        }
        Reply::Raw(bytes) => output.write_all(&bytes),
        Reply::Silence => {
            std::thread::sleep(Duration::from_secs(600));
            Ok(())
        }
    };
}

/// An address on which nobody listens.
pub fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
