//! A program of Rust that knows the installed library alone: a small attention beside a plain loop. Its own
//! declarations of tril.h; `app layouts` prints them as layouts.c prints those of the header.

use std::ffi::{c_void, CStr};
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;
use std::ptr::{addr_of, null, null_mut};

macro_rules! c_structs {
    ($(struct $name:ident { $($member:ident: $kind:ty,)* })*) => {
        $(#[repr(C)] #[derive(Clone, Copy)] #[allow(non_camel_case_types)]
        struct $name { $($member: $kind,)* })*

        fn print_layouts() {
            $(
                println!("{} 0 {}", stringify!($name), size_of::<$name>());
                let place = MaybeUninit::<$name>::uninit();
                $(
                    let member = unsafe { addr_of!((*place.as_ptr()).$member) };
                    let (offset, size) = (member as usize - place.as_ptr() as usize, size_of::<$kind>());
                    let name = stringify!($member).trim_end_matches('_'); // self_: the name is taken
                    println!("{}.{} {} {}", stringify!($name), name, offset, size);
                )*
            )*
        }
    };
}

type Task = extern "C" fn(*mut c_void, i64);

c_structs! {
    struct tril_status {
        code: i32,
        message: [c_char; 124],
    }
    struct tril_layout {
        dtype: i32,
        reserved: i32,
        extents: [i64; 4],
        strides: [i64; 4],
    }
    struct tril_executor {
        self_: *mut c_void,
        parallel_for: Option<extern "C" fn(*mut c_void, i64, Task, *mut c_void)>,
    }
    struct tril_context_args {
        struct_size: usize,
        isa: *const c_char,
        threads: i32,
        executor: tril_executor,
    }
    struct tril_kv_layout {
        struct_size: usize,
        k: tril_layout,
        v: tril_layout,
        lengths: *const i32,
    }
    struct tril_attention_args {
        struct_size: usize,
        q: tril_layout,
        out: tril_layout,
        lse: tril_layout,
        kv: *const tril_kv_layout,
        q_lengths: *const i32,
        query_offset: *const i32,
        flags: u32,
        scale: f32,
        window_left: i64,
        window_right: i64,
    }
    struct tril_attention_data {
        struct_size: usize,
        q: *const f32,
        k: *const f32,
        v: *const f32,
        out: *mut f32,
        lse: *mut f32,
        workspace: *mut c_void,
        workspace_bytes: usize,
    }
}

extern "C" {
    fn tril_version() -> *const c_char;
    fn tril_context_create(args: *const tril_context_args, context: *mut *mut c_void) -> tril_status;
    fn tril_context_destroy(context: *mut c_void);
    fn tril_context_isa(context: *const c_void) -> *const c_char;
    fn tril_attention(
        context: *const c_void,
        args: *const tril_attention_args,
        data: *const tril_attention_data,
    ) -> tril_status;
}

const TRIL_F32: i32 = 1;
const ROWS: usize = 5;
const KEYS: usize = 300;
const Q_HEADS: usize = 4;
const KV_HEADS: usize = 2;
const DIM: usize = 8;
const VALUE_DIM: usize = 6;

/// Contiguous `[1][tokens][heads][dim]`.
fn bthd(tokens: usize, heads: usize, dim: usize) -> tril_layout {
    let (tokens, heads, dim) = (tokens as i64, heads as i64, dim as i64);
    let strides = [tokens * heads * dim, heads * dim, dim, 1];
    tril_layout { dtype: TRIL_F32, reserved: 0, extents: [1, tokens, heads, dim], strides }
}

const NO_TENSOR: tril_layout = tril_layout { dtype: 0, reserved: 0, extents: [0; 4], strides: [0; 4] };

/// In [-1, 1), the same for everyone who counts in 32 bits.
fn filled(count: usize, mut seed: u32) -> Vec<f32> {
    let next = || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 8) as f32 / 8388608.0 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn check(status: tril_status) {
    assert!(status.code == 0, "{:?}", unsafe { CStr::from_ptr(status.message.as_ptr()) });
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("layouts") {
        return print_layouts();
    }

    let q = filled(ROWS * Q_HEADS * DIM, 1);
    let k = filled(KEYS * KV_HEADS * DIM, 2);
    let v = filled(KEYS * KV_HEADS * VALUE_DIM, 3);
    let mut out = vec![0f32; ROWS * Q_HEADS * VALUE_DIM];

    let executor = tril_executor { self_: null_mut(), parallel_for: None };
    let context_args =
        tril_context_args { struct_size: size_of::<tril_context_args>(), isa: null(), threads: 2, executor };
    let kv = tril_kv_layout {
        struct_size: size_of::<tril_kv_layout>(),
        k: bthd(KEYS, KV_HEADS, DIM),
        v: bthd(KEYS, KV_HEADS, VALUE_DIM),
        lengths: null(),
    };
    let args = tril_attention_args {
        struct_size: size_of::<tril_attention_args>(),
        q: bthd(ROWS, Q_HEADS, DIM),
        out: bthd(ROWS, Q_HEADS, VALUE_DIM),
        lse: NO_TENSOR,
        kv: &kv,
        q_lengths: null(),
        query_offset: null(),
        flags: 0,
        scale: 0.0,
        window_left: -1,
        window_right: -1,
    };
    let data = tril_attention_data {
        struct_size: size_of::<tril_attention_data>(),
        q: q.as_ptr(),
        k: k.as_ptr(),
        v: v.as_ptr(),
        out: out.as_mut_ptr(),
        lse: null_mut(),
        workspace: null_mut(),
        workspace_bytes: 0,
    };

    let mut context = null_mut();
    let (version, isa) = unsafe {
        check(tril_context_create(&context_args, &mut context));
        check(tril_attention(context, &args, &data));
        let isa = CStr::from_ptr(tril_context_isa(context)).to_owned();
        tril_context_destroy(context);
        (CStr::from_ptr(tril_version()), isa)
    };

    let mut worst = 0f64;
    for row in 0..ROWS {
        for head in 0..Q_HEADS {
            let kv_head = head / (Q_HEADS / KV_HEADS);
            let (mut weights, mut sums) = (0f64, [0f64; VALUE_DIM]);
            for key in 0..=KEYS - ROWS + row {
                let in_q = &q[(row * Q_HEADS + head) * DIM..][..DIM];
                let in_k = &k[(key * KV_HEADS + kv_head) * DIM..][..DIM];
                let score: f64 = in_q.iter().zip(in_k).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                let weight = (score / (DIM as f64).sqrt()).exp();
                weights += weight;
                let in_v = &v[(key * KV_HEADS + kv_head) * VALUE_DIM..];
                sums.iter_mut().zip(in_v).for_each(|(sum, &value)| *sum += weight * f64::from(value));
            }
            let in_out = &out[(row * Q_HEADS + head) * VALUE_DIM..];
            for (&sum, &value) in sums.iter().zip(in_out) {
                worst = worst.max((f64::from(value) - sum / weights).abs());
            }
        }
    }
    println!("tril {}, {}: error {:.1e}", version.to_string_lossy(), isa.to_string_lossy(), worst);
    assert!(worst < 1e-6);
}
