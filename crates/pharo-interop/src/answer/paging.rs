//! A part of a long result, and where it lies in the whole. The image always sends all of it.

use serde_json::{Value, json};

use crate::tools::Page;

/// Cuts the `result` of an answer to the page. When that is not the whole, adds `page` beside it;
/// when something is missing at the end, gives a sentence for the reader.
pub(crate) fn take_page(answer: &mut Value, page: Page) -> Option<String> {
    let result = answer.get_mut("result")?;
    let (count, total) = match result {
        Value::Array(entries) => cut_list(entries, page),
        Value::String(text) => cut_text(text, page),
        _ => return None,
    };
    let end = page.offset.saturating_add(count);
    let next = (end < total).then_some(end);
    if let (true, Value::Object(members)) = (count < total, answer) {
        members.insert(
            "page".into(),
            json!({"offset": page.offset, "count": count, "total": total, "unit": page.unit,
                   "next_offset": next}),
        );
    }
    next.map(|next| {
        format!(
            "{count} of {total} {}, from {}; for the next part call again with `offset` {next}",
            page.unit, page.offset
        )
    })
}

fn cut_list(entries: &mut Vec<Value>, page: Page) -> (u64, u64) {
    let total = entries.len();
    let start = clamped(page.offset, total);
    let end = clamped(page.offset.saturating_add(page.limit), total);
    entries.truncate(end);
    entries.drain(..start);
    (entries.len() as u64, total as u64)
}

fn cut_text(text: &mut String, page: Page) -> (u64, u64) {
    let total = text.chars().count();
    let start = clamped(page.offset, total);
    let end = clamped(page.offset.saturating_add(page.limit), total);
    if start > 0 || end < total {
        *text = text.chars().skip(start).take(end - start).collect();
    }
    ((end - start) as u64, total as u64)
}

fn clamped(position: u64, total: usize) -> usize {
    usize::try_from(position).map_or(total, |position| position.min(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `page` says where the part lies; nothing of it when it is the whole.
    fn check(result: Value, offset: u64, limit: u64, kept: Value, next: Option<u64>) {
        let mut answer = json!({"success": true, "result": result});
        let note = take_page(&mut answer, Page { offset, limit, unit: "entries" });
        assert_eq!(answer["result"], kept);
        assert_eq!(answer.get("page").is_some(), kept != result);
        assert_eq!(answer["page"]["next_offset"], json!(next));
        assert_eq!(note.is_some(), next.is_some());
    }

    #[test]
    fn pages_follow_each_other_without_gap() {
        let list = json!(["a", "b", "c"]);
        check(list.clone(), 0, 2, json!(["a", "b"]), Some(2));
        check(list.clone(), 2, 2, json!(["c"]), None);
        check(list.clone(), 0, 3, list.clone(), None);
        check(list.clone(), 3, 1, json!([]), None);
        check(list, u64::MAX, u64::MAX, json!([]), None);
    }

    #[test]
    fn a_text_is_cut_by_characters() {
        check(json!("äöü"), 0, 2, json!("äö"), Some(2));
        check(json!("äöü"), 2, 2, json!("ü"), None);
        check(json!(""), 0, 2, json!(""), None);
    }

    #[test]
    fn what_has_no_length_is_left_alone() {
        let mut answer = json!({"success": true, "result": null});
        assert_eq!(take_page(&mut answer, Page { offset: 0, limit: 1, unit: "characters" }), None);
        assert_eq!(answer, json!({"success": true, "result": null}));
    }
}
