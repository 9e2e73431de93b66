//! The address of loopback that one kernel has for itself: all of 127.0.0.0/8 is this machine.
//!
//! Invariant: no two kernels have the same address at a time. When a server has gone, any process can take its port at
//! once: on a shared address a strategy that goes on asking there would reach the server of another cell.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

/// The UDP port at which an address is claimed. No cell uses UDP, and the port is below those that the kernel hands
/// out.
const PORT: u16 = 9_127;

/// How many addresses are tried.
const TRIES: u32 = 256;

/// An address that is claimed as long as this lives.
#[derive(Debug)]
pub struct Claim {
    address: Ipv4Addr,
    _socket: UdpSocket,
}

impl Claim {
    /// The first free address, beginning with this process's own: two rehangs in two pid namespaces may begin at the
    /// same one.
    ///
    /// # Errors
    /// The kernel's error; no address is free.
    pub fn new() -> io::Result<Claim> {
        let mut taken = io::Error::other("no address tried");
        for offset in 0..TRIES {
            let address = numbered(std::process::id().wrapping_add(offset));
            match UdpSocket::bind((address, PORT)) {
                Ok(socket) => return Ok(Claim { address, _socket: socket }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => taken = error,
                Err(error) => return Err(error),
            }
        }
        Err(taken)
    }

    /// The address itself.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }
}

/// From 127.64.0.0 on, so that the usual addresses 127.0.0.1, 127.0.1.1 and 127.0.0.53 are not among them. A process's
/// number is at most 22 bits long.
fn numbered(number: u32) -> Ipv4Addr {
    let [_, high, middle, low] = number.to_be_bytes();
    Ipv4Addr::new(127, 64 | (high & 63), middle, low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_claims_are_two_addresses() -> io::Result<()> {
        let (first, second) = (Claim::new()?, Claim::new()?);
        assert_ne!(first.address(), second.address());
        assert!(first.address().is_loopback() && second.address().is_loopback());
        Ok(())
    }

    #[test]
    fn every_number_is_an_address_of_its_own() {
        assert_eq!(numbered(1), Ipv4Addr::new(127, 64, 0, 1));
        assert_eq!(numbered(4_194_304), Ipv4Addr::new(127, 64, 0, 0));
        assert_eq!(numbered(4_194_303), Ipv4Addr::new(127, 127, 255, 255));
    }
}
