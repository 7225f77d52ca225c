//! The rules of a block that execution asks for while it runs, one flag each.

use rhizome_chainspec::{Activations, Rskip};

/// Rules that the instruction table cannot express.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// A precompile's output fills the return buffer.
    pub(crate) r90: bool,
    /// Static frames are protected.
    pub(crate) r91: bool,
    /// STATICCALL takes no value from the stack.
    pub(crate) r103: bool,
    /// Address collisions fail; new contracts start with nonce 1.
    pub(crate) r125: bool,
    /// Gas is checked without wrapping at a transaction's end.
    pub(crate) r136: bool,
    /// Depth of 400, no wrapping call gas, no writes of a precompile behind the asked length.
    pub(crate) r150: bool,
    /// Standard code hashes.
    pub(crate) r169: bool,
    /// Calls without a frame clear the return buffer.
    pub(crate) r171: bool,
    /// A created contract keeps the balance that its address had.
    pub(crate) r174: bool,
    /// Failures of precompiles stay in the call.
    pub(crate) r197: bool,
    /// Initcode is limited and has a price.
    pub(crate) r438: bool,
    /// A failed code deposit fails the creation.
    pub(crate) r453: bool,
    /// Precompile input from code is cut.
    pub(crate) r516: bool,
    /// Code may not begin with 0xEF.
    pub(crate) r544: bool,
}

impl Rules {
    pub(crate) fn of(activations: Activations) -> Self {
        let is = |rule| activations.is_active(rule);
        Self {
            r90: is(Rskip::R90),
            r91: is(Rskip::R91),
            r103: is(Rskip::R103),
            r125: is(Rskip::R125),
            r136: is(Rskip::R136),
            r150: is(Rskip::R150),
            r169: is(Rskip::R169),
            r171: is(Rskip::R171),
            r174: is(Rskip::R174),
            r197: is(Rskip::R197),
            r438: is(Rskip::R438),
            r453: is(Rskip::R453),
            r516: is(Rskip::R516),
            r544: is(Rskip::R544),
        }
    }

    /// How deep frames may lie, the outermost being 0 (`Program.getMaxDepth`).
    pub(crate) fn max_depth(&self) -> usize {
        if self.r150 { 400 } else { 1024 }
    }
}
