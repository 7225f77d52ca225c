//! The periodic work that federators ask for (`updateCollections`).

use crate::failure::Result;
use crate::peg::Peg;

impl Peg<'_> {
    /// Everything that is due, in this order.
    pub(crate) fn update_collections(&mut self) -> Result<()> {
        self.log_update_collections()?;
        self.process_migration()?;
        self.process_requests()?;
        self.process_confirmed()?;
        self.update_creation_heights()?;
        self.process_validation()
    }
}
