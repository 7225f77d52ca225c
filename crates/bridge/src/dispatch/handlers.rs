//! From decoded arguments to the parts of the contract and back to a result (`Bridge`'s public methods). No rules here, only
//! what rskj's outer layer does: cutting numbers, texts for absent things, which failures become codes.

use crate::abi::Output;
use crate::dispatch::Arguments;
use crate::failure::{Failure, Result, caught};
use crate::federation::{FederationMember, KeyType};
use crate::peg::Peg;
use crate::votes::election::CallSpec;

type Reply = Result<Option<Output>>;

/// Code where a federation does not exist.
const NO_FEDERATION: i64 = -1;

fn int(value: i64) -> Reply {
    Ok(Some(Output::int(value)))
}

fn flag(value: bool) -> Reply {
    Ok(Some(Output::Bool(value)))
}

fn bytes(value: impl Into<Vec<u8>>) -> Reply {
    Ok(Some(Output::Bytes(value.into())))
}

fn text(value: String) -> Reply {
    Ok(Some(Output::String(value)))
}

fn done(result: Result<()>) -> Reply {
    result.map(|()| None)
}

/// A failure inside that the outer layer wraps into its own exception.
fn wrapped(result: Reply) -> Reply {
    result.map_err(Failure::wrapped)
}

fn key_type(arguments: &Arguments<'_>, index: usize) -> Result<KeyType> {
    KeyType::from_name(arguments.text(index)).ok_or_else(|| Failure::threw("no such type of key"))
}

fn key_at(members: &[FederationMember], index: i32, kind: KeyType) -> Reply {
    let member = usize::try_from(index).ok().and_then(|index| members.get(index));
    let member = member.ok_or_else(|| Failure::threw(format!("no federator with index {index}")))?;
    bytes(member.key(kind).bytes())
}

// Bitcoin's chain of headers.

pub(super) fn receive_headers(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    done(peg.receive_headers(arguments.byte_strings(0)))
}

pub(super) fn receive_header(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.receive_header(arguments.bytes(0))?)
}

pub(super) fn best_chain_height(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(i64::from(peg.btc_best_height()?))
}

pub(super) fn initial_block_height(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(i64::from(peg.btc_initial_height()?))
}

pub(super) fn block_locator(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    let hashes = peg.btc_block_locator()?;
    Ok(Some(Output::Strings(hashes.iter().map(ToString::to_string).collect())))
}

pub(super) fn block_hash_at_depth(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    bytes(*peg.btc_hash_at_depth(arguments.int(0).low_i32())?.display_bytes())
}

pub(super) fn transaction_confirmations(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let path = arguments.int(2).low_i32();
    int(peg.btc_confirmations(arguments.btc_hash(0), arguments.btc_hash(1), path, arguments.words(3))?)
}

/// The header getters answer nothing where they fail.
fn header(result: Result<Vec<u8>>) -> Reply {
    bytes(caught(result)?.unwrap_or_default())
}

pub(super) fn best_block_header(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    header(peg.btc_best_header())
}

pub(super) fn block_header_by_hash(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    header(peg.btc_header_by_hash(arguments.btc_hash(0)))
}

pub(super) fn block_header_by_height(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    header(peg.btc_header_by_height(arguments.int(0).low_i32()))
}

pub(super) fn parent_block_header(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    header(peg.btc_parent_header(arguments.btc_hash(0)))
}

pub(super) fn register_coinbase(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let (tx, block, tree) = (arguments.bytes(0), arguments.btc_hash(1), arguments.bytes(2));
    done(peg.register_coinbase(tx, block, tree, arguments.btc_hash(3), &arguments.word(4)))
}

pub(super) fn has_coinbase(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    flag(peg.coinbase_witness_root(arguments.btc_hash(0))?.is_some())
}

// Peg-in.

pub(super) fn register_transaction(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    done(peg.register_btc_transaction(arguments.bytes(0), arguments.int(1).low_i32(), arguments.bytes(2)))
}

pub(super) fn register_flyover(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    peg.register_flyover(arguments).map(|word| Some(Output::Int(word)))
}

pub(super) fn is_processed(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    flag(peg.processed_height_of_text(arguments.text(0))?.is_some())
}

pub(super) fn processed_height(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.processed_height_of_text(arguments.text(0))?.unwrap_or(-1))
}

pub(super) fn minimum_pegin(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.constants.minimum_pegin(peg.call.activations))
}

// Peg-out.

pub(super) fn release_btc(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    wrapped(done(peg.release_btc()))
}

pub(super) fn update_collections(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    wrapped(done(peg.update_collections()))
}

pub(super) fn add_signature(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    done(peg.add_signature(arguments.bytes(0), arguments.byte_strings(1), arguments.bytes(2)))
}

pub(super) fn state_for_release_client(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.state_for_release_client()?)
}

pub(super) fn state_for_svp_client(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.state_for_svp_client()?)
}

pub(super) fn state_for_debugging(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.state_for_debugging()?)
}

pub(super) fn next_pegout_height(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.next_pegout_height()?)
}

pub(super) fn queued_pegouts(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.queued_requests()? as i64)
}

pub(super) fn estimated_fees(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.estimated_fees_for_next_pegout()?)
}

pub(super) fn estimated_fees_for_amount(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.estimated_fees_for_amount(arguments.int(0))?)
}

// The federations in force.

pub(super) fn federation_address(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    text(peg.active_federation()?.address().to_string())
}

pub(super) fn federation_size(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.active_federation()?.members().len() as i64)
}

pub(super) fn federation_threshold(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.active_federation()?.signatures_required() as i64)
}

pub(super) fn federation_creation_time(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    let millis = peg.active_federation()?.creation_time_ms();
    int(peg.creation_time_answer(millis))
}

pub(super) fn federation_creation_block(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.active_federation()?.creation_block())
}

pub(super) fn federator_key(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    key_at(peg.active_federation()?.members(), arguments.int(0).low_i32(), KeyType::Btc)
}

pub(super) fn federator_key_of_type(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let kind = key_type(arguments, 1)?;
    key_at(peg.active_federation()?.members(), arguments.int(0).low_i32(), kind)
}

pub(super) fn active_redeem_script(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.active_federation()?.redeem_script().as_bytes())
}

pub(super) fn active_creation_height(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.active_federation_creation_height()?)
}

pub(super) fn retiring_address(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    text(peg.retiring_federation()?.map(|federation| federation.address().to_string()).unwrap_or_default())
}

pub(super) fn retiring_size(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.retiring_federation()?.map_or(NO_FEDERATION, |federation| federation.members().len() as i64))
}

pub(super) fn retiring_threshold(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.retiring_federation()?.map_or(NO_FEDERATION, |federation| federation.signatures_required() as i64))
}

pub(super) fn retiring_creation_time(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    let millis = peg.retiring_federation()?.map(|federation| federation.creation_time_ms());
    int(millis.map_or(NO_FEDERATION, |millis| peg.creation_time_answer(millis)))
}

pub(super) fn retiring_creation_block(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.retiring_federation()?.map_or(NO_FEDERATION, |federation| federation.creation_block()))
}

pub(super) fn retiring_key(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let Some(federation) = peg.retiring_federation()? else { return bytes([]) };
    key_at(federation.members(), arguments.int(0).low_i32(), KeyType::Btc)
}

pub(super) fn retiring_key_of_type(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let kind = key_type(arguments, 1)?;
    let Some(federation) = peg.retiring_federation()? else { return bytes([]) };
    key_at(federation.members(), arguments.int(0).low_i32(), kind)
}

// Federation change.

pub(super) fn create_federation(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.vote_federation_change(CallSpec::new("create", &[]))?)
}

pub(super) fn add_federator(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.vote_federation_change(CallSpec::new("add", &[arguments.bytes(0)]))?)
}

pub(super) fn add_federator_multikey(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let keys = [arguments.bytes(0), arguments.bytes(1), arguments.bytes(2)];
    int(peg.vote_federation_change(CallSpec::new("add-multi", &keys))?)
}

pub(super) fn commit_federation(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.vote_federation_change(CallSpec::new("commit", &[arguments.bytes(0)]))?)
}

pub(super) fn rollback_federation(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.vote_federation_change(CallSpec::new("rollback", &[]))?)
}

pub(super) fn pending_hash(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.pending_federation()?.map(|pending| pending.hash().to_vec()).unwrap_or_default())
}

pub(super) fn pending_size(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.pending_federation()?.map_or(NO_FEDERATION, |pending| pending.members().len() as i64))
}

pub(super) fn pending_key(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    match peg.pending_federation()? {
        None => bytes([]),
        Some(pending) => key_at(pending.members(), arguments.int(0).low_i32(), KeyType::Btc),
    }
}

pub(super) fn pending_key_of_type(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let kind = key_type(arguments, 1)?;
    match peg.pending_federation()? {
        None => bytes([]),
        Some(pending) => key_at(pending.members(), arguments.int(0).low_i32(), kind),
    }
}

pub(super) fn proposed_address(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    text(peg.proposed_federation()?.map(|federation| federation.address().to_string()).unwrap_or_default())
}

pub(super) fn proposed_size(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.proposed_federation()?.map_or(NO_FEDERATION, |federation| federation.members().len() as i64))
}

pub(super) fn proposed_creation_time(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.proposed_federation()?.map_or(-1, |federation| federation.creation_time_ms().div_euclid(1_000)))
}

pub(super) fn proposed_creation_block(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.proposed_federation()?.map_or(NO_FEDERATION, |federation| federation.creation_block()))
}

pub(super) fn proposed_key_of_type(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let kind = key_type(arguments, 1)?;
    let Some(federation) = peg.proposed_federation()? else { return bytes([]) };
    key_at(federation.members(), arguments.int(0).low_i32(), kind)
}

// Votes and limits.

pub(super) fn fee_per_kb(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.fee_per_kb()?)
}

pub(super) fn vote_fee_per_kb(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.vote_fee_per_kb(arguments.int(0).exact_i64())?)
}

pub(super) fn locking_cap(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.locking_cap()?.ok_or_else(|| Failure::threw("no locking cap before RSKIP-134"))?)
}

pub(super) fn increase_locking_cap(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    let cap = arguments.int(0).exact_i64().ok_or_else(|| Failure::illegal("locking cap out of range"))?;
    flag(peg.increase_locking_cap(cap)?)
}

pub(super) fn whitelist_size(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.whitelist_size()?)
}

pub(super) fn whitelist_address(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    text(peg.whitelist_address_at(arguments.int(0).low_i32())?)
}

pub(super) fn whitelist_entry(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.whitelist_entry(arguments.text(0))?)
}

pub(super) fn add_one_off(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.add_one_off_to_whitelist(arguments.text(0), arguments.int(1))?)
}

pub(super) fn add_unlimited(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.add_unlimited_to_whitelist(arguments.text(0))?)
}

pub(super) fn remove_from_whitelist(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.remove_from_whitelist(arguments.text(0))?)
}

pub(super) fn set_whitelist_delay(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.set_whitelist_disable_delay(arguments.int(0))?)
}

// The Union Bridge.

pub(super) fn set_union_address(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.set_union_address(arguments.address(0))?)
}

pub(super) fn union_address(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    Ok(Some(Output::Address(peg.union_address()?)))
}

pub(super) fn union_locking_cap(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    Ok(Some(Output::uint(peg.union_locking_cap()?)))
}

pub(super) fn increase_union_locking_cap(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.increase_union_locking_cap(arguments.int(0))?)
}

pub(super) fn request_union_rbtc(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.request_union_rbtc(arguments.int(0))?)
}

pub(super) fn release_union_rbtc(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    int(peg.release_union_rbtc()?)
}

pub(super) fn set_union_permissions(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    int(peg.set_union_permissions(arguments.flag(0), arguments.flag(1))?)
}

pub(super) fn super_event(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.super_event()?)
}

pub(super) fn set_super_event(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    done(peg.set_super_event(arguments.bytes(0)))
}

pub(super) fn clear_super_event(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    done(peg.set_super_event(&[]))
}

pub(super) fn base_event(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    bytes(peg.base_event()?)
}

pub(super) fn set_base_event(peg: &mut Peg<'_>, arguments: &Arguments<'_>) -> Reply {
    done(peg.set_base_event(arguments.bytes(0)))
}

pub(super) fn clear_base_event(peg: &mut Peg<'_>, _: &Arguments<'_>) -> Reply {
    done(peg.set_base_event(&[]))
}
