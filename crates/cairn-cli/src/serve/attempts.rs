//! Who offered a wrong token how often. Tokens cannot be guessed; trying to is noise that should stay small.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Wrong tokens from one address in a while, before it has to wait.
const MOST: u32 = 10;
const WHILE: Duration = Duration::from_secs(60);
/// Addresses that are remembered. Beyond that the oldest are forgotten.
const REMEMBERED: usize = 10_000;

/// Counts wrong tokens by address.
#[derive(Default)]
pub struct Attempts {
    by_address: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Attempts {
    /// How many seconds an address has to wait, if it has to.
    pub fn must_wait(&self, from: IpAddr) -> Option<u64> {
        let attempts = self.by_address.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (since, count) = attempts.get(&network(from))?;
        let left = WHILE.checked_sub(since.elapsed())?;
        (*count >= MOST).then(|| left.as_secs() + 1)
    }

    /// Lets everybody try again.
    #[cfg(test)]
    pub fn forget(&self) {
        self.by_address.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    }

    /// Notes a wrong token.
    pub fn failed(&self, from: IpAddr) {
        let mut attempts = self.by_address.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if attempts.len() >= REMEMBERED {
            attempts.retain(|_, (since, _)| since.elapsed() < WHILE);
        }
        if attempts.len() >= REMEMBERED
            && let Some(oldest) =
                attempts.iter().min_by_key(|(_, (since, _))| *since).map(|(address, _)| *address)
        {
            attempts.remove(&oldest);
        }
        let entry = attempts.entry(network(from)).or_insert((Instant::now(), 0));
        if entry.0.elapsed() >= WHILE {
            *entry = (Instant::now(), 0);
        }
        entry.1 += 1;
    }
}

/// Whoever has one address of the new kind has all that share its first half.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => address.into(),
            None => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_wrong_tokens_make_an_address_wait_and_no_other() {
        let attempts = Attempts::default();
        let (one, other): (IpAddr, IpAddr) = ("2001:db8::1".parse().unwrap(), "192.0.2.1".parse().unwrap());
        for _ in 0..MOST {
            assert_eq!(attempts.must_wait(one), None);
            attempts.failed(one);
        }
        assert!(attempts.must_wait(one).is_some_and(|seconds| (1..=61).contains(&seconds)));
        assert!(attempts.must_wait("2001:db8::2".parse().unwrap()).is_some());
        assert_eq!(attempts.must_wait(other), None);
    }
}
