//! Nouns that change what a verb means, in named sets.

use std::sync::LazyLock;

use super::list::WordSet;

/// A named set of nouns; plurals belong to it too.
pub(crate) struct Nouns {
    words: LazyLock<WordSet>,
}

impl Nouns {
    /// Whether the word, or its singular, is in the set.
    pub(crate) fn has(&self, word: &str) -> bool {
        if self.words.contains(word) {
            return true;
        }
        let Some(one) = word.strip_suffix('s') else {
            return false;
        };
        self.words.contains(one)
            || one.strip_suffix('e').is_some_and(|one| self.words.contains(one))
            || one.strip_suffix("ie").is_some_and(|one| self.words.contains(format!("{one}y").as_str()))
    }
}

macro_rules! nouns {
    ($($(#[$doc:meta])* $name:ident = $words:expr;)*) => {
        impl Nouns {
            $(
                $(#[$doc])*
                pub(crate) fn $name() -> &'static Nouns {
                    static SET: Nouns = Nouns {
                        words: LazyLock::new(|| $words.split_whitespace().collect()),
                    };
                    &SET
                }
            )*
        }
    };
}

nouns! {
    /// Last words that announce a report: the tool tells, it does not do.
    reporting = "status log stat statistic info information detail guide guideline guidance history \
        summary overview metric health result output usage version schema definition doc \
        documentation analysis analytics insight analyzer classifier checker validator viewer finder \
        inspector explorer calculator evaluator estimator searcher retriever reader reporter lookup \
        eligibility availability estimate balance price pricing forecast leaderboard trend metadata \
        manifest contents count total capability faq changelog readme advice diagnostic state list \
        rate tree plan top preview diff hierarchy topology comparison similarity search query";
    /// Last words that name what is told, where the name has no verb at all.
    topic = "reference map graph grade review score report audit profile dashboard rate ranking feed \
        timeline weather quote example tutorial recommendation suggestion directory structure practice \
        catalog catalogue glossary dictionary news headline article listing coverage whois hint ticker candle \
        orderbook kline holder portfolio position outlook quotation location coordinate direction \
        distance elevation time timezone date holiday calendar event match standing fixture specs \
        specification inspection difference help finding observation question answer \
        data dataset record property field type name image photo picture video transcript \
        quotation definition";
    /// Money nouns that leave no doubt.
    money = "payment refund invoice payout charge fee funds money billing withdrawal deposit \
        donation purchase paymentintent salary payroll remittance reimbursement cashout topup \
        disbursement escrow";
    /// Words that make the surroundings speak of money.
    money_context = "payment refund invoice payout charge fee checkout funds money billing price currency \
        amount usd eur usdc usdt eth sol btc bitcoin ethereum solana crypto blockchain defi wallet \
        bank paypal stripe exchange dex broker brokerage stock share trading portfolio cart merchant \
        shop store ecommerce customer credit debit lamport satoshi sats lightning erc20 nft gas mainnet \
        flight hotel room seat ticket restaurant hire rental";
    /// What is sent when something is sent to people.
    message = "message email mail sms mms dm tweet retweet repost notification fax letter whatsapp telegram \
        announcement newsletter broadcast voicemail skeet toot";
    /// Where posted words leave for an audience.
    audience = "tweet twitter bluesky mastodon linkedin facebook instagram tiktok reddit farcaster \
        threads social x youtube";
    /// What a generator returns as text, without keeping it anywhere.
    textual = "text code query command yaml json summary prompt suggestion idea name uuid id guid \
        password passphrase hash description sql hogql regex explanation outline guidance answer \
        response question hint link url deeplink uri snippet example completion embedding caption \
        title slug keyword cron diff changelog lorem number mermaid diagram plan \
        xpath selector schema types typedefs interface signature insight analysis report \
        recommendation instruction checklist roadmap poem story recipe quiz joke boilerplate \
        inference prediction chart graph plot visualization histogram palette string integer float";
    /// What is lost when it is cleared, reset, emptied or flushed.
    data = "log history transcript data database memory collection table queue index all storage record \
        topic stream bucket volume disk trash bin knowledge conversation everything recycle inbox";
    /// What is only tied to something else: taking it away unties it.
    association = "label tag member membership reaction assignee participant reviewer sub-issue favorite \
        favourite bookmark star follower dependency relation relationship association link like \
        attendee collaborator watcher role alias breakpoint highlight filter pin focus approval";
    /// Free-form code by name.
    code = "code script command cmd shell expression statement sql bash python javascript js \
        program eval cypher powershell lua groovy applescript osascript kotlin ruby";
    /// Objects whose test is a look, not a run.
    connection = "connection connector connectivity credential auth authentication endpoint api url \
        link regex key access login proxy";
    /// Objects of `run` and `execute` that name a question.
    question = "query search lookup report analysis retrieval calculation recognition review research check \
        comparison traceroute ocr ping computation evaluation validation inspection audit diagnosis assessment inference";
    /// Records that stay what they are under another name when they are converted.
    entity = "task issue lead contact deal ticket card page item user account channel note opportunity subtask \
        project story epic document draft file video audio image pdf excel docx pptx spreadsheet";
    /// Things that bring new work into the world when they are created.
    running = "execution dispatch invocation call redeploy deployment broadcast";
    /// Ways through which text from strangers comes in.
    untrusted = "web website page url http html crawl scrape browse browser mail email inbox message issue \
        comment ticket chat channel feed rss news tweet post forum review search internet article pr \
        pull-request thread discussion document attachment";
    /// What is private or secret.
    secret = "secret password credential apikey api-key token private-key passphrase keyvault vault \
        certificate";
    /// What is somebody's own: a source of data that should not leave.
    private = "file directory folder database sql query table row record mail email inbox message chat \
        calendar contact note drive repository repo wallet customer memory clipboard screen history user \
        employee patient transaction invoice account bucket object log";
    /// Objects that make selecting or tracking a look.
    rows = "row record query statement sql shipment package parcel flight order delivery price stock \
        wallet keyword performance usage time progress";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_belong_to_the_set() {
        assert!(Nouns::money().has("invoices"));
        assert!(Nouns::association().has("dependencies"));
        assert!(Nouns::reporting().has("statuses"));
        assert!(!Nouns::money().has("feet"));
    }
}
