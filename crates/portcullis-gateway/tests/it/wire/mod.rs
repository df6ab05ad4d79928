//! The cases under `cases/wire`: exact bytes at a real listener, what comes back, what the server behind it may see
//! of them, and what the log says. `cases/wire/README.md` tells how they are written.
//!
//! Without these nobody would notice that a reader became more lenient.

mod case;
mod keys;
mod parsing;
mod placeholders;
mod request;
mod run;
mod socket;
mod ssrf;
mod tee;

use std::path::PathBuf;

use self::run::run_file;

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../cases/wire")
}

/// Each file with the number of exchanges that it makes: a case that is lost shows.
macro_rules! files {
    ($($name:ident: $count:literal,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                run_file(stringify!($name), $count).await;
            }
        )*

        #[test]
        fn every_file_is_run() {
            let found = std::fs::read_dir(directory()).unwrap();
            let found = found.map(|entry| entry.unwrap().path());
            let mut found: Vec<String> = found
                .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
                .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            let mut known = vec![$(stringify!($name).to_owned(),)* "ssrf".to_owned(), "json_test_suite".to_owned()];
            found.sort();
            known.sort();
            assert_eq!(found, known);
            // What is published is what runs.
            let page = std::fs::read_to_string(directory().join("../../docs/attacks.md")).unwrap();
            $(assert!(page.contains(&format!("| `{}` | {} |", stringify!($name), $count)), "docs/attacks.md");)*
        }
    };
}

files! {
    bodies: 269,
    callers: 145,
    framing: 407,
    headers: 127,
    media: 108,
    messages: 358,
    sources: 113,
    tools: 324,
}
