//! Any bytes through the policy parser: no panic, no hang, bounded memory. A refusal says why and where;
//! a policy that was accepted is accepted again when it is printed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portcullis_policy::Policy;

fuzz_target!(|source: &[u8]| match Policy::parse(source) {
    Ok(policy) => {
        let printed = portcullis_json::compact(policy.document());
        assert!(Policy::from_value(policy.document()).is_ok());
        assert!(Policy::parse(printed.as_bytes()).is_ok());
    }
    Err(problems) => {
        assert!(problems.has_errors());
        for problem in problems.iter() {
            let _ = problem.place(source);
        }
    }
});
