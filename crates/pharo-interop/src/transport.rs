//! Serving, over standard input and output or over HTTP, until the client leaves or a signal comes.

mod guard;
mod http;
mod sessions;
mod stdio;

use crate::{call::Desk, console::say, mcp::Server, settings::Settings};

/// Serves until the end. The error is a sentence for the user.
pub async fn serve(mut settings: Settings) -> Result<(), String> {
    for image in settings
        .images
        .iter()
        .filter(|image| !image.url.is_loopback())
    {
        say(&format!(
            "warning: image `{}` at {} is on another machine; the way there has neither encryption nor authentication",
            image.name, image.url
        ));
    }
    let listener = settings.listener.take();
    let server = Server::new(Desk::new(settings));
    match listener {
        Some(listener) => http::serve(server, listener).await,
        None => stdio::serve(server).await,
    }
}

/// Returns when the process is asked to stop.
async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _no_handler = tokio::signal::ctrl_c().await;
}
