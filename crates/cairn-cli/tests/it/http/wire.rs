//! HTTP as bytes on a connection: what a test says is exactly what is sent. The tests inside the program use it too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the body is text")
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// Everything that was said, to look for what must not be in it.
    pub fn whole(&self) -> String {
        let head: Vec<String> = self.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!("{}\n\n{}", head.join("\n"), String::from_utf8_lossy(&self.body))
    }
}

/// A connection.
pub struct Wire {
    stream: BufReader<TcpStream>,
}

impl Wire {
    #[track_caller]
    pub fn open(addr: SocketAddr) -> Wire {
        Wire::try_open(addr).unwrap()
    }

    pub fn try_open(addr: SocketAddr) -> io::Result<Wire> {
        Wire::over(TcpStream::connect(addr)?)
    }

    pub fn over(stream: TcpStream) -> io::Result<Wire> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Wire { stream: BufReader::new(stream) })
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes.as_ref())
    }

    /// Sends a request, as it is usually written.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        self.send(written(method, path, headers, body))
    }

    /// The next answer, to anything but HEAD.
    pub fn answer(&mut self) -> io::Result<Answer> {
        self.answer_to("GET")
    }

    pub fn answer_to(&mut self, method: &str) -> io::Result<Answer> {
        let (status, headers) = self.head()?;
        let mut answer = Answer { status, headers, body: Vec::new() };
        if method == "HEAD" || status == 204 || status < 200 {
            return Ok(answer);
        }
        if answer.header("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            while let Some(chunk) = self.chunk()? {
                answer.body.extend(chunk);
            }
        } else if let Some(length) = answer.header("content-length") {
            answer.body = vec![0; length.parse().map_err(io::Error::other)?];
            self.stream.read_exact(&mut answer.body)?;
        } else {
            self.stream.read_to_end(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// Status and headers, where a stream follows.
    pub fn head(&mut self) -> io::Result<(u16, Vec<(String, String)>)> {
        let first = self.line()?;
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status: {first:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok((status, headers));
            }
            let (name, value) = line.split_once(':').ok_or_else(|| io::Error::other("no header"))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_string()));
        }
    }

    /// The next piece of a stream; none at its end.
    pub fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let size = usize::from_str_radix(&self.line()?, 16).map_err(io::Error::other)?;
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk)?;
        self.line()?;
        Ok((size > 0).then_some(chunk))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_string())
    }

    /// Waits until the server has closed, and returns what it said before.
    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        if let Err(error) = self.stream.read_to_end(&mut rest) {
            assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "the server does not close");
        }
        rest
    }
}

/// A request as bytes. `Host` is added unless it is given.
pub fn written(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        text.push_str("Host: localhost\r\n");
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "POST" {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let mut bytes = (text + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// One request on a connection of its own.
#[track_caller]
pub fn ask(addr: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut wire = Wire::open(addr);
    let mut headers = headers.to_vec();
    headers.push(("Connection", "close"));
    wire.request(method, path, &headers, body).unwrap();
    wire.answer_to(method).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
}

#[track_caller]
pub fn get(addr: SocketAddr, path: &str) -> Answer {
    ask(addr, "GET", path, &[], b"")
}
