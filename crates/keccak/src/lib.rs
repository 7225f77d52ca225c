//! Keccak-256 of many inputs at once.
//!
//! [`keccak256_batch`] hashes independent inputs. Where the processor has AVX-512F it works on eight at a time, one input in
//! each 64-bit lane of the registers; elsewhere, and for groups too small to pay, it calls the scalar function. Both give
//! the same digests: the tests compare every lane with the scalar function.

use alloy_primitives::{B256, keccak256};

#[cfg(target_arch = "x86_64")]
mod avx512;

/// Bytes absorbed by one permutation of Keccak-256.
pub const RATE: usize = 136;

/// Inputs that one pass of the multi-buffer form takes.
pub const LANES: usize = 8;

/// The least number of inputs for which eight lanes are cheaper than as many scalar calls (eight lanes cost about four).
const WORTH: usize = 4;

/// Permutations that an input needs: the padding takes at least one byte.
const fn blocks(length: usize) -> usize {
    length / RATE + 1
}

/// Whether this processor runs the eight-lane form.
pub fn has_multi_buffer() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512f")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

/// Hashes every input into the place of the same index in `out`.
///
/// # Panics
/// When the two slices differ in length: a mistake of the caller.
pub fn keccak256_batch(inputs: &[&[u8]], out: &mut [B256]) {
    assert_eq!(inputs.len(), out.len(), "one digest for each input");
    if inputs.len() < WORTH || !has_multi_buffer() {
        return scalar(inputs, out);
    }
    let first = blocks(inputs[0].len());
    if inputs.iter().all(|input| blocks(input.len()) == first) {
        for (inputs, out) in inputs.chunks(LANES).zip(out.chunks_mut(LANES)) {
            group(inputs, out);
        }
        return;
    }
    // Lanes of one group take the same number of permutations, so inputs are grouped by it.
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|&index| blocks(inputs[index].len()));
    for same in order.chunk_by(|&a, &b| blocks(inputs[a].len()) == blocks(inputs[b].len())) {
        for lanes in same.chunks(LANES) {
            let mut taken = [&[][..]; LANES];
            let mut digests = [B256::ZERO; LANES];
            for (slot, &index) in taken.iter_mut().zip(lanes) {
                *slot = inputs[index];
            }
            group(&taken[..lanes.len()], &mut digests[..lanes.len()]);
            for (digest, &index) in digests.iter().zip(lanes) {
                out[index] = *digest;
            }
        }
    }
}

/// Hashes one by one.
fn scalar(inputs: &[&[u8]], out: &mut [B256]) {
    for (input, digest) in inputs.iter().zip(out) {
        *digest = keccak256(input);
    }
}

/// Hashes at most [`LANES`] inputs of the same number of blocks; the processor has been asked for its features.
fn group(inputs: &[&[u8]], out: &mut [B256]) {
    if inputs.len() < WORTH {
        return scalar(inputs, out);
    }
    #[cfg(target_arch = "x86_64")]
    avx512::hash_group(inputs, out);
    #[cfg(not(target_arch = "x86_64"))]
    scalar(inputs, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that differ between inputs and positions.
    fn pattern(seed: usize, length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 131 + seed * 29 + (at >> 8) + 7) as u8).collect()
    }

    fn check(inputs: &[Vec<u8>]) {
        let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let mut out = vec![B256::ZERO; slices.len()];
        keccak256_batch(&slices, &mut out);
        for (index, input) in slices.iter().enumerate() {
            assert_eq!(out[index], keccak256(input), "input {index} of {}, {} bytes", slices.len(), input.len());
        }
    }

    #[test]
    fn every_lane_equals_the_scalar_digest_at_every_length() {
        for length in 0..=3 * RATE + 1 {
            check(&(0..LANES).map(|lane| pattern(lane, length)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn groups_of_every_size_agree() {
        for count in 0..=3 * LANES + 1 {
            check(&(0..count).map(|lane| pattern(lane, 76)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn mixed_lengths_agree() {
        for shift in 0..40 {
            check(&(0..37).map(|lane| pattern(lane, (lane * 97 + shift * 13) % 700)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_changed_lane_changes_only_its_digest() {
        let inputs: Vec<Vec<u8>> = (0..LANES).map(|lane| pattern(lane, 100)).collect();
        let mut before = [B256::ZERO; LANES];
        keccak256_batch(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut before);
        for lane in 0..LANES {
            let mut changed = inputs.clone();
            changed[lane][99] ^= 1;
            let mut after = [B256::ZERO; LANES];
            keccak256_batch(&changed.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut after);
            for other in 0..LANES {
                assert_eq!(before[other] == after[other], other != lane);
            }
        }
    }
}
