//! What the screen shows, and a picture of it: one grey pixel, as a real PNG file.

use std::{fs, io, path::Path};

use serde_json::{Value, json};

const PNG: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\x00\x00\
\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\x54\x78\x9c\x63\
\x68\x00\x00\x00\x82\x00\x81\x77\xcd\x72\xb6\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\
\x82";

/// The colons of the time are dashes, as the image writes them.
const FILE_NAME: &str = "pharo-ui-2026-11-15T10-00-00.123456+00-00.png";

/// Writes the screenshot and gives its path.
pub(super) fn screenshot(directory: &Path, kind: Screenshot) -> io::Result<String> {
    let path = directory.join(FILE_NAME);
    fs::create_dir_all(directory)?;
    match kind {
        Screenshot::Real => fs::write(&path, PNG)?,
        Screenshot::Text => fs::write(&path, "not a picture")?,
        Screenshot::Missing => {
            let _was_not_there = fs::remove_file(&path);
        }
    }
    Ok(path.to_string_lossy().into_owned())
}

/// What the named file really is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Screenshot {
    Real,
    Text,
    Missing,
}

/// An unknown target gets the world, and its name back.
pub(super) fn structure(target_type: &str) -> (Value, &'static str) {
    match target_type {
        "spec" => (
            json!({"presenters": [{"title": "Playground", "class": "StPlayground", "hasMenu": false,
                   "hasToolbar": true, "hasStatusBar": false}], "windowCount": 1}),
            "1 Spec presenter(s)",
        ),
        "roassal" => (json!({"canvases": []}), "0 Roassal canvas(es)"),
        _ => (
            json!({"totalMorphs": 1, "displayedMorphCount": 1, "morphs": [{"class": "MenubarMorph",
                   "bounds": {"x": 0, "y": 0, "width": 1024, "height": 24}, "visible": true,
                   "backgroundColor": "Color gray", "submorphCount": 5, "owner": "WorldMorph"}]}),
            "World with 1 top-level morphs",
        ),
    }
}
