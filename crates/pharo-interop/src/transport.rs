//! Serving, over standard input and output or over HTTP, until the client leaves or a signal comes.

mod guard;
mod http;
mod sessions;
mod stdio;
mod stop;

use self::stop::StopSignals;
use crate::{call::Desk, console::say, mcp::Server, settings::Settings};

/// Serves until the end. The error is a sentence for the user.
pub async fn serve(mut settings: Settings) -> Result<(), String> {
    for image in settings.images.iter().filter(|image| !image.url.is_loopback()) {
        say(&format!(
            "warning: image `{}` at {} is on another machine; the way there has neither encryption nor authentication",
            image.name, image.url
        ));
    }
    let listener = settings.listener.take();
    let server = Server::new(Desk::new(settings));
    let stop = StopSignals::listen()?;
    match listener {
        Some(listener) => http::serve(server, listener, stop).await,
        None => stdio::serve(server, stop).await,
    }
}
