//! Tools that keyword catalogues got wrong, with the class that is right.

use portcullis_catalogue::{Class, Siblings, ToolDefinition, classify};

/// Name, what the tool does in a few words of ours, the right class.
const CASES: &[(&str, &str, Class)] = &[
    ("llb_classify", "Sorts a path into tiers of caution, such as never delete", Class::Read),
    ("review", "Gives an advisory verdict about destructive changes", Class::Read),
    ("deploy_status", "Shows how far a deployment is", Class::Read),
    ("app_logs", "Returns what the app wrote while it ran", Class::Read),
    ("platform_guide", "Explains how to run things on the platform", Class::Read),
    ("payment_rails_cost_analyzer", "Compares what payment rails cost", Class::Read),
    ("discover_agents", "Finds agents that can create things", Class::Read),
    ("evidence_grade", "Grades how well a claim is supported", Class::Read),
    ("send_that_email_analyze", "Analyses whether a mail should be sent", Class::Read),
    ("report_server", "Submits a report about a server", Class::Write),
    ("authorizePayment", "Authorizes a payment", Class::Financial),
    ("swapTokens", "Swaps one token for another", Class::Financial),
    ("resolve_review_thread", "Resolves a thread", Class::Write),
    ("resources_scale", "Get or update the scale of a resource", Class::Write),
    ("insight-create-from-query", "Creates an insight from a query", Class::Write),
    ("deploy_plan_get", "Gets a deployment plan", Class::Read),
    ("deploy_app_logs_get", "Gets the logs of an app", Class::Read),
    ("chat-completions-create", "Asks a model", Class::Read),
    ("list_charges", "Lists charges", Class::Read),
    ("mark_all_messages_read", "Marks messages as read", Class::Write),
];

#[test]
fn each_is_right_with_its_description() {
    for (name, description, class) in CASES {
        let found = classify(&ToolDefinition::named(name).described(description), &Siblings::none());
        assert_eq!(found.class, *class, "{name}\n{:#?}", found.evidence);
    }
}

#[test]
fn each_is_right_by_its_name_alone_or_errs_to_the_safe_side() {
    for (name, _, class) in CASES.iter().filter(|case| case.0 != "resources_scale") {
        let found = classify(&ToolDefinition::named(name), &Siblings::none());
        let safe = portcullis_catalogue::severity(found.class) >= portcullis_catalogue::severity(*class);
        assert!(safe, "{name} came out as {:?}", found.class);
    }
}
