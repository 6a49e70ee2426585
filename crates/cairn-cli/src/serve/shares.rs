//! How many connections each address holds, so that none can take them all before it has shown a token.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The open connections of each address.
#[derive(Default)]
pub(super) struct Shares(Mutex<HashMap<IpAddr, usize>>);

/// One connection of an address, until it is dropped.
pub(super) struct Share {
    shares: Arc<Shares>,
    holder: IpAddr,
}

impl Shares {
    /// Counts a connection, unless its address has `most` already.
    pub(super) fn take(self: &Arc<Shares>, from: IpAddr, most: usize) -> Option<Share> {
        let holder = holder(from);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(holder).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Share { shares: self.clone(), holder })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = self.shares.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.holder);
            }
        }
    }
}

/// The unit that shares are counted by: an IPv4 address, or a network of 64 bits. A subscriber of IPv6 usually has a network of 64 bits to choose from.
fn holder(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => {
            let [a, b, c, d, ..] = ip.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_share_and_gets_it_back() {
        let shares = Arc::new(Shares::default());
        let take = |ip: &str| shares.take(ip.parse().unwrap(), 2);
        let held = [take("192.0.2.1").unwrap(), take("::ffff:192.0.2.1").unwrap()];
        assert!(take("192.0.2.1").is_none());
        let other = [take("192.0.2.2").unwrap(), take("2001:db8::1").unwrap(), take("2001:db8::2").unwrap()];
        assert!(take("2001:db8::3").is_none(), "of the same network");
        assert!(take("2001:db8:0:1::1").is_some());
        drop(held);
        assert!(take("192.0.2.1").is_some());
        drop(other);
        assert!(shares.0.lock().unwrap().is_empty());
    }
}
