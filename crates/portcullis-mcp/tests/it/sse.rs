//! Event streams: framing, bounds, and that pieces do not matter.

use proptest::prelude::*;

use portcullis_mcp::sse::{Event, Reader, SseFault, SseLimits, UnwritableField, comment, write_event};

const SMALL: SseLimits = SseLimits { line_bytes_max: 40, event_bytes_max: 60 };

fn read_in_pieces(bytes: &[u8], size: usize, limits: SseLimits) -> (Vec<Event>, Option<SseFault>, bool) {
    let mut reader = Reader::new(limits);
    let mut events = Vec::new();
    let mut fault = None;
    for piece in bytes.chunks(size.max(1)) {
        fault = reader.push(piece, &mut events).err();
    }
    (events, fault, reader.is_unfinished())
}

fn data(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.data.as_str()).collect()
}

fn check(stream: &str, expected: &[&str]) {
    for size in [1, 2, 3, 7, stream.len()] {
        let (events, fault, _) = read_in_pieces(stream.as_bytes(), size, SseLimits::default());
        assert_eq!(data(&events), expected, "{stream:?} in pieces of {size}");
        assert_eq!(fault, None);
    }
}

#[test]
fn events_are_framed() {
    check("data: a\n\ndata: b\n\n", &["a", "b"]);
    check("data: a\r\rdata: b\r\r", &["a", "b"]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
    check("data: a\r\n\ndata: b\n\r", &["a", "b"]);
    check("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
    check("data: a\rdata: b\r\n\r", &["a\nb"]);
    check("data:a\n\n", &["a"]);
    check("data:  a \n\n", &[" a "]);
    check("data: {\"a\":\ndata: 1}\n\n", &["{\"a\":\n1}"]);
    check("data\ndata: x\n\n", &["\nx"]);
    check(": keep-alive\n\n:\n\n", &[]);
    check(": c\ndata: a\n: d\nunknown: x\n\n", &["a"]);
    check("\u{feff}data: a\n\n", &["a"]);
    check("data: a\n\n\u{feff}data: b\n\n", &["a"]);
    check("\n\n\r\n\n", &[]);
    check("data: lost at the end\n", &[]);
    check("data: é日本🦀\n\n", &["é日本🦀"]);
}

#[test]
fn other_fields_are_read() {
    let stream = b"id: 7\nretry: 1500\ndata:\n\nevent: message\ndata: a\nid: 8\n\nid: a\0b\nretry: 1s\ndata: z\n\nid\n\n";
    let (events, _, _) = read_in_pieces(stream, 5, SseLimits::default());
    let priming = Event { id: Some("7".to_owned()), retry_ms: Some(1500), ..Event::default() };
    assert_eq!(events[0], priming);
    assert!(!events[0].is_message());
    assert_eq!(events[1].id.as_deref(), Some("8"));
    assert!(events[1].is_message());
    assert_eq!((&events[2].id, events[2].retry_ms), (&None, None));
    assert_eq!(events[3].id.as_deref(), Some(""));
    assert_eq!(events.len(), 4);
    let other = Event { name: Some("endpoint".to_owned()), ..Event::message("x".to_owned()) };
    assert!(!other.is_message());
}

#[test]
fn bounds_end_the_stream_and_keep_what_was_whole() {
    let line = format!("data: a\n\ndata: {}\n\ndata: b\n\n", "x".repeat(40));
    let endless = format!("data: a\n\n{}", "x".repeat(1000));
    let event = format!("data: a\n\n{}\ndata: b\n\n", "data: 0123456789\n".repeat(6));
    for (stream, expected) in [
        (line.as_bytes(), SseFault::LineTooLong),
        (endless.as_bytes(), SseFault::LineTooLong),
        (event.as_bytes(), SseFault::EventTooLarge),
        (b"data: a\n\ndata: \xff\n\ndata: b\n\n", SseFault::NotUtf8),
        (b"data: a\n\n: \xc3\n\xa9\n\n", SseFault::NotUtf8),
    ] {
        for size in [1, 3, 1000] {
            let (events, fault, _) = read_in_pieces(stream, size, SMALL);
            assert_eq!((data(&events), fault), (vec!["a"], Some(expected)), "{size}");
        }
    }
}

#[test]
fn an_unfinished_event_is_seen() {
    for (stream, unfinished) in [
        ("data: a\n\n", false),
        ("data: a\n", true),
        ("data: a", true),
        ("", false),
        ("data: a\n\n: c\n", false),
    ] {
        let (_, _, found) = read_in_pieces(stream.as_bytes(), 4, SMALL);
        assert_eq!(found, unfinished, "{stream:?}");
    }
}

#[test]
fn events_are_written() {
    let event = Event { id: Some("3".to_owned()), retry_ms: Some(10), ..Event::message("{}".to_owned()) };
    assert_eq!(write_event(&event).unwrap(), "event: message\nid: 3\nretry: 10\ndata: {}\n\n");
    for bad in ["a\nb", "a\rb", "a\0b"] {
        let event = Event { id: Some(bad.to_owned()), ..Event::default() };
        assert_eq!(write_event(&event), Err(UnwritableField));
    }
    check(comment(), &[]);
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\xef\xbb\xbf".to_vec()),
        Just(b": comment".to_vec()),
        Just(b"data".to_vec()),
        Just(b"data:".to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"id: 7".to_vec()),
        Just(b"event: message".to_vec()),
        Just(b"retry: 12".to_vec()),
        "[a-z:é]{0,12}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        stream in any_stream(),
        cuts in prop::collection::vec(0_usize..200, 0..20),
    ) {
        let whole = read_in_pieces(&stream, stream.len(), SMALL);
        prop_assert_eq!(&read_in_pieces(&stream, 1, SMALL), &whole);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let mut reader = Reader::new(SMALL);
        let mut events = Vec::new();
        let mut fault = None;
        for pair in cuts.windows(2) {
            fault = reader.push(&stream[pair[0]..pair[1]], &mut events).err();
        }
        prop_assert_eq!((events, fault, reader.is_unfinished()), whole);
    }

    #[test]
    fn what_is_written_is_read_again(
        data in "[^\r]{0,30}",
        name in proptest::option::of("[^\r\n\0]{0,10}"),
        id in proptest::option::of("[^\r\n\0]{0,10}"),
        retry_ms in proptest::option::of(any::<u64>()),
        size in 1_usize..20,
    ) {
        let event = Event { data, name, id, retry_ms };
        let text = write_event(&event).unwrap();
        let (events, fault, _) = read_in_pieces(text.as_bytes(), size, SseLimits::default());
        prop_assert_eq!((events, fault), (vec![event], None));
    }
}
