//! `portcullis serve` in front of one real server.

use serde_json::{Value, json};

use crate::command::Place;
use crate::running::{Running, free_port};

const TOKEN: &str = "a-token-for-tests-that-is-long-enough-0123456789";

/// The gateway, with one server, one policy and one grant.
pub(crate) struct Gateway {
    pub(crate) place: Place,
    port: u16,
    running: Running,
}

impl Gateway {
    /// In front of the server that `way` says how to reach (lines of the configuration), judged by `policy`.
    pub(crate) fn before(way: &str, policy: &Value) -> Gateway {
        let (place, port) = (Place::new(), free_port());
        let configuration = format!(
            "listen = \"127.0.0.1:{port}\"\ndata_dir = \"data\"\n\n\
             [[servers]]\nname = \"peer\"\n{way}\n\n\
             [[policies]]\nname = \"p\"\nserver = \"peer\"\nfile = \"p.json\"\n\n\
             [[grants]]\nlabel = \"tester\"\nserver = \"peer\"\npolicy = \"p\"\ntoken = \"env:PEER_TOKEN\"\n"
        );
        place.file("portcullis.toml", configuration).file("p.json", policy.to_string());
        let running = Running::serve(&place.path(""), port, &[("PEER_TOKEN", TOKEN)]);
        Gateway { place, port, running }
    }

    pub(crate) fn before_url(url: &str, policy: &Value) -> Gateway {
        Gateway::before(&format!("url = \"{url}\""), policy)
    }

    /// How a client reaches it.
    pub(crate) fn way(&self) -> Value {
        let headers = json!({"Authorization": format!("Bearer {TOKEN}")});
        json!({"url": format!("http://127.0.0.1:{}/mcp/peer", self.port), "headers": headers})
    }

    /// The records of the log, oldest first.
    pub(crate) fn log(&self) -> Vec<Value> {
        let ran = self.place.run(&["log", "tail", "-n", "1000", "--json", "--data-dir", "data"]);
        assert_eq!(ran.code, 0, "{}", ran.error);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Stops it; its log must verify.
    pub(crate) fn stop(self) {
        assert_eq!(self.running.stop(), Some(0));
        let verified = self.place.run(&["log", "verify", "--data-dir", "data"]);
        assert_eq!(verified.code, 0, "{}{}", verified.out, verified.error);
    }
}
