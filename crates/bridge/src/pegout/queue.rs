//! Requests that wait for a transaction (`ReleaseRequestQueue`), first in, first out.
//!
//! Two cells: requests from before RSKIP-146 have no hash of the Rootstock transaction. Both are read into one list, the
//! older form first. Destinations are stored without their version, so that all are read back as P2PKH.

use rhizome_primitives::{B256, rlp};

use crate::bitcoin::{Address, BtcNetwork, Satoshi};
use crate::failure::{Failure, Result};
use crate::storage::codec;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Who is paid.
    pub destination: Address,
    /// How much, fees included.
    pub amount: Satoshi,
    /// Transaction that made the request, since RSKIP-146.
    pub rsk_tx: Option<B256>,
}

/// The requests in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestQueue {
    requests: Vec<Request>,
}

impl RequestQueue {
    /// A queue of these requests.
    pub fn new(requests: Vec<Request>) -> Self {
        Self { requests }
    }

    /// The requests in order.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// Adds a request at the end.
    pub fn push(&mut self, request: Request) {
        self.requests.push(request);
    }

    /// Takes up to `count` requests from the front.
    pub fn take(&mut self, count: usize) -> Vec<Request> {
        let count = count.min(self.requests.len());
        self.requests.drain(..count).collect()
    }

    /// Puts requests at the end again.
    pub fn put_back(&mut self, requests: Vec<Request>) {
        self.requests.extend(requests);
    }

    /// Removes every request that equals one of these, twins included.
    pub fn remove_all(&mut self, taken: &[Request]) {
        self.requests.retain(|request| !taken.contains(request));
    }

    /// `hash160, amount, …` of the requests without hash.
    pub fn encode_without_hash(&self) -> Vec<u8> {
        codec::list(|out| {
            for request in self.requests.iter().filter(|request| request.rsk_tx.is_none()) {
                put_request(out, request);
            }
        })
    }

    /// `hash160, amount, hash, …` of the requests with hash.
    pub fn encode_with_hash(&self) -> Vec<u8> {
        codec::list(|out| {
            for request in &self.requests {
                if let Some(hash) = request.rsk_tx {
                    put_request(out, request);
                    rlp::put_bytes(out, hash.as_slice());
                }
            }
        })
    }

    /// Reads the cell of requests without hash, and the other if there is one.
    pub fn decode(network: BtcNetwork, without_hash: Option<&[u8]>, with_hash: Option<&[u8]>) -> Result<Self> {
        let mut requests = read_requests(network, without_hash, 2)?;
        requests.append(&mut read_requests(network, with_hash, 3)?);
        Ok(Self { requests })
    }
}

fn put_request(out: &mut Vec<u8>, request: &Request) {
    rlp::put_bytes(out, &request.destination.hash);
    codec::put_long(out, request.amount);
}

fn read_requests(network: BtcNetwork, stored: Option<&[u8]>, width: usize) -> Result<Vec<Request>> {
    let elements = codec::read_list(stored)?;
    if elements.len() % width != 0 {
        return Err(Failure::threw(format!("queue of requests is no multiple of {width} elements")));
    }
    elements.chunks_exact(width).map(|entry| read_request(network, entry)).collect()
}

fn read_request(network: BtcNetwork, entry: &[&[u8]]) -> Result<Request> {
    let hash = entry[0].try_into().map_err(|_| Failure::threw("an address' hash has 20 bytes"))?;
    Ok(Request {
        destination: Address::p2pkh(network, hash),
        amount: codec::long_from_bytes(entry[1]),
        rsk_tx: entry.get(2).map(|hash| codec::hash(hash)).transpose()?,
    })
}
