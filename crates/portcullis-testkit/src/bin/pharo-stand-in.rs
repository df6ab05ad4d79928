//! Starts the stand-in image by hand, for trying things out and for measuring. It is a test peer
//! and not Pharo. Prints its URL and runs until it is killed.

use std::io::Write;

use portcullis_testkit::pharo_stand_in::StandIn;

fn main() -> std::io::Result<()> {
    let stand_in = StandIn::start()?;
    writeln!(std::io::stdout().lock(), "{}", stand_in.url())?;
    loop {
        std::thread::park();
    }
}
