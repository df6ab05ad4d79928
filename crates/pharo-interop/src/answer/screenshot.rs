//! A screenshot as a picture, when the file that the image names is here and really is one.
//!
//! The path comes from the image, so it is not trusted: only a regular file of a sane size that
//! begins like a PNG leaves this machine, and only when the image runs on it.

use std::{path::Path, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use tokio::{io::AsyncReadExt, time::timeout};

use crate::image::ImageUrl;

const PICTURE_BYTES_MAX: u64 = 8 * 1024 * 1024;
const PICTURE_SIDE_MAX: u32 = 16_384;
const READ_TIME_MAX: Duration = Duration::from_secs(5);
/// The signature, then the length and name of the first chunk, which must be the header.
const PNG_BEGINNING: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR";

/// A PNG in base64.
#[derive(Debug)]
pub(crate) struct Picture(pub(crate) String);

/// The picture that the answer's `screenshot` names; nothing when it names none; a sentence for
/// the reader when it cannot be had.
pub(crate) async fn picture(answer: &Value, image: &ImageUrl) -> Option<Result<Picture, String>> {
    let path = answer.pointer("/result/screenshot")?.as_str()?;
    let picture = if image.is_loopback() {
        match timeout(READ_TIME_MAX, read(Path::new(path))).await {
            Ok(picture) => picture,
            Err(_) => Err("reading it takes too long".to_owned()),
        }
    } else {
        Err("the image runs on another machine".to_owned())
    };
    Some(picture.map_err(|reason| {
        format!("the screenshot is the file `{path}` on the image's machine; no picture here: {reason}")
    }))
}

async fn read(path: &Path) -> Result<Picture, String> {
    let unreadable = |fault: std::io::Error| format!("it cannot be read: {fault}");
    // Asked before opening: opening a pipe would wait for its other end.
    let metadata = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(PICTURE_BYTES_MAX + 1).read_to_end(&mut bytes).await.map_err(unreadable)?;
    if bytes.len() as u64 > PICTURE_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", PICTURE_BYTES_MAX / 1024 / 1024));
    }
    check_png(&bytes)?;
    Ok(Picture(BASE64_STANDARD.encode(bytes)))
}

fn check_png(bytes: &[u8]) -> Result<(), String> {
    let sides = bytes
        .strip_prefix(PNG_BEGINNING)
        .and_then(|rest| rest.split_first_chunk::<4>())
        .and_then(|(width, rest)| Some((width, rest.first_chunk::<4>()?)));
    let Some((width, height)) = sides else {
        return Err("it is not a PNG".to_owned());
    };
    let sane = 1..=PICTURE_SIDE_MAX;
    let (width, height) = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    if sane.contains(&width) && sane.contains(&height) {
        Ok(())
    } else {
        Err(format!("its size of {width} by {height} is not that of a screen"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        [PNG_BEGINNING, &width.to_be_bytes(), &height.to_be_bytes(), b"rest"].concat()
    }

    #[test]
    fn only_a_png_with_the_sides_of_a_screen_passes() {
        assert_eq!(check_png(&png(1, PICTURE_SIDE_MAX)), Ok(()));
        assert!(check_png(&png(0, 10)).is_err());
        assert!(check_png(&png(10, PICTURE_SIDE_MAX + 1)).is_err());
        assert!(check_png(&png(10, 10)[..20]).is_err());
        assert!(check_png(b"root:x:0:0").is_err());
        assert!(check_png(b"").is_err());
    }
}
