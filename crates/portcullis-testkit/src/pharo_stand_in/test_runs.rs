//! Running tests: what a test method does is read off its source. The text is that of the image.

use super::world::{Class, Method, World};

#[derive(Default)]
struct Run {
    passed: usize,
    skipped: usize,
    failures: Vec<String>,
    errors: Vec<String>,
}

pub(super) fn run_class(class: &Class) -> String {
    run(class.methods.iter().map(|method| (class, method)))
}

pub(super) fn run_package(world: &World, package: &str) -> String {
    run(world.methods().filter(|(class, _)| class.package == package))
}

fn run<'a>(methods: impl Iterator<Item = (&'a Class, &'a Method)>) -> String {
    let mut run = Run::default();
    let tests = methods
        .filter(|(class, method)| class.superclass == "TestCase" && method.selector.starts_with("test"));
    for (class, method) in tests {
        let name = format!("{}>>#{}", class.name, method.selector);
        match method.source.split_once('\n').map_or("", |(_, body)| body.trim()) {
            "self skip" => run.skipped += 1,
            "self assert: false" => run.failures.push(name),
            "1 / 0" => run.errors.push(name),
            _ => run.passed += 1,
        }
    }
    run.text()
}

impl Run {
    /// Lines end with a carriage return; singular and plural as in the image.
    fn text(&self) -> String {
        let ran = self.passed + self.failures.len() + self.errors.len();
        let counts = if ran == 0 {
            "No tests ran".to_owned()
        } else {
            format!(
                "{ran} ran, {} passed, {} skipped, 0 expected failures, {}, {}, 0 passed unexpected",
                self.passed,
                self.skipped,
                plural(self.failures.len(), "failure"),
                plural(self.errors.len(), "error")
            )
        };
        let lines = |names: &[String]| names.iter().map(|name| format!("{name}\r")).collect::<String>();
        format!("{counts}\rFailures:\r{}\rErrors:\r{}", lines(&self.failures), lines(&self.errors))
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
