//! Ways to misbehave, on cue.

use std::time::Duration;

/// What happens instead of the answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The request is read and never answered, as with an endless loop or an open debugger.
    Hang,
    /// The right answer, this much later.
    Late(Duration),
    /// The right answer, byte by byte with this pause between two.
    Drip(Duration),
    /// Half of the right answer, then the connection ends.
    Half,
    /// No answer: the connection ends.
    Close,
    /// Another HTTP status, with a body of plain text.
    Status(u16),
    /// A page of HTML with status 200, as from another web server.
    Html,
    /// The right answer, said to be `text/plain`.
    WrongContentType,
    /// Nothing, said to be JSON.
    Empty,
    /// Text that is not JSON, said to be JSON.
    NotJson,
    /// JSON that no interop server sends.
    OtherJson,
    /// A successful answer whose result is a text of this many bytes.
    Huge(usize),
    /// A redirect to this place.
    Redirect(String),
    /// An error inside the image, with this description.
    Raises(String),
    /// A result that has no JSON form.
    NotSerialisable,
    /// A screenshot is named that does not exist.
    MissingScreenshot,
    /// The named screenshot is a text file.
    TextAsScreenshot,
}
