//! Reading a registry's API (`/v0.1/servers`), page by page. Bounded in everything; redirects are not followed.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode, Uri};
use portcullis_catalogue::index::import::registry_page;
use portcullis_catalogue::index::{ServerEntry, Skipped};

use crate::introspect::{HttpClient, address, cause, client};

/// How long one page may take.
const PAGE_WAIT: Duration = Duration::from_secs(30);
/// Bytes of one page.
const PAGE_BYTES_MAX: usize = 16 << 20;
/// Pages of one registry.
const PAGES_MAX: usize = 2_000;
/// Servers that are asked for at once; registries give no more.
const PAGE_SERVERS: usize = 100;
/// Where the list is, below a registry's address.
const PATH: &str = "/v0.1/servers";

/// What a registry told.
#[derive(Default)]
pub(super) struct Registry {
    pub(super) servers: Vec<ServerEntry>,
    pub(super) skipped: Vec<Skipped>,
    /// The host, for the record.
    pub(super) host: String,
}

/// Reads the whole list. Not to be called from async code.
pub(super) fn read(url: &str, progress: &mut dyn FnMut(&str)) -> Result<Registry, String> {
    let address = address(url)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("the system gives no threads: {error}"))?;
    runtime.block_on(pages(&client()?, &address, progress))
}

async fn pages(
    client: &HttpClient,
    address: &Uri,
    progress: &mut dyn FnMut(&str),
) -> Result<Registry, String> {
    let host = address.host().unwrap_or_default().to_owned();
    let mut registry = Registry { host, ..Registry::default() };
    let mut cursor: Option<String> = None;
    for page in 1..=PAGES_MAX {
        progress(&format!("reading the registry: page {page}, {} servers so far", registry.servers.len()));
        let text = get(client, &page_address(address, cursor.as_deref())?).await?;
        let found =
            registry_page(&text).map_err(|fault| format!("the registry's answer: {}", fault.reason))?;
        registry.servers.extend(found.servers);
        registry.skipped.extend(found.skipped);
        match found.next_cursor {
            None => return Ok(registry),
            Some(next) if Some(&next) == cursor.as_ref() => {
                return Err("the registry gives the same page again and again".to_owned());
            }
            next => cursor = next,
        }
    }
    Err(format!("the registry has more than {PAGES_MAX} pages"))
}

/// The address of a page: the list below the registry, unless the address is the list itself.
fn page_address(address: &Uri, cursor: Option<&str>) -> Result<Uri, String> {
    let path = address.path().trim_end_matches('/');
    let path = if path.ends_with("/servers") { path.to_owned() } else { format!("{path}{PATH}") };
    let (scheme, authority) = (address.scheme_str().unwrap_or("https"), address.authority());
    let authority = authority.map_or("", |authority| authority.as_str());
    let cursor = cursor.map(|cursor| format!("&cursor={}", escaped(cursor))).unwrap_or_default();
    format!("{scheme}://{authority}{path}?limit={PAGE_SERVERS}&version=latest{cursor}")
        .parse()
        .map_err(|_| "the registry gave a cursor that cannot be sent".to_owned())
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

async fn get(client: &HttpClient, address: &Uri) -> Result<String, String> {
    let request = Request::get(address).header("accept", "application/json").body(Full::new(Bytes::new()));
    let request = request.map_err(|error| error.to_string())?;
    let asked = async {
        let response = client.request(request).await.map_err(|error| unreachable(&error))?;
        if response.status() != StatusCode::OK {
            return Err(format!("the registry answers with {}", response.status()));
        }
        let body = Limited::new(response.into_body(), PAGE_BYTES_MAX).collect().await;
        let bytes = body.map_err(|error| unreachable(error.as_ref()))?.to_bytes();
        String::from_utf8(bytes.to_vec()).map_err(|_| "the registry's answer is not text".to_owned())
    };
    let answered = tokio::time::timeout(PAGE_WAIT, asked).await;
    answered.map_err(|_| format!("the registry does not answer within {} s", PAGE_WAIT.as_secs()))?
}

fn unreachable(error: &(dyn std::error::Error + 'static)) -> String {
    format!("the registry cannot be reached: {}", cause(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_found_below_the_registry() {
        let page = |url: &str, cursor| page_address(&url.parse().unwrap(), cursor).unwrap().to_string();
        let expected = "https://r.example/v0.1/servers?limit=100&version=latest";
        assert_eq!(page("https://r.example", None), expected);
        assert_eq!(page("https://r.example/v0.1/servers?x=1", None), expected);
        assert_eq!(page("https://r.example/", Some("a:b/c d")), format!("{expected}&cursor=a%3Ab%2Fc%20d"));
    }
}
