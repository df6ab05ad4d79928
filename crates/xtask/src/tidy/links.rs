//! Links between the project's own Markdown files lead somewhere: to a file of the repository, and to a
//! heading that it has. Links to other sites are not looked at.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::Finding;
use super::sources::{Sources, TextFile};

/// Looks at every Markdown file.
pub(super) fn check(sources: &Sources) -> Vec<Finding> {
    check_files(&sources.texts, &sources.paths)
}

fn check_files(texts: &[TextFile], paths: &BTreeSet<String>) -> Vec<Finding> {
    let pages: BTreeMap<&str, Page> = texts
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .map(|file| (file.path.as_str(), Page::read(&file.text)))
        .collect();
    let mut findings = Vec::new();
    for (path, page) in &pages {
        for link in &page.links {
            if let Some(message) = complaint(path, &link.target, &pages, paths) {
                findings.push(Finding::at_line(*path, link.line, message));
            }
        }
    }
    findings
}

fn complaint(
    from: &str,
    target: &str,
    pages: &BTreeMap<&str, Page>,
    paths: &BTreeSet<String>,
) -> Option<String> {
    if leads_elsewhere(target) {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let Some(path) = resolve(from, file) else {
        return Some(format!("link `{target}` leads out of the repository"));
    };
    if !exists(&path, paths) {
        return Some(format!("link `{target}` leads to `{path}`, which does not exist"));
    }
    let page = pages.get(path.as_str())?;
    let is_missing = !heading.is_empty() && !page.anchors.contains(heading);
    is_missing.then(|| format!("link `{target}`: `{path}` has no heading `#{heading}`"))
}

/// Whether the link names a scheme: `https:`, `mailto:`.
fn leads_elsewhere(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+'))
}

/// The path from the root that a link in `from` means; nothing when it leaves the repository.
fn resolve(from: &str, file: &str) -> Option<String> {
    if file.is_empty() {
        return Some(from.to_owned());
    }
    let directory = from.rsplit_once('/').map_or("", |(directory, _)| directory);
    let from_root = file.strip_prefix('/').map(str::to_owned);
    let joined = from_root.unwrap_or_else(|| format!("{directory}/{file}"));
    let mut parts = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Whether a file has this path, or lies below it.
fn exists(path: &str, paths: &BTreeSet<String>) -> bool {
    let below = format!("{path}/");
    path.is_empty() || paths.contains(path) || paths.iter().any(|known| known.starts_with(&below))
}

/// What matters of a Markdown file.
struct Page {
    links: Vec<Link>,
    anchors: BTreeSet<String>,
}

struct Link {
    target: String,
    line: usize,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self { links: Vec::new(), anchors: BTreeSet::new() };
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new(text).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links
                        .push(Link { target: dest_url.into_string(), line: line_of(text, range.start) });
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => page.add_anchor(&heading.take().unwrap_or_default()),
                _ => {}
            }
        }
        page
    }

    /// Headings of the same words are told apart by a number, as on the sites that show them.
    fn add_anchor(&mut self, heading: &str) {
        let name = anchor(heading);
        let mut candidate = name.clone();
        let mut repeats = 0;
        while !self.anchors.insert(candidate) {
            repeats += 1;
            candidate = format!("{name}-{repeats}");
        }
    }
}

fn anchor(heading: &str) -> String {
    heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = "# The `set` field, and more\n\n## Again\n\n## Again\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let texts = [file("docs/guide.md", GUIDE), file(path, text)];
        let mut paths: BTreeSet<String> = texts.iter().map(|file| file.path.clone()).collect();
        paths.insert("docs/picture.png".to_owned());
        check_files(&texts, &paths).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_is_found_at_its_line() {
        let expected = "README.md:3: link `docs/gone.md` leads to `docs/gone.md`, which does not exist";
        assert_eq!(findings("README.md", "# A\n\nsee [it](docs/gone.md)\n"), [expected]);
        assert_eq!(findings("README.md", "![it](docs/gone.png)").len(), 1);
        assert_eq!(findings("README.md", "[it][1]\n\n[1]: docs/gone.md\n").len(), 1);
        assert_eq!(findings("docs/a.md", "[it](docs/guide.md)").len(), 1);
    }

    #[test]
    fn a_link_that_leaves_the_repository_is_found() {
        assert!(findings("README.md", "[it](../x.md)")[0].contains("leads out of the repository"));
    }

    #[test]
    fn a_heading_that_is_not_there_is_found() {
        assert_eq!(findings("README.md", "[it](docs/guide.md#gone)").len(), 1);
        assert_eq!(findings("README.md", "# Here\n[it](#there)").len(), 1);
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        let text = "# Here\n[a](guide.md) [b](./guide.md#the-set-field-and-more) [c](../docs/) ![d](picture.png)\n\
            [e](#here) [f](guide.md#again-1) [g](/docs/guide.md) [h](https://example.com/x.md) [i](mailto:a@example.com)\n";
        assert_eq!(findings("docs/a.md", text), Vec::<String>::new());
    }

    #[test]
    fn code_is_not_a_link() {
        assert_eq!(findings("README.md", "`[a](b.md)`\n\n```\n[a](b.md)\n```\n"), Vec::<String>::new());
    }
}
