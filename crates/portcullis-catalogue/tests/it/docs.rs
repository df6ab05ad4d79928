//! The reference page is the one that the tables give. `UPDATE_DOCS=1 cargo test -p portcullis-catalogue docs`
//! writes it anew.

use std::path::PathBuf;

use portcullis_catalogue::reference::reference;

const BEGIN: &str = "<!-- generated from the tables of the code; do not edit below -->\n";

#[test]
fn the_page_says_what_the_tables_say() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalogue.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (by_hand, generated) = page.split_once(BEGIN).expect("the page has a generated part");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{by_hand}{BEGIN}\n{}", reference())).unwrap();
        return;
    }
    assert_eq!(generated.trim(), reference().trim(), "run with UPDATE_DOCS=1 to write the page anew");
}
