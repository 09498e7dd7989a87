//! Our ends of a program's streams: input written, output kept as a tail, nothing ever waited for without bound.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::io::Errno;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};
use tokio::net::unix::pipe;

use crate::capture::{Captured, Tail};
use crate::finished::Stream;

/// The largest piece that is read and shown at once; also the usual capacity of a pipe.
const CHUNK_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Streams {
    stdin: Option<pipe::Sender>,
    input: Vec<u8>,
    written_bytes: usize,
    stdout: Output,
    stderr: Output,
    chunk: Box<[u8]>,
}

#[derive(Debug)]
struct Output {
    stream: Stream,
    /// `None` once it has ended.
    pipe: Option<pipe::Receiver>,
    tail: Tail,
}

impl Streams {
    /// Registers the pipes with the runtime of the calling task.
    pub(super) fn new(
        stdin: Option<OwnedFd>,
        input: Vec<u8>,
        stdout: Option<OwnedFd>,
        stderr: Option<OwnedFd>,
        output_bytes_max: usize,
    ) -> io::Result<Self> {
        let output = |stream, fd: Option<OwnedFd>| -> io::Result<Output> {
            let pipe = fd.map(pipe::Receiver::from_owned_fd).transpose()?;
            Ok(Output { stream, pipe, tail: Tail::new(output_bytes_max) })
        };
        Ok(Self {
            stdin: stdin.filter(|_| !input.is_empty()).map(pipe::Sender::from_owned_fd).transpose()?,
            input,
            written_bytes: 0,
            stdout: output(Stream::Stdout, stdout)?,
            stderr: output(Stream::Stderr, stderr)?,
            chunk: vec![0; CHUNK_BYTES_MAX].into(),
        })
    }

    /// Moves at most one piece per stream. Pending forever once all streams have ended. Cancel-safe: what was read is kept.
    pub(super) async fn step(&mut self, observe: &mut impl FnMut(Stream, &[u8])) {
        std::future::poll_fn(|cx| self.poll_step(cx, observe)).await;
    }

    /// Reads until both outputs have ended.
    pub(super) async fn read_to_end(&mut self, observe: &mut impl FnMut(Stream, &[u8])) {
        while self.stdout.pipe.is_some() || self.stderr.pipe.is_some() {
            self.step(observe).await;
        }
    }

    /// Nobody is left to read the input.
    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Takes what the pipes hold, without waiting. All that was written by processes that have ended is in there.
    pub(super) fn read_rest(&mut self, observe: &mut impl FnMut(Stream, &[u8])) {
        self.stdout.read_rest(&mut self.chunk, observe);
        self.stderr.read_rest(&mut self.chunk, observe);
    }

    pub(super) fn finish(self) -> (Captured, Captured) {
        (self.stdout.finish(), self.stderr.finish())
    }

    fn poll_step(&mut self, cx: &mut Context<'_>, observe: &mut impl FnMut(Stream, &[u8])) -> Poll<()> {
        let written = self.poll_write(cx).is_ready();
        let out = self.stdout.poll_read(cx, &mut self.chunk, observe).is_ready();
        let err = self.stderr.poll_read(cx, &mut self.chunk, observe).is_ready();
        if written || out || err { Poll::Ready(()) } else { Poll::Pending }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stdin) = &mut self.stdin else {
            return Poll::Pending;
        };
        match std::task::ready!(Pin::new(stdin).poll_write(cx, &self.input[self.written_bytes..])) {
            Ok(count) if self.written_bytes + count < self.input.len() => self.written_bytes += count,
            // All is written, or the program does not want it (EPIPE), which is its right.
            Ok(_) | Err(_) => self.stdin = None,
        }
        Poll::Ready(())
    }
}

impl Output {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        chunk: &mut [u8],
        observe: &mut impl FnMut(Stream, &[u8]),
    ) -> Poll<()> {
        let Some(pipe) = &mut self.pipe else {
            return Poll::Pending;
        };
        let mut buffer = ReadBuf::new(chunk);
        let result = std::task::ready!(Pin::new(pipe).poll_read(cx, &mut buffer));
        match (result, buffer.filled()) {
            (Ok(()), []) | (Err(_), _) => self.pipe = None,
            (Ok(()), bytes) => self.keep(bytes, observe),
        }
        Poll::Ready(())
    }

    /// Reads past the runtime, whose notion of readiness may lag. A survivor that goes on writing is left behind after one pipe-full.
    fn read_rest(&mut self, chunk: &mut [u8], observe: &mut impl FnMut(Stream, &[u8])) {
        let Some(pipe) = self.pipe.take() else {
            return;
        };
        // One byte more than it holds, so as to see its end.
        let mut left = rustix::pipe::fcntl_getpipe_size(&pipe).unwrap_or(CHUNK_BYTES_MAX) + 1;
        while left > 0 {
            let wanted = left.min(chunk.len());
            match rustix::io::read(&pipe, &mut chunk[..wanted]) {
                Ok(0) => return,
                Ok(count) => {
                    self.keep(&chunk[..count], observe);
                    left -= count;
                }
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        self.pipe = Some(pipe);
    }

    fn keep(&mut self, bytes: &[u8], observe: &mut impl FnMut(Stream, &[u8])) {
        self.tail.push(bytes);
        observe(self.stream, bytes);
    }

    fn finish(self) -> Captured {
        self.tail.finish(self.pipe.is_some())
    }
}
