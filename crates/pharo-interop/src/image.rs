//! The way to one image: where it is, what is sent, how many calls go at once.
//! What an answer means is decided in `answer`; how long a call may take, in `call`.

mod client;
mod gate;
mod url;
mod wire;

pub(crate) use client::{ANSWER_BYTES_MAX, RawAnswer};
pub(crate) use gate::Gate;
pub(crate) use url::ImageUrl;
pub(crate) use wire::{Encoding, WireRequest};

use crate::failure::Failure;

/// An image as the user named it.
#[derive(Debug)]
pub(crate) struct NamedImage {
    pub(crate) name: String,
    pub(crate) url: ImageUrl,
}

/// An image with its connections and its gate.
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) url: ImageUrl,
    pub(crate) gate: Gate,
    client: client::Client,
}

impl Image {
    pub(crate) fn new(named: NamedImage) -> Self {
        let NamedImage { name, url } = named;
        Self { name, url, gate: Gate::default(), client: client::Client::new() }
    }

    /// Sends one request and reads the whole answer.
    pub(crate) async fn ask(&self, request: &WireRequest) -> Result<RawAnswer, Failure> {
        self.client.ask(&self.url, request).await
    }
}
