//! The eight-lane permutation: word *w* of input *l* sits in lane *l* of register *w*.
#![allow(
    unsafe_code,
    reason = "loads, stores and the call of a function compiled for AVX-512F cannot be written without"
)]

use std::arch::x86_64::*;

use alloy_primitives::B256;

use crate::{LANES, RATE, blocks, scalar};

/// Words absorbed by one permutation.
const WORDS: usize = RATE / 8;

const ROUND_CONSTANTS: [u64; 24] = [
    0x0000000000000001,
    0x0000000000008082,
    0x800000000000808a,
    0x8000000080008000,
    0x000000000000808b,
    0x0000000080000001,
    0x8000000080008081,
    0x8000000000008009,
    0x000000000000008a,
    0x0000000000000088,
    0x0000000080008009,
    0x000000008000000a,
    0x000000008000808b,
    0x800000000000008b,
    0x8000000000008089,
    0x8000000000008003,
    0x8000000000008002,
    0x8000000000000080,
    0x000000000000800a,
    0x800000008000000a,
    0x8000000080008081,
    0x8000000000008080,
    0x0000000080000001,
    0x8000000080008008,
];

/// Hashes at most eight inputs that all take the same number of permutations.
pub(crate) fn hash_group(inputs: &[&[u8]], out: &mut [B256]) {
    if !std::arch::is_x86_feature_detected!("avx512f") {
        return scalar(inputs, out);
    }
    debug_assert!(inputs.len() <= LANES && inputs.len() == out.len());
    // SAFETY: the processor was just found to have AVX-512F, the only feature that the function is compiled for.
    unsafe { hash_lanes(inputs, out) }
}

#[target_feature(enable = "avx512f")]
fn hash_lanes(inputs: &[&[u8]], out: &mut [B256]) {
    let count = inputs.first().map_or(0, |input| blocks(input.len()));
    let mut state = [_mm512_setzero_si512(); 25];
    // A row is one block of one input, its two bytes of padding included; unused lanes stay zero.
    let mut rows = [[0u8; RATE]; LANES];
    for block in 0..count {
        let last = block + 1 == count;
        for (row, input) in rows.iter_mut().zip(inputs) {
            let rest = &input[block * RATE..];
            if last {
                row[..rest.len()].copy_from_slice(rest);
                row[rest.len()..].fill(0);
                row[rest.len()] ^= 0x01;
                row[RATE - 1] ^= 0x80;
            } else {
                row.copy_from_slice(&rest[..RATE]);
            }
        }
        absorb(&mut state, &rows);
        permute(&mut state);
    }
    let mut words = [[0u64; LANES]; 4];
    for (word, register) in words.iter_mut().zip(&state) {
        // SAFETY: the destination is an array of eight 64-bit words, the 64 bytes that the unaligned store writes.
        unsafe { _mm512_storeu_si512(word.as_mut_ptr().cast(), *register) }
    }
    for (lane, digest) in out.iter_mut().enumerate() {
        for (word, bytes) in words.iter().zip(digest.0.chunks_exact_mut(8)) {
            bytes.copy_from_slice(&word[lane].to_le_bytes());
        }
    }
}

/// Adds one block of each lane to the state: rows of words become registers of lanes.
#[target_feature(enable = "avx512f")]
fn absorb(state: &mut [__m512i; 25], rows: &[[u8; RATE]; LANES]) {
    for half in 0..2 {
        let mut loaded = [_mm512_setzero_si512(); LANES];
        for (register, row) in loaded.iter_mut().zip(rows) {
            let part: &[u8] = &row[half * 64..half * 64 + 64];
            // SAFETY: the slice is 64 bytes long, which is what the unaligned load reads.
            *register = unsafe { _mm512_loadu_si512(part.as_ptr().cast()) };
        }
        for (word, register) in transpose(loaded).into_iter().enumerate() {
            let at = half * 8 + word;
            state[at] = _mm512_xor_si512(state[at], register);
        }
    }
    let tail = |lane: usize| {
        let row = &rows[lane];
        i64::from_le_bytes([row[128], row[129], row[130], row[131], row[132], row[133], row[134], row[135]])
    };
    let last = _mm512_set_epi64(tail(7), tail(6), tail(5), tail(4), tail(3), tail(2), tail(1), tail(0));
    state[WORDS - 1] = _mm512_xor_si512(state[WORDS - 1], last);
}

/// Transposes eight rows of eight words.
#[target_feature(enable = "avx512f")]
fn transpose(row: [__m512i; 8]) -> [__m512i; 8] {
    let pair = [
        _mm512_unpacklo_epi64(row[0], row[1]),
        _mm512_unpackhi_epi64(row[0], row[1]),
        _mm512_unpacklo_epi64(row[2], row[3]),
        _mm512_unpackhi_epi64(row[2], row[3]),
        _mm512_unpacklo_epi64(row[4], row[5]),
        _mm512_unpackhi_epi64(row[4], row[5]),
        _mm512_unpacklo_epi64(row[6], row[7]),
        _mm512_unpackhi_epi64(row[6], row[7]),
    ];
    // 0x88 takes the even 128-bit quarters of both, 0xdd the odd ones.
    let even = [
        _mm512_shuffle_i64x2::<0x88>(pair[0], pair[2]),
        _mm512_shuffle_i64x2::<0x88>(pair[1], pair[3]),
        _mm512_shuffle_i64x2::<0x88>(pair[4], pair[6]),
        _mm512_shuffle_i64x2::<0x88>(pair[5], pair[7]),
    ];
    let odd = [
        _mm512_shuffle_i64x2::<0xdd>(pair[0], pair[2]),
        _mm512_shuffle_i64x2::<0xdd>(pair[1], pair[3]),
        _mm512_shuffle_i64x2::<0xdd>(pair[4], pair[6]),
        _mm512_shuffle_i64x2::<0xdd>(pair[5], pair[7]),
    ];
    [
        _mm512_shuffle_i64x2::<0x88>(even[0], even[2]),
        _mm512_shuffle_i64x2::<0x88>(even[1], even[3]),
        _mm512_shuffle_i64x2::<0x88>(odd[0], odd[2]),
        _mm512_shuffle_i64x2::<0x88>(odd[1], odd[3]),
        _mm512_shuffle_i64x2::<0xdd>(even[0], even[2]),
        _mm512_shuffle_i64x2::<0xdd>(even[1], even[3]),
        _mm512_shuffle_i64x2::<0xdd>(odd[0], odd[2]),
        _mm512_shuffle_i64x2::<0xdd>(odd[1], odd[3]),
    ]
}

/// The 24 rounds of Keccak-f[1600] on all lanes.
#[target_feature(enable = "avx512f")]
fn permute(state: &mut [__m512i; 25]) {
    // Bits of the two truth tables: a ^ b ^ c, and a ^ (!b & c).
    const XOR: i32 = 0x96;
    const CHI: i32 = 0xd2;
    let mut a = *state;
    for constant in ROUND_CONSTANTS {
        // Theta.
        let mut column = [_mm512_setzero_si512(); 5];
        for x in 0..5 {
            let upper = _mm512_ternarylogic_epi64::<XOR>(a[x], a[x + 5], a[x + 10]);
            column[x] = _mm512_ternarylogic_epi64::<XOR>(upper, a[x + 15], a[x + 20]);
        }
        for x in 0..5 {
            let turned = _mm512_rol_epi64::<1>(column[(x + 1) % 5]);
            for y in 0..5 {
                let at = x + 5 * y;
                a[at] = _mm512_ternarylogic_epi64::<XOR>(a[at], column[(x + 4) % 5], turned);
            }
        }
        // Rho and pi: word (x, y) turns and goes to (y, 2x + 3y).
        let b = [
            a[0],
            _mm512_rol_epi64::<44>(a[6]),
            _mm512_rol_epi64::<43>(a[12]),
            _mm512_rol_epi64::<21>(a[18]),
            _mm512_rol_epi64::<14>(a[24]),
            _mm512_rol_epi64::<28>(a[3]),
            _mm512_rol_epi64::<20>(a[9]),
            _mm512_rol_epi64::<3>(a[10]),
            _mm512_rol_epi64::<45>(a[16]),
            _mm512_rol_epi64::<61>(a[22]),
            _mm512_rol_epi64::<1>(a[1]),
            _mm512_rol_epi64::<6>(a[7]),
            _mm512_rol_epi64::<25>(a[13]),
            _mm512_rol_epi64::<8>(a[19]),
            _mm512_rol_epi64::<18>(a[20]),
            _mm512_rol_epi64::<27>(a[4]),
            _mm512_rol_epi64::<36>(a[5]),
            _mm512_rol_epi64::<10>(a[11]),
            _mm512_rol_epi64::<15>(a[17]),
            _mm512_rol_epi64::<56>(a[23]),
            _mm512_rol_epi64::<62>(a[2]),
            _mm512_rol_epi64::<55>(a[8]),
            _mm512_rol_epi64::<39>(a[14]),
            _mm512_rol_epi64::<41>(a[15]),
            _mm512_rol_epi64::<2>(a[21]),
        ];
        // Chi, then iota on the first word.
        for y in [0, 5, 10, 15, 20] {
            for x in 0..5 {
                a[y + x] = _mm512_ternarylogic_epi64::<CHI>(b[y + x], b[y + (x + 1) % 5], b[y + (x + 2) % 5]);
            }
        }
        a[0] = _mm512_xor_si512(a[0], _mm512_set1_epi64(constant.cast_signed()));
    }
    *state = a;
}
