//! A server that says what is live in it: `cargo run --release --example server -- 127.0.0.1:8080`, then
//!
//! ```text
//! go tool pprof -top http://127.0.0.1:8080/debug/pprof/heap               what is in use
//! go tool pprof -top http://127.0.0.1:8080/debug/pprof/allocs             what was allocated
//! go tool pprof -top http://127.0.0.1:8080/debug/pprof/heap?seconds=10    what has grown meanwhile
//! ```
//!
//! Its work is `/remember/BYTES`, which keeps the last thousand answers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use lifetrace::{Error, Recording, Snapshot};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

#[global_allocator]
static ALLOC: lifetrace::Alloc = lifetrace::Alloc::system();

const REMEMBERED: usize = 1000;
const LONGEST_WINDOW: Duration = Duration::from_secs(300);

type Memory = Arc<Mutex<VecDeque<Vec<u8>>>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _session = Recording::live().start()?;
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}/debug/pprof/heap", listener.local_addr()?);
    Ok(axum::serve(listener, app()).await?)
}

fn app() -> Router {
    Router::new()
        .route("/remember/{bytes}", get(remember))
        .route("/debug/pprof/heap", get(heap))
        .route("/debug/pprof/allocs", get(allocs))
        .with_state(Memory::default())
}

async fn remember(State(memory): State<Memory>, Path(bytes): Path<u16>) -> String {
    let answer = vec![b'x'; bytes.into()];
    let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
    memory.push_back(answer);
    if memory.len() > REMEMBERED {
        memory.pop_front();
    }
    format!("{} answers are remembered\n", memory.len())
}

/// The `seconds` of a request, if it has any.
#[derive(serde::Deserialize)]
struct Window {
    seconds: Option<u64>,
}

async fn heap(Query(window): Query<Window>) -> Response {
    answer(window, Snapshot::to_pprof).await
}

async fn allocs(Query(window): Query<Window>) -> Response {
    answer(window, Snapshot::to_pprof_allocs).await
}

async fn answer(window: Window, encode: fn(&Snapshot) -> Result<Vec<u8>, Error>) -> Response {
    let Some(snapshot) = look(window).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, Error::NoSession.to_string()).into_response();
    };
    // Packing takes milliseconds: not on a thread that others wait for.
    match spawn_blocking(move || encode(&snapshot)).await {
        Ok(Ok(bytes)) => {
            ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
        }
        Ok(Err(error)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// What is live now, or what happened within the window.
async fn look(window: Window) -> Option<Snapshot> {
    let now = lifetrace::snapshot()?;
    let Some(seconds) = window.seconds else { return Some(now) };
    sleep(Duration::from_secs(seconds).min(LONGEST_WINDOW)).await;
    lifetrace::snapshot()?.since(&now)
}

#[cfg(test)]
#[allow(dead_code, reason = "shared with tests that look at more")]
#[path = "../tests/support/profile.rs"]
mod profile;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::Instant;

    use super::*;
    use profile::Profile;

    const CLIENTS: usize = 4;
    const BYTES: i64 = 10_000;

    /// Status and body.
    fn get(server: SocketAddr, path: &str) -> (String, Vec<u8>) {
        let mut connection = TcpStream::connect(server).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|it| it == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        (head.lines().next().unwrap().to_owned(), answer[end + 4..].to_vec())
    }

    fn fetch(server: SocketAddr, path: &str) -> Profile {
        let (status, body) = get(server, path);
        assert_eq!(status, "HTTP/1.1 200 OK", "{}", String::from_utf8_lossy(&body));
        Profile::decode(&body)
    }

    #[test]
    fn profiles_are_served_under_load() {
        let session = Recording::live().interval(16 << 10).seed(1).start().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let server = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, app()).await });
        let (is_over, served) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        assert_eq!(get(server, &format!("/remember/{BYTES}")).0, "HTTP/1.1 200 OK");
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            while served.load(Ordering::Relaxed) < 2 * REMEMBERED as u64 {
                std::thread::yield_now();
            }
            let look = scope.spawn(|| check(server));
            let result = look.join();
            is_over.store(true, Ordering::Relaxed);
            result.unwrap();
        });
        assert_eq!(session.snapshot().unwrap().lost(), 0);
        session.stop().unwrap();
        assert_eq!(get(server, "/debug/pprof/heap").0, "HTTP/1.1 503 Service Unavailable");
    }

    fn check(server: SocketAddr) {
        let held = REMEMBERED as i64 * BYTES;
        let deadline = Instant::now() + Duration::from_secs(60);
        let (heap, live) = loop {
            let heap = fetch(server, "/debug/pprof/heap");
            let live = heap.sum("inuse_space", "server::remember");
            // Some 600 samples: a fifth is five standard deviations. The recorder may be behind at first.
            assert!(live < held * 6 / 5, "{live} bytes of {held}");
            if live > held * 4 / 5 {
                break (heap, live);
            }
            assert!(Instant::now() < deadline, "{live} bytes of {held}");
        };
        assert_eq!((&*heap.shown_first, heap.duration_nanos), ("inuse_space", 0));
        let grown = fetch(server, "/debug/pprof/heap?seconds=1");
        assert!(grown.duration_nanos >= 1_000_000_000);
        assert!(grown.sum("alloc_objects", "server::remember") > 0, "it served meanwhile");
        let change = grown.sum("inuse_space", "server::remember").abs();
        assert!(change < held / 2, "{change} bytes more or less: no more are remembered");
        let allocs = fetch(server, "/debug/pprof/allocs");
        assert_eq!(allocs.shown_first, "alloc_space");
        assert!(allocs.sum("alloc_space", "server::remember") > live);
    }
}
