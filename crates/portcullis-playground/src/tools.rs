//! The tools: one table, all five classes.

use jiff::Timestamp;
use portcullis_policy::Class::{Destructive, Execute, Financial, Read, Write};

use crate::tool::{Arguments, Kind, Parameter, Tool, Work};
use crate::world::World;

const TITLE: Parameter = text("title", "The note's title.", 80);
const BODY: Parameter = text("text", "The text.", 2_000);

/// Every tool.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "list_notes",
        title: "List notes",
        class: Read,
        description: "Lists the titles of all notes.",
        parameters: &[],
        work: Work::Now(list_notes),
    },
    Tool {
        name: "read_note",
        title: "Read a note",
        class: Read,
        description: "Returns the text of one note.",
        parameters: &[TITLE],
        work: Work::Now(read_note),
    },
    Tool {
        name: "search_notes",
        title: "Search notes",
        class: Read,
        description: "Lists the titles of the notes that contain a text, in any case.",
        parameters: &[text("text", "What to look for.", 200)],
        work: Work::Now(search_notes),
    },
    Tool {
        name: "get_time",
        title: "Tell the time",
        class: Read,
        description: "Returns the current time in UTC.",
        parameters: &[],
        work: Work::Now(get_time),
    },
    Tool {
        name: "write_note",
        title: "Write a note",
        class: Write,
        description: "Writes a note; a note of the same title is replaced.",
        parameters: &[TITLE, BODY],
        work: Work::Now(write_note),
    },
    Tool {
        name: "rename_note",
        title: "Rename a note",
        class: Write,
        description: "Gives a note a new title.",
        parameters: &[text("from", "The old title.", 80), text("to", "The new title.", 80)],
        work: Work::Now(rename_note),
    },
    Tool {
        name: "run_sum",
        title: "Add numbers",
        class: Execute,
        description: "Adds numbers and returns the sum.",
        parameters: &[Parameter { name: "numbers", description: "What to add.", kind: Kind::Numbers(100) }],
        work: Work::Now(run_sum),
    },
    Tool {
        name: "send_message",
        title: "Send a message",
        class: Execute,
        description: "Pretends to send a message. It goes nowhere.",
        parameters: &[text("to", "Who should get it.", 80), BODY],
        work: Work::Now(send_message),
    },
    Tool {
        name: "slow_count",
        title: "Count slowly",
        class: Execute,
        description: "Counts up to a number, five steps a second, and reports progress.",
        parameters: &[Parameter { name: "to", description: "Where to stop.", kind: Kind::Integer(1, 300) }],
        work: Work::Count,
    },
    Tool {
        name: "stream_story",
        title: "Tell a story",
        class: Read,
        description: "Tells a short story, sentence by sentence.",
        parameters: &[],
        work: Work::Story,
    },
    Tool {
        name: "delete_note",
        title: "Delete a note",
        class: Destructive,
        description: "Deletes one note for good.",
        parameters: &[TITLE],
        work: Work::Now(delete_note),
    },
    Tool {
        name: "wipe_notes",
        title: "Delete all notes",
        class: Destructive,
        description: "Deletes every note for good.",
        parameters: &[],
        work: Work::Now(wipe_notes),
    },
    Tool {
        name: "pay_invoice",
        title: "Pay an invoice",
        class: Financial,
        description: "Pays an invoice with play money.",
        parameters: &[
            text("invoice", "The invoice's number.", 40),
            Parameter { name: "amount", description: "Credits to pay.", kind: Kind::Integer(1, 1_000_000) },
        ],
        work: Work::Now(pay_invoice),
    },
];

const fn text(name: &'static str, description: &'static str, characters_max: usize) -> Parameter {
    Parameter { name, description, kind: Kind::Text(characters_max) }
}

fn list_notes(world: &mut World, _: &Arguments<'_>) -> Result<String, String> {
    Ok(lines(&world.titles()))
}

fn read_note(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    world.note(arguments.text("title")).map(str::to_owned)
}

fn search_notes(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    Ok(lines(&world.titles_with(arguments.text("text"))))
}

fn get_time(_: &mut World, _: &Arguments<'_>) -> Result<String, String> {
    Ok(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn write_note(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    let title = arguments.text("title");
    world.write(title, arguments.text("text"))?;
    Ok(format!("wrote `{title}`"))
}

fn rename_note(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    let (from, to) = (arguments.text("from"), arguments.text("to"));
    world.rename(from, to)?;
    Ok(format!("`{from}` is now `{to}`"))
}

fn run_sum(_: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    Ok(arguments.numbers("numbers").iter().sum::<f64>().to_string())
}

fn send_message(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    let to = arguments.text("to");
    let kept = world.send(to, arguments.text("text"));
    Ok(format!("message {kept} for `{to}` is kept here and goes nowhere"))
}

fn delete_note(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    let title = arguments.text("title");
    world.delete(title)?;
    Ok(format!("deleted `{title}`"))
}

fn wipe_notes(world: &mut World, _: &Arguments<'_>) -> Result<String, String> {
    Ok(format!("deleted {} notes", world.wipe()))
}

fn pay_invoice(world: &mut World, arguments: &Arguments<'_>) -> Result<String, String> {
    let amount = arguments.integer("amount");
    let left = world.pay(amount)?;
    Ok(format!("paid {amount} credits for invoice `{}`; {left} are left", arguments.text("invoice")))
}

fn lines(titles: &[&str]) -> String {
    match titles {
        [] => "no notes".to_owned(),
        titles => titles.join("\n"),
    }
}
