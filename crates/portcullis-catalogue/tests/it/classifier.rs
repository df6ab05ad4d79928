//! What the rules make of invented tools, one row per case.

use portcullis_catalogue::{Class, RuleId, Siblings, Signal, ToolDefinition, classify};

use crate::given::tool;

fn check(name: &str, description: &str, class: Class) {
    let found = classify(&ToolDefinition::named(name).described(description), &Siblings::none());
    assert_eq!(found.class, class, "{name}: {description}\n{:#?}", found.evidence);
}

#[test]
fn verbs_in_names_decide() {
    check("get_door", "", Class::Read);
    check("door_open_list", "", Class::Read);
    check("createDoor", "", Class::Write);
    check("vm-delete", "", Class::Destructive);
    check("door.lock.run", "", Class::Execute);
    check("create_or_update_door", "", Class::Write);
    check("get_or_delete_door", "", Class::Destructive);
    check("rebuild_index", "", Class::Execute);
    check("ungroup_doors", "", Class::Write);
    check("drag_and_drop", "", Class::Write);
    check("purchase_door", "", Class::Financial);
}

#[test]
fn objects_turn_verbs() {
    check("generate_regex", "", Class::Read);
    check("generate_image", "Generates an image", Class::Write);
    check("post_message", "", Class::Execute);
    check("post_comment", "", Class::Write);
    check("remove_label", "", Class::Write);
    check("remove_door", "", Class::Destructive);
    check("remove_user_from_team", "", Class::Write);
    check("clear_history", "", Class::Destructive);
    check("clear_cache", "", Class::Write);
    check("resolve_dns", "", Class::Read);
    check("write_query", "", Class::Execute);
    check("create_quote", "Create a quote for doors", Class::Write);
    check("resolve_thread", "", Class::Write);
    check("create_chat_completion", "", Class::Read);
    check("convert_lead", "Converts a lead to a deal", Class::Write);
    check("convert_units", "Converts miles", Class::Read);
}

#[test]
fn descriptions_decide_where_names_do_not() {
    check("door", "Opens the door and deletes the key.", Class::Destructive);
    check("door_scale", "Get or update the scale of a door", Class::Write);
    check("doors", "Lists all doors", Class::Read);
    check("door_manage", "Manage doors: create, rename, or delete them", Class::Destructive);
    check("compute_door_delete", "Delete a door", Class::Destructive);
    check("evaluate", "Execute JavaScript in the console", Class::Execute);
    check("door_branch", "List door branches", Class::Read);
    check("recent_run", "Get the latest run of a door", Class::Read);
    check("door_upload_ls", "Lists uploads of a door", Class::Read);
    check("upload_door", "Get the upload of a door going", Class::Write);
    check("run_door", "Get a run of the door", Class::Execute);
    check("place_details", "Get details about a place", Class::Read);
    check("place_photo", "Show photos of a place", Class::Read);
    check("drop_door", "Drops a door", Class::Destructive);
    check("drop", "Drop files onto a door, as if dragged", Class::Write);
    check("puerta", "Elimina una puerta", Class::Destructive);
    check("门", "查询所有的门", Class::Read);
}

#[test]
fn no_text_talks_away_what_another_says_is_changed() {
    check("drop_doors", "Lists the doors", Class::Destructive);
    check("clear_doors", "Returns the doors", Class::Write);
    check("open_orders", "Lists open orders of a customer", Class::Read);
    check("list_doors", "Deletes the doors", Class::Destructive);
    check("get_door", "Creates a door and returns it", Class::Write);
    check("door_report", "Sends the report to the owner", Class::Execute);
    check("make_prediction", "Place a prediction on a question", Class::Write);
    check("make_prediction", "Returns what the model foresees", Class::Read);
}

#[test]
fn what_is_done_beside_the_look_counts() {
    check("next_door", "Get the next door and delete keys that are old", Class::Destructive);
    check("list_doors", "List comments and updates of a door", Class::Read);
    check("door_help", "Explains how to open and delete doors", Class::Read);
    check("doors", "Collect all doors into a single file", Class::Write);
    check("extract_door", "Extract a door to a file", Class::Write);
    check("get_door", "Get the path to a file", Class::Read);
    check("door_signer", "Digitally signs a door. Reads from and writes to the hall", Class::Execute);
    check("poll_door_and_fix", "Fetch the door and automatically repair it", Class::Write);
    check("ping_door", "Whether the door answers. Start here when something fails.", Class::Read);
    check("inspect", "Utility for reading or mutating doors", Class::Write);
    check("press_key", "simulates pressing a key", Class::Write);
    check("rate_door", "Rate a door of the house", Class::Write);
    check("exchange_rate", "", Class::Read);
    check("build_door_id_hall", "Builds a hall for a door", Class::Execute);
    check("banner", "Display a banner notification", Class::Write);
}

#[test]
fn verbs_of_two_words_are_read_as_one() {
    check("roll_back_release", "", Class::Write);
    check("release_roll", "Rolls back a release", Class::Write);
    check("check_in_guest", "", Class::Write);
    check("git_cherry_pick", "", Class::Write);
    check("look_up_door", "", Class::Read);
    check("tear_down_hall", "", Class::Destructive);
    check("answer_call", "", Class::Execute);
}

#[test]
fn circumstances_behind_a_preposition_are_no_verbs() {
    check("phone_long_press_on_screen_at_place", "", Class::Write);
    check("door_press_in_view", "", Class::Write);
    check("lock_door_after_check", "", Class::Write);
}

#[test]
fn a_name_that_says_nothing_takes_the_gravest_statement() {
    check(
        "control_door",
        "Door toolkit for building, removing, or nudging doors.\n\nUse it when you need to:\n- drop a door into the hall",
        Class::Destructive,
    );
    check("manage_doors", "Doors of the house. Lists them. Deletes them on demand", Class::Destructive);
    check("puertas", "Gestiona las puertas: buscar, crear y eliminar", Class::Destructive);
}

#[test]
fn nothing_known_is_never_read() {
    let found = classify(&ToolDefinition::named("frobnicator"), &Siblings::none());
    assert_eq!(found.class, Class::Write);
    assert_eq!(found.confidence, 0.5);
    assert!(found.needs_review());
    let other_script = classify(&ToolDefinition::named("двери"), &Siblings::none());
    assert_eq!(other_script.class, Class::Write);
}

#[test]
fn free_form_code_raises_and_a_plain_query_does_not() {
    let with = |name: &str, properties: &str| {
        tool(&format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{properties}}}}}"#))
    };
    let class = |definition: &ToolDefinition| classify(definition, &Siblings::none()).class;
    assert_eq!(class(&with("query", r#"{"sql":{"type":"string"}}"#)), Class::Execute);
    assert_eq!(class(&with("query", r#"{"query":{"type":"string"}}"#)), Class::Read);
    let cypher = r#"{"query":{"type":"string","description":"a Cypher query"}}"#;
    assert_eq!(class(&with("query", cypher)), Class::Execute);
    assert_eq!(class(&with("thing", r#"{"code":{"type":"string"}}"#)), Class::Execute);
    assert_eq!(class(&with("explain_code", r#"{"code":{"type":"string"}}"#)), Class::Read);
    let country = r#"{"code":{"type":"string","description":"ISO country code"}}"#;
    assert_eq!(class(&with("get_country", country)), Class::Read);
    assert_eq!(class(&with("get_doors", r#"{"sql":{"type":"string"}}"#)), Class::Execute);
    assert_eq!(class(&with("list_doors", r#"{"sql_query":{"type":"string"}}"#)), Class::Execute);
    let filtered = r#"{"sql":{"type":"string","description":"with a status filter"}}"#;
    assert_eq!(class(&with("get_doors", filtered)), Class::Execute);
    let graph = r#"{"query":{"type":"string","description":"The GraphQL query to send"}}"#;
    assert_eq!(class(&with("fetch_doors", graph)), Class::Execute);
    assert_eq!(class(&with("validate_sql", r#"{"sql":{"type":"string"}}"#)), Class::Read);
    let found = r#"{"query":{"type":"string","description":"text to find in SQL functions"}}"#;
    assert_eq!(class(&with("search_functions", found)), Class::Read);
    assert_eq!(class(&with("door", r#"{"commands":{"type":"array"}}"#)), Class::Execute);
    check("read_query", "Execute a SELECT query on the SQLite database", Class::Execute);
    check("mysql", "MySQL query tool", Class::Execute);
    check("read_doors", "Execute a Cypher query that reads", Class::Execute);
    check("find", "Run a find query against a collection of doors", Class::Read);
}

#[test]
fn a_look_that_writes_a_file_where_the_caller_says_is_a_write() {
    let with = |parameter: &str, says: &str| {
        let text = format!(
            r#"{{"name":"get_door","inputSchema":{{"properties":{{"{parameter}":{{"type":"string","description":"{says}"}}}}}}}}"#
        );
        classify(&tool(&text), &Siblings::none())
    };
    let saved = with("filePath", "The path to save the picture to");
    assert_eq!((saved.class, saved.evidence[0].rule), (Class::Write, RuleId::S3));
    assert_eq!(with("output_dir", "").class, Class::Write);
    assert_eq!(with("path", "Where the door is").class, Class::Read);
    assert_eq!(with("query", "Saved searches to look through").class, Class::Read);
}

#[test]
fn the_gravest_choice_counts() {
    let door = tool(
        r#"{"name":"door_list","inputSchema":{"type":"object","properties":
            {"method":{"type":"string","enum":["list","open","delete_all"]}}}}"#,
    );
    let found = classify(&door, &Siblings::none());
    assert_eq!(found.class, Class::Destructive);
    assert_eq!(found.evidence[0].rule, RuleId::S2);
    let http = tool(
        r#"{"name":"web","inputSchema":{"type":"object","properties":{"method":{"enum":["GET","DELETE"]}}}}"#,
    );
    assert_eq!(classify(&http, &Siblings::none()).class, Class::Execute);
}

#[test]
fn hints_raise_and_never_lower() {
    let raised = tool(r#"{"name":"get_door","annotations":{"readOnlyHint":false}}"#);
    assert_eq!(classify(&raised, &Siblings::none()).class, Class::Write);
    let claimed = tool(r#"{"name":"send_mail","annotations":{"readOnlyHint":true}}"#);
    let found = classify(&claimed, &Siblings::none());
    assert_eq!(found.class, Class::Execute);
    assert!(found.hint_contradicts);
    let overwrites = tool(r#"{"name":"update_door","annotations":{"destructiveHint":true}}"#);
    let found = classify(&overwrites, &Siblings::none());
    assert_eq!(found.class, Class::Write);
    assert!(found.has(Signal::Overwrites));
}

#[test]
fn money_moves_only_with_a_verb() {
    check("list_invoices", "", Class::Read);
    check("create_invoice", "", Class::Financial);
    check("delete_invoice", "", Class::Destructive);
    check("get_payment_quote", "", Class::Read);
    check("quote_swap", "", Class::Read);
    check("place_order", "Places an order and charges the card", Class::Financial);
    check("swap_faces", "Swaps two faces in a picture", Class::Write);
    check("git_checkout", "Switches branches", Class::Write);
    check("create_subscription", "Subscribes to events of a topic", Class::Write);
    check("create_subscription", "Creates a subscription for a customer with a price", Class::Financial);
}

#[test]
fn evidence_points_at_the_exact_bytes() {
    let definition = ToolDefinition::named("door_löschen_delete").described("Wir löschen. Deletes doors");
    let found = classify(&definition, &Siblings::none());
    for evidence in &found.evidence {
        let text = match evidence.place {
            portcullis_catalogue::Place::Name => definition.name.as_str(),
            portcullis_catalogue::Place::Description => definition.description.as_deref().unwrap(),
            _ => continue,
        };
        assert_eq!(text.get(evidence.start..evidence.end), Some(evidence.quote.as_str()));
    }
    assert!(found.evidence.iter().any(|evidence| evidence.quote == "delete"));
}

#[test]
fn the_same_input_gives_the_same_output() {
    let definition = ToolDefinition::named("run_door").described("Runs a door. Get or set it.");
    let siblings = Siblings::of("doors", std::slice::from_ref(&definition));
    assert_eq!(classify(&definition, &siblings), classify(&definition, &siblings));
}

#[test]
fn every_rationale_contrasts_and_states_its_confidence() {
    for name in ["get_a", "create_a", "run_a", "delete_a", "pay_a", "zzz"] {
        let found = classify(&ToolDefinition::named(name), &Siblings::none());
        assert!(found.rationale.contains("not "), "{}", found.rationale);
        assert!(found.rationale.contains("Confidence 0."), "{}", found.rationale);
    }
}
