//! The outcomes of comparisons that Java makes by memory addresses (`HashMap.tieBreakOrder`).

/// One run's outcomes, in the order in which they are asked for. Runs go through all that can be.
#[derive(Default)]
pub(super) struct Ties {
    outcomes: Vec<bool>,
    asked: usize,
}

impl Ties {
    /// Whether the entry that is put in goes to the left of the one with the same hash.
    pub(super) fn goes_left(&mut self) -> bool {
        if self.asked == self.outcomes.len() {
            self.outcomes.push(true);
        }
        self.asked += 1;
        self.outcomes[self.asked - 1]
    }

    /// Goes on to the next run; `false` after the last.
    fn advance(&mut self) -> bool {
        self.asked = 0;
        while let Some(outcome) = self.outcomes.pop() {
            if outcome {
                self.outcomes.push(false);
                return true;
            }
        }
        false
    }
}

/// The results of a step under all outcomes, the step being taken at most `limit` times; and whether that was enough.
pub(super) fn all_outcomes<T>(limit: usize, mut step: impl FnMut(&mut Ties) -> T) -> (Vec<T>, bool) {
    let mut ties = Ties::default();
    let mut results = Vec::new();
    while results.len() < limit {
        results.push(step(&mut ties));
        if !ties.advance() {
            return (results, true);
        }
    }
    (results, false)
}
