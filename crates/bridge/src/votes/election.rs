//! Votes for calls (`ABICallElection`, `ABICallSpec`) and their stored form.
//!
//! Entries are kept in the order they are stored in: by *signed* comparison of name and arguments. rskj keeps them in a hash
//! map, which shows nowhere, because at most one call can have enough votes at a time.

use std::cmp::Ordering;

use rhizome_primitives::{Address, rlp};

use crate::constants::Authorizer;
use crate::failure::{Failure, Result};
use crate::storage::codec;

/// A call that can be voted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSpec {
    /// Name of the function.
    pub function: String,
    /// Its arguments, plain bytes.
    pub arguments: Vec<Vec<u8>>,
}

impl CallSpec {
    /// A call with these arguments.
    pub fn new(function: &str, arguments: &[&[u8]]) -> Self {
        Self { function: function.to_owned(), arguments: arguments.iter().map(|argument| argument.to_vec()).collect() }
    }

    fn bytes(&self) -> impl Iterator<Item = i8> + '_ {
        self.function.bytes().chain(self.arguments.iter().flatten().copied()).map(|byte| byte as i8)
    }

    fn by_signed_bytes(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

/// The votes so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Election {
    votes: Vec<(CallSpec, Vec<Address>)>,
}

impl Election {
    /// Registers a vote. False if the voter may not vote or has voted for this call.
    pub fn vote(&mut self, call: &CallSpec, voter: Address, authorizer: &Authorizer) -> bool {
        if !authorizer.is_authorized(&voter) {
            return false;
        }
        let Some((_, voters)) = self.votes.iter_mut().find(|(spec, _)| spec == call) else {
            self.votes.push((call.clone(), vec![voter]));
            return true;
        };
        if voters.contains(&voter) {
            return false;
        }
        voters.push(voter);
        true
    }

    /// The call with enough votes.
    pub fn winner(&self, authorizer: &Authorizer) -> Option<&CallSpec> {
        self.votes.iter().find(|(_, voters)| voters.len() >= authorizer.required_count()).map(|(spec, _)| spec)
    }

    /// Removes the votes of the winner.
    pub fn clear_winner(&mut self, authorizer: &Authorizer) {
        if let Some(at) = self.votes.iter().position(|(_, voters)| voters.len() >= authorizer.required_count()) {
            self.votes.remove(at);
        }
    }

    /// Removes all votes.
    pub fn clear(&mut self) {
        self.votes.clear();
    }

    /// `spec, [voter…], …` in one list, a spec being `[name, [argument…]]`.
    pub fn encode(&self) -> Vec<u8> {
        let mut sorted: Vec<_> = self.votes.iter().collect();
        sorted.sort_by(|(a, _), (b, _)| a.by_signed_bytes(b));
        codec::list(|out| {
            for (spec, voters) in sorted {
                let arguments =
                    codec::list(|out| spec.arguments.iter().for_each(|argument| rlp::put_bytes(out, argument)));
                rlp::put_list(out, |out| {
                    rlp::put_bytes(out, spec.function.as_bytes());
                    out.extend_from_slice(&arguments);
                });
                let mut voters: Vec<_> = voters.iter().collect();
                voters.sort_unstable();
                rlp::put_list(out, |out| voters.iter().for_each(|voter| rlp::put_bytes(out, voter.as_slice())));
            }
        })
    }

    /// Reads a stored election. Throws on a voter that is not authorised.
    pub fn decode(stored: Option<&[u8]>, authorizer: &Authorizer) -> Result<Self> {
        let entries = codec::read_list(stored)?;
        if entries.len() % 2 != 0 {
            return Err(Failure::threw("election with an odd number of entries"));
        }
        let mut votes: Vec<(CallSpec, Vec<Address>)> = Vec::with_capacity(entries.len() / 2);
        for entry in entries.chunks_exact(2) {
            let spec = decode_spec(entry[0])?;
            let voters = codec::read_list(Some(entry[1]))?;
            let voters: Vec<_> = voters.into_iter().map(codec::rsk_address).collect::<Result<_>>()?;
            if !voters.iter().all(|voter| authorizer.is_authorized(voter)) {
                return Err(Failure::threw("unauthorized voter"));
            }
            match votes.iter_mut().find(|(known, _)| *known == spec) {
                Some((_, known)) => *known = voters,
                None => votes.push((spec, voters)),
            }
        }
        Ok(Self { votes })
    }
}

fn decode_spec(bytes: &[u8]) -> Result<CallSpec> {
    let items = rlp::decode_leading_list(bytes)?.collect_all()?;
    let [name, arguments] = items.as_slice() else {
        return Err(Failure::threw("call spec without exactly two elements"));
    };
    let arguments = codec::elements(arguments.list()?)?;
    if name.data().is_empty() || arguments.iter().any(|argument| argument.is_empty()) {
        return Err(Failure::threw("empty element of a call spec"));
    }
    Ok(CallSpec {
        function: String::from_utf8_lossy(name.data()).into_owned(),
        arguments: arguments.into_iter().map(<[u8]>::to_vec).collect(),
    })
}
